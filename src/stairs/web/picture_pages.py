"""A page for each picture: its place in the menu, an example to begin with, and what to see in it, in English and in Chinese."""

from typing import Any

CAT, CAT_ZH = "The cat sat on the mat and looked at the dog.", "今天天气很好，我们一起去公园散步。"
BLANK, BLANK_ZH = "The capital of France is ___.", "法国的首都是___。"
SUM, SUM_ZH = "king - man + woman", "北京 - 中国 + 日本"
BANK = """river: he sat on the bank of the river
river: the boat lay at the bank of the lake
money: the bank lent him money
money: she opened an account at the bank"""
BANK_ZH = """水果：他吃了一个苹果。
水果：树上结满了苹果。
公司：苹果发布了新手机。
公司：苹果公司的股票上涨了。"""
FILM, HOTEL_ZH = "A warm and funny film, but much too long.", "房间干净，服务热情，就是离地铁有点远。"
HUNDRED, HUNDRED_ZH = "one hundred five", "一百零五"


def page(
    group: str, titles: tuple[str, str], examples: tuple[str, str], english: str, chinese: str, **options: tuple[str, str]
) -> dict[str, Any]:
    languages = ("en", "zh")
    return {
        "group": group,
        "title": dict(zip(languages, titles, strict=True)),
        "example": dict(zip(languages, examples, strict=True)),
        "see": {"en": english, "zh": chinese},
        "options": {name: dict(zip(languages, values, strict=True)) for name, values in options.items()},  # to begin with
    }


PAGES = {
    "tokens": page(
        "reading", ("Tokens", "分词"), (CAT, CAT_ZH),
        "The text as the run reads it: each box is one token, and a model never sees anything smaller. Rare words fall into pieces; a word "
        "the run has never met is unknown, or is spelt out.",
        "模型读到的文本：每个方框是一个词元，模型看不到比它更小的单位。少见的词会被切成几段，从未见过的词则成为未知词，或被逐字拼出。",
    ),
    "backoff": page(
        "reading", ("Back-off", "回退"), (CAT, CAT_ZH),
        "For each word the longest n-gram that was counted in the training text. Where it is long, the run knows the phrase; where it is "
        "short, it has to fall back on fewer words, down to the word alone.",
        "每个词所依据的、训练文本中出现过的最长 n 元组。长，说明模型见过这个说法；短，说明它只能依靠更少的词，直至单个词本身。",
    ),
    "surprise": page(
        "reading", ("Surprise", "惊讶度"), (CAT, CAT_ZH),
        "How many bits each token costs, given what stands before it: 1 bit is a coin toss, 10 bits one chance in a thousand. Strongly "
        "coloured tokens are those the run did not expect. Their mean is what training makes smaller.",
        "已知前文时每个词元的代价（比特）：1 比特相当于抛一次硬币，10 比特相当于千分之一的机会。颜色浓的是模型没有料到的词元；训练要降低的正"
        "是它们的平均值。",
    ),
    "next": page(
        "reading", ("Next token", "下一个词元"), ("The cat sat on the", "今天天气"),
        "What the run thinks comes next, and with which chance. One tall bar means that it is sure; many low ones that anything could follow.",
        "模型认为接下来会出现什么，以及各自的概率。一根高柱表示它有把握，许多矮柱表示什么都可能出现。",
    ),
    "blanks": page(
        "reading", ("Blanks", "填空"), (BLANK, BLANK_ZH),
        "The words that fit each blank, from both sides of it. A blank is written ___ or [MASK]. Change one word after the blank and see the "
        "chances move: a step that reads from the left only cannot do that.",
        "根据左右两侧的文字，每个空格可以填什么。空格写作 ___ 或 [MASK]。改动空格之后的一个词，看概率如何变化：只从左边读的模型做不到这一点。",
    ),
    "positions": page(
        "attention", ("Positions", "位置编码"), (CAT, CAT_ZH),
        "What is added to a token's vector so that its place is known: a row for each position, a column for each number. Neighbouring rows "
        "are alike, distant ones are not.",
        "为表示位置而加到词元向量上的数：每行一个位置，每列一个分量。相邻的行相似，相距远的行不同。",
    ),
    "mask": page(
        "attention", ("Mask", "掩码"), (CAT, CAT_ZH),
        "Who may look at whom: a row for each token that looks, a column for each one looked at. A triangle is a step that reads from the "
        "left; a full square looks both ways.",
        "谁可以看谁：每行是发出注意的词元，每列是被看的词元。三角形表示只从左向右读，整个方块表示可以看两侧。",
    ),
    "attention": page(
        "attention", ("Attention", "注意力"), (CAT, CAT_ZH),
        "Where each token looks, in one layer and one head: rows look at columns, and each row sums to 1. Choose other layers and heads: "
        "some look at the word before, some at the end of the sentence, some at words that belong together.",
        "在某一层、某个注意力头中，每个词元看向哪里：行看列，每行之和为 1。换不同的层和头看看：有的看前一个词，有的看句末，有的看相互关联的词。",
    ),
    "lines": page(
        "attention", ("Word to word", "词与词"), (CAT, CAT_ZH),
        "The same attention as lines from the word that looks to the words it looks at; the thicker, the more. Give a word to see its lines "
        "alone.",
        "同样的注意力，画成从发出注意的词到被看的词的连线，越粗看得越多。填入一个词，就只看它的连线。",
    ),
    "heads": page(
        "attention", ("All heads", "全部注意力头"), (CAT, CAT_ZH),
        "Every head of every layer as a small matrix. Look for stripes beside the diagonal (the neighbour), upright lines (one token that "
        "everybody looks at) and blocks (phrases), then open that head on the attention page.",
        "每一层每个注意力头的缩略矩阵。留意对角线旁的条纹（相邻词）、竖线（人人都看的词元）和方块（短语），再到“注意力”页细看那个头。",
    ),
    "layers": page(
        "attention", ("Layers", "各层"), (CAT, CAT_ZH),
        "How a token's vector changes from layer to layer. What is alike at the bottom, where only the word counts, may part further up, "
        "where the sentence counts.",
        "词元的向量如何逐层变化。底层只看词本身，相似的词在更高层可能因句子不同而分开。",
    ),
    "mix": page(
        "attention", ("Layer mix", "层的混合"), (CAT, CAT_ZH),
        "In which shares a tuned run mixes the layers below it. Tasks about grammar tend to take from the lower layers, tasks about meaning "
        "from the higher ones.",
        "微调后的模型以怎样的比例混合下面的各层。语法类任务多取低层，语义类任务多取高层。",
    ),
    "senses": page(
        "vectors", ("Senses", "词义"), (BANK, BANK_ZH),
        "One word in several sentences, each line with its sense before the colon: how near its vectors are to one another where the sense "
        "is the same, and where it is not. With static vectors there is no difference; with vectors that know the sentence it grows in the "
        "higher layers.",
        "同一个词出现在几个句子里，每行冒号前写明词义：词义相同时它的向量有多近，不同时又有多近。静态词向量没有差别；了解句子的向量层越高差别"
        "越大。",
        word=("bank", "苹果"),
    ),
    "neighbours": page(
        "vectors", ("Neighbours", "近邻"), ("king", "北京"),
        "The words whose vectors point in nearly the same direction, by cosine. They are used alike, which is not the same as meaning the "
        "same: opposites are often near.",
        "向量方向最接近的词（按余弦）。它们用法相近，但意义不一定相同：反义词往往也很近。",
    ),
    "analogy": page(
        "vectors", ("Analogy", "类比"), (SUM, SUM_ZH),
        "A sum of word vectors, and what lies where it ends. If the two arrows are parallel, the run has learnt the relation; if they only "
        "lead to the same neighbourhood, it has learnt less.",
        "词向量的加减，以及结果落在哪里。两支箭头若平行，说明模型学到了这种关系；若只是指向同一片区域，说明学到的不多。",
    ),
    "strips": page(
        "vectors", ("Strips", "色条"), ("king\nqueen\nman\nwoman", "北京\n上海\n东京"),
        "Each word's vector as a strip of colours, a cell for each number. Words that are used alike have like stripes; a column in which "
        "two groups differ is a direction that separates them.",
        "每个词的向量画成一条色带，每格一个数。用法相近的词条纹相似；两组词在某一列上不同，说明这个方向把它们分开。",
    ),
    "map": page(
        "vectors", ("Map", "地图"), ("king\nParis\nmusic", "北京\n国王\n音乐"),
        "The words and their neighbours on a plane: the two directions in which they differ most. What lies apart does lie apart; what lies "
        "together may differ in a direction that is not shown.",
        "词与近邻在平面上的位置，取差别最大的两个方向。图上分开的确实分开；图上靠近的，可能在未画出的方向上不同。",
    ),
    "confusion": page(
        "labels", ("Confusion", "混淆矩阵"), ("-", "-"),
        "On held-out examples: a row for each true label, a column for each one given. What is off the diagonal is wrong; a strong cell "
        "there names two labels that the run, or the file, does not tell apart.",
        "在留出的样例上：每行是真实标签，每列是模型给出的标签。对角线之外是错误；那里颜色浓的格子说明这两个标签难以区分。",
    ),
    "reasons": page(
        "labels", ("Reasons", "理由"), (FILM, HOTEL_ZH),
        "Which words speak for the label and which against it. Take the strongest word out and see whether the label changes: that is the "
        "test of a reason.",
        "哪些词支持这个标签，哪些词反对。删去最强的那个词，看标签是否改变：这才是对理由的检验。",
    ),
    "nearest": page(
        "labels", ("Nearest examples", "最近的样例"), (FILM, HOTEL_ZH),
        "The labelled texts that the run takes to be most like this one, by the vectors that decide its label. Blue ones have the label that it "
        "gives, orange ones another: where they stand among the first, the text is hard, or the file gives two labels to texts that are alike.",
        "模型认为与这段文本最相似的有标签样例，依据的是决定标签的向量。蓝色的标签与模型给出的相同，橙色的不同：橙色排在前面，说明这段文本难判"
        "断，或者文件给相似的文本标了不同的标签。",
    ),
    "alignment": page(
        "translation", ("Alignment", "对齐"), (HUNDRED, HUNDRED_ZH),
        "A row for each token that was said, a column for each of the source; the stronger the colour, the more it was looked at. A diagonal "
        "means that both sides have one order; a crossing, that the order changes.",
        "每行是译文的一个词元，每列是原文的一个词元，颜色越浓看得越多。对角线表示两边语序相同，交叉表示语序改变。",
    ),
    "tree": page(
        "translation", ("Beam tree", "束搜索树"), (HUNDRED, HUNDRED_ZH),
        "The beginnings that were followed at once. Pale ones were dropped; the strongest are whole sentences. The best sentence need not "
        "begin with the likeliest word.",
        "同时跟踪的若干开头。颜色淡的已被放弃，没有后续的浓色点是完整的句子。最好的句子未必以概率最高的词开头。",
    ),
}  # fmt: skip
