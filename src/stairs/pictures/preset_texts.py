"""Texts that pictures start with, and that the explorer offers: the sentences of lessons on word vectors, attention and BERT."""

CAT, CAT_ZH = "The cat sat on the mat and looked at the dog.", "今天天气很好，我们一起去公园散步。"
TIRED = "The animal didn't cross the street because it was too tired"
LAW = "A robot must obey the orders given it by human beings except where such orders would conflict with the First Law."
LAW_ZH = "机器人必须服从人给予它的命令，当该命令与第一定律冲突时例外。"
MACHINE = "thou shalt not make a machine in the likeness of a human mind"
DEBT_ZH, OTHER_DEBT_ZH = "他欠我100万", "我欠他100万"  # the same words in another order
CAT_OWNER_ZH = "小明养了一只猫，它特别调皮可爱，他非常喜欢它"
SENTENCES = (CAT, TIRED, LAW, MACHINE)
SENTENCES_ZH = (CAT_ZH, DEBT_ZH, OTHER_DEBT_ZH, CAT_OWNER_ZH, LAW_ZH)
REFERENCES = (TIRED, LAW, MACHINE, CAT)  # in which a word stands for another one
REFERENCES_ZH = (CAT_OWNER_ZH, LAW_ZH, DEBT_ZH, OTHER_DEBT_ZH, CAT_ZH)
MERCI, STUDENT = "merci -> thanks", "je suis étudiant -> i am a student"
DOG = "My dog is hairy. He likes playing in the garden.\nThe man went to the shop. He bought a bottle of milk."
DOG_ZH = "今天微博的热搜很多。大家都在讨论天气。\n小明养了一只猫，它特别调皮可爱。他非常喜欢它。"
