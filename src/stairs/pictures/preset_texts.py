"""Texts that pictures start with, and that the explorer offers: in English and in Chinese, one text or several to choose from, of which the first is
there at the start. Among them are the sentences of lessons on word vectors, attention and BERT."""

Examples = tuple[str | tuple[str, ...], str | tuple[str, ...]]

# Sentences of lessons
TIRED = "The animal didn't cross the street because it was too tired"
SECOND_LAW = "A robot must obey the orders given it by human beings except where such orders would conflict with the First Law."
SECOND_LAW_ZH = "机器人必须服从人给予它的命令，当该命令与第一定律冲突时例外。"
NO_MACHINE = "thou shalt not make a machine in the likeness of a human mind"
DEBTS_ZH = ("他欠我100万", "我欠他100万")  # the same words in another order
CAT_OWNER_ZH = "小明养了一只猫，它特别调皮可爱，他非常喜欢它"
CAMPING_ZH = "小明在星期天要去露营，他准备叫上小红"
TRANSLATIONS = ("merci -> thanks", "je suis étudiant -> i am a student")
CAT, PARK_ZH = "The cat sat on the mat and looked at the dog.", "今天天气很好，我们一起去公园散步。"

# Examples of pages
SENTENCES: Examples = (CAT, TIRED, SECOND_LAW, NO_MACHINE), (PARK_ZH, *DEBTS_ZH, CAT_OWNER_ZH, SECOND_LAW_ZH)
REFERENCES: Examples = (TIRED, SECOND_LAW, NO_MACHINE, CAT), (CAT_OWNER_ZH, SECOND_LAW_ZH, *DEBTS_ZH, PARK_ZH)  # a word stands for another one
PROMPTS: Examples = ("The cat sat on the", "thou shalt"), ("今天天气", "机器人必须服从")
TARGETS: Examples = ("thou shalt not", *TRANSLATIONS), ("小明养了一只猫", *TRANSLATIONS)
BLANKS: Examples = "The capital of France is ___.", "法国的首都是___。"
DOCUMENTS: Examples = (
    "My dog is hairy. He likes playing in the garden.\nThe man went to the shop. He bought a bottle of milk.",
    "今天微博的热搜很多。大家都在讨论天气。\n小明养了一只猫，它特别调皮可爱。他非常喜欢它。",
)
ORDERS: Examples = ("robot must obey orders", TIRED), ("机器人必须遵守命令", *DEBTS_ZH)
LONG: Examples = (SECOND_LAW, NO_MACHINE), (SECOND_LAW_ZH, CAT_OWNER_ZH)
DISTANT: Examples = ("The animal didn't cross the street because it", TIRED), ("小明在星期天要去露营，他", CAMPING_ZH, CAT_OWNER_ZH)
WINDOWS: Examples = (NO_MACHINE, CAT), (CAT_OWNER_ZH, PARK_ZH)
UPDATES: Examples = ("not thou aaron taco", "not thou", "king queen"), ("机器人 命令", "北京 中国")
WORDS: Examples = "king queen man woman", "北京 上海 国王 音乐"
WORD: Examples = "king", "北京"
SUM: Examples = "king - man + woman", "北京 - 中国 + 日本"
WORD_LINES: Examples = "king\nqueen\nman\nwoman", "北京\n上海\n东京"
MAP_LINES: Examples = "king\nParis\nmusic", "北京\n国王\n音乐"
SENSES: Examples = (
    "river: he sat on the bank of the river\nriver: the boat lay at the bank of the lake\n"
    "money: the bank lent him money\nmoney: she opened an account at the bank",
    "水果：他吃了一个苹果。\n水果：树上结满了苹果。\n公司：苹果发布了新手机。\n公司：苹果公司的股票上涨了。",
)
LOOK_ALIKES: Examples = (
    "The house was built on the river bank and the horse came from the north, though few people thought that it went through the town.",
    "中国的公司在中央的公园里举行了国际音乐会。",
)
REVIEWS: Examples = "A warm and funny film, but much too long.", "房间干净，服务热情，就是离地铁有点远。"
NUMBERS: Examples = "one hundred five", "一百零五"
NONE: Examples = "-", "-"
