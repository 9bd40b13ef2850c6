"""The page of each picture: its group in the menu, an example to start with, and what to look for, in English and in Chinese."""

from typing import TypedDict

from stairs.pictures import preset_texts as texts
from stairs.pictures.preset_texts import Examples

Texts = dict[str, str]  # by language


class Page(TypedDict):
    group: str  # a heading of the menu
    title: Texts
    example: Texts  # the text to start with
    presets: dict[str, list[str]]  # by language: it and others to choose from
    description: Texts  # what to look for
    options: dict[str, Texts]  # the values to start with


def page(
    group: str, titles: tuple[str, str], examples: Examples, english: str, chinese: str, **options: tuple[str, str]
) -> Page:
    presets = {language: [own] if isinstance(own, str) else list(own) for language, own in zip(("en", "zh"), examples, strict=True)}
    return {
        "group": group,
        "title": in_both(*titles),
        "example": {language: own[0] for language, own in presets.items()},
        "presets": presets,
        "description": in_both(english, chinese),
        "options": {name: in_both(*values) for name, values in options.items()},
    }


def in_both(english: str, chinese: str) -> Texts:
    return {"en": english, "zh": chinese}


PAGES = {
    "tokens": page(
        "reading", ("Tokens", "分词"), texts.SENTENCES,
        "The text as the run reads it. Each box is a token, the smallest unit that the model sees. Rare words are split into pieces; a word "
        "that the vocabulary cannot spell becomes the unknown token, drawn in orange.",
        "模型读到的文本：每个方框是一个词元，即模型读到的最小单位。少见的词被切成子词；词表拼不出来的成为未知词元，以橙色标出。",
    ),
    "backoff": page(
        "reading", ("Back-off", "回退"), texts.SENTENCES,
        "For each word, the longest n-gram ending in it that occurs in the training text. A long one means that the phrase was seen; a short one "
        "means that the model backed off to fewer words, in the end to the word alone.",
        "以每个词结尾、且在训练文本中出现过的最长 n 元组。长，说明训练文本里有这个说法；短，说明模型回退到了更短的上下文，直至只看这个词本身。",
    ),
    "surprise": page(
        "reading", ("Surprise", "惊讶度"), texts.SENTENCES,
        "The negative log-probability of each token given the tokens before it, in bits: 1 bit is a coin toss, 10 bits are a probability of one "
        "in a thousand. The stronger the colour, the less the model expected the token. Training minimises the mean of these numbers.",
        "已知前文时每个词元的负对数概率，以比特计：1 比特相当于抛一次硬币，10 比特相当于千分之一的概率。颜色越深，模型越没有料到。训练所降低的正"
        "是它们的平均值。",
    ),
    "next": page(
        "reading", ("Next token", "下一个词元"), texts.PROMPTS,
        "The most probable next tokens. One long bar means that the model is confident; many short ones mean that almost anything may follow.",
        "概率最高的下一个词元。一根长条表示模型有把握，许多短条表示几乎什么都可能出现。",
    ),
    "blanks": page(
        "reading", ("Blanks", "填空"), texts.BLANKS,
        "The most probable words for each blank, given the text on both sides of it. Write a blank as ___ or [MASK]. Change a word after the blank "
        "and the probabilities change, which no left-to-right model can do.",
        "根据左右两侧的上下文，列出每个挖空处概率最高的词。挖空处写作 ___ 或 [MASK]。改动它后面的词，概率也会变化：从左到右的语言模型做不到这一点。",
    ),
    "distribution": page(
        "reading", ("Target and output", "目标与输出"), texts.TARGETS,
        "The target beside the output distribution, before training and after it. The target is 1 for one token; training raises the probability "
        "of that token, and so lowers the cross-entropy, given in bits. For a language model the target is the last token of the text; for a "
        "translation write merci -> thanks.",
        "目标分布与模型输出分布的对照，训练前和训练后各一份。目标分布只在一个词元上为 1；训练提高这个词元的概率，交叉熵（以比特计）随之下降。语言模"
        "型以文本的最后一个词元为目标；翻译模型请写成 merci -> thanks。",
    ),
    "training-row": page(
        "reading", ("Training row", "训练样本"), texts.DOCUMENTS,
        "A row as BERT is trained on it, made from this text as if it were the corpus; each line is a document. Of the tokens to be predicted most "
        "become [MASK], some a random token, and some stay as they are; what stood there is below. The second segment follows the first (IsNext) "
        "or comes from elsewhere (NotNext). Another seed makes another row.",
        "BERT 的一条训练样本：把这段文本当作语料（每行一篇文档）现场生成。要预测的词元大多换成 [MASK]，少数换成随机词元或保持不变，原词写在下方。第"
        "二段要么紧接第一段（IsNext），要么取自别处（NotNext）。换一个随机种子，就换一条样本。",
    ),
    "embeddings": page(
        "attention", ("Embeddings", "嵌入求和"), texts.REFERENCES,
        "What the first block reads: the embedding of each token, of its segment (BERT only) and of its position are added up. A row for each "
        "token, a column for each dimension. The same word at two places has the same token embedding but another sum. Enter a second text to see "
        "both segments.",
        "第一层读到的输入：词元嵌入、段嵌入（仅 BERT）与位置嵌入之和。每行一个词元，每列一个维度。同一个词出现在两处，词元嵌入相同，相加之后却不"
        "同。填入第二段文本，可以看到两种段嵌入。",
    ),
    "positions": page(
        "attention", ("Positions", "位置编码"), texts.SENTENCES,
        "The position encoding: a row for each position, a column for each dimension. Neighbouring positions have similar rows, distant ones do not.",
        "位置编码：每行一个位置，每列一个维度。相邻位置的行相似，相距远的不相似。",
    ),
    "waves": page(
        "attention", ("Waves", "位置编码曲线"), texts.SENTENCES,
        "Some dimensions of the position encoding as curves over the positions. Sinusoidal ones are waves, in pairs of sine and cosine, and longer "
        "the higher the dimension; learned ones are whatever training made of them. Enter other dimensions as 0-3 or 4,8,16.",
        "把位置编码的若干维度画成随位置变化的曲线。正弦位置编码是成对的正弦波和余弦波，维度越高波长越长；可学习的位置嵌入则由训练决定。"
        "可以填入其他维度，例如 0-3 或 4,8,16。",
    ),
    "mask": page(
        "attention", ("Mask", "注意力掩码"), texts.REFERENCES,
        "The attention mask: which tokens (columns) each token (row) may attend to. A triangle is a left-to-right model, a full square reads in both "
        "directions, a band reads a fixed window; ELMo is two language models and has two triangles.",
        "注意力掩码：每行的词元可以关注哪些列的词元。三角形是从左到右的模型，整个方块是双向的模型，窄带是只看固定窗口的模型；"
        "ELMo 由两个方向的语言模型组成，因此有两个三角形。",
    ),
    "patterns": page(
        "attention", ("Patterns", "稀疏注意力"), texts.LONG,
        "How many scores four kinds of attention compute for this text: full attention, a window (blue), a window with global (orange) and random "
        "(grey) blocks, and Linformer, whose columns are mixtures of all words. Double the text: full attention needs four times as many scores, the "
        "others about twice as many.",
        "对这段文本，四种注意力各要计算多少个分数：全注意力；滑动窗口（蓝）；窗口加全局块（橙）和随机块（灰）；Linformer，它的每一列是所有词的混合。"
        "文本长度加倍，全注意力的计算量变成四倍，其余几种大约变成两倍。",
    ),
    "receptive-field": page(
        "attention", ("Receptive field", "感受野"), texts.DISTANT,
        "From which words the vector of the last word, or of a word you enter, is computed, and how far away the first word is: a recurrent network "
        "passes it on step by step, a convolution needs a layer for every few words, attention reads it at once.",
        "最后一个词（或你填入的词）的向量由哪些词算出，第一个词的信息要走多远才能到达它：循环网络一步一步地传递，卷积网络每层只跨过几个词，"
        "需要多层堆叠，注意力一步就能看到。",
    ),
    "arithmetic": page(
        "attention", ("Arithmetic", "注意力的计算"), texts.ORDERS,
        "One head with the numbers of this run: the scores, the scores after the mask, the weights after the softmax and the result; below them each "
        "step for one word, the last if you enter none. Positive numbers are orange, negative ones blue; weights are blue.",
        "用这个模型的真实数值演示一个注意力头的计算：分数、加掩码后的分数、softmax 后的权重和结果；下方是一个词（不填则为最后一个词）的逐步计算。"
        "橙色为正数，蓝色为负数；权重一律为蓝色。",
    ),
    "attention": page(
        "attention", ("Attention", "注意力"), texts.REFERENCES,
        "The attention weights of one head in one layer: rows attend to columns, and each row sums to 1. Try other layers and heads: some attend to "
        "the previous token, some to [SEP], some to words that belong together.",
        "某一层、某个注意力头的权重：行关注列，每行之和为 1。换其他层和头看看：有的关注前一个词元，有的关注 [SEP]，有的关注相互关联的词。",
    ),
    "lines": page(
        "attention", ("Word to word", "注意力连线"), texts.REFERENCES,
        "The same weights as lines from the attending token on the left to the attended ones on the right; the thicker, the larger the weight. "
        "Enter a word to see its lines alone.",
        "把同样的权重画成连线，左边的词元关注右边的词元，线越粗权重越大。填入一个词，就只显示它的连线。",
    ),
    "heads": page(
        "attention", ("All heads", "全部注意力头"), texts.REFERENCES,
        "Every head of every layer as a small matrix. Look for diagonals (attention to a neighbour), vertical lines (one token that all attend to) "
        "and blocks (phrases), then open that head on the attention page.",
        "每一层每个注意力头的缩略矩阵。留意斜线（关注相邻词元）、竖线（所有词元都关注同一个词元）和方块（短语），再到“注意力”页细看那个头。",
    ),
    "layers": page(
        "attention", ("Layers", "各层"), texts.REFERENCES,
        "How far the vector of each token turns away, layer by layer, from its vector in the lowest layer. The lowest layer knows little more than "
        "the token itself; higher layers mix in the sentence.",
        "每个词元的向量逐层偏离最底层向量的程度。最底层几乎只有词元本身的信息，越往上融入的上下文越多。",
    ),
    "mix": page(
        "attention", ("Layer mix", "层权重"), texts.SENTENCES,
        "The weights with which a fine-tuned run mixes the layers of its encoder. Syntactic tasks tend to use the lower layers, semantic tasks the "
        "higher ones.",
        "微调后的模型给编码器各层的权重。语法类任务多用低层，语义类任务多用高层。",
    ),
    "windows": page(
        "vectors", ("Windows", "滑动窗口"), texts.WINDOWS,
        "The window that slides over a text and makes the training data: the word in orange is predicted from those in blue, one at a time by "
        "skip-gram, from their mean by CBOW, from those before it by an n-gram model or NNLM. word2vec draws the reach of every window anew, so "
        "that near words are read more often than distant ones; it also drops frequent words at random.",
        "沿着文本滑动、产生训练数据的窗口：橙色是要预测的词，蓝色是用来预测的词。skip-gram 每次用一个，CBOW 用它们的平均，n 元模型和 NNLM 用前面的"
        "几个。word2vec 每次随机取窗口大小，所以近处的词比远处的词更常用到；高频词还会被随机丢弃。",
    ),
    "update": page(
        "vectors", ("One update", "一次更新"), texts.UPDATES,
        "One training step of skip-gram with negative sampling, with the numbers of this run. The first word is the input, the second a true "
        "neighbour with target 1, the others are negative samples with target 0; without them the run draws its own. error = target - sigmoid(x "
        "c): a positive error moves the two vectors together, a negative one apart.",
        "带负采样的 skip-gram 的一步训练，用这个模型的真实数值演示。第一个词是输入，第二个词是真实的邻居，目标为 1；其余是负样本，目标为 0，不填则"
        "由模型自行抽取。误差 = 目标 − sigmoid(x c)：误差为正，两个向量靠近；误差为负，两个向量远离。",
    ),
    "onehot": page(
        "vectors", ("One-hot", "独热向量"), texts.WORDS,
        "The same words as one-hot vectors and as learned ones, and the cosines between them. Two different one-hot vectors always have cosine 0, "
        "so they cannot tell that two words are similar; the learned vectors are much shorter and can.",
        "同样的词，一边是独热向量，一边是学到的向量，下方是两两之间的余弦。任何两个不同的独热向量余弦都是 0，看不出哪两个词相近；学到的向量维度低得"
        "多，却能看出来。",
    ),
    "look-alikes": page(
        "vectors", ("Look-alikes", "形近词"), texts.LOOK_ALIKES,
        "Words of the text, each beside the word that is spelled most like it, in a softmax that makes its word vectors from characters. Orange is "
        "from the characters alone: look-alikes have similar vectors whatever they mean. Blue is with the correction, a short vector for each word, "
        "which moves them apart. On the right, a point beyond the middle is a word that the model takes for its look-alike.",
        "文本中的词与拼写最接近的词。这个 softmax 由字符卷积产生词向量。橙色只用字符：形近的词不论意思如何，向量都相近。蓝色加上修正向量（每个词一"
        "个短向量），把它们重新分开。右图中越过中线的点，表示模型把这个词错认成了形近词。",
    ),
    "senses": page(
        "vectors", ("Senses", "词义"), texts.SENSES,
        "One word in several sentences; each line starts with the sense of the word and a colon. The lines show how similar its vectors are within a "
        "sense and between senses, layer by layer. Static vectors show no difference; for contextual ones it usually grows in the higher layers.",
        "同一个词出现在几个句子里，每行以词义和冒号开头。折线是各层中同一词义之间、不同词义之间的向量相似度。静态词向量没有差别；上下文词向量"
        "的差别通常越往上越大。",
        word=("bank", "苹果"),
    ),
    "neighbours": page(
        "vectors", ("Neighbours", "近邻"), texts.WORD,
        "The words with the highest cosine similarity. They occur in similar contexts, which does not mean that they have the same meaning: "
        "antonyms are often close.",
        "余弦相似度最高的词。它们出现在相似的上下文中，但意义未必相同：反义词往往也很接近。",
    ),
    "analogy": page(
        "vectors", ("Analogy", "类比"), texts.SUM,
        "The sum of word vectors and the words nearest to it. If the two arrows are parallel, the vectors encode the relation; if they only end in "
        "the same region, they encode less.",
        "词向量的加减结果，以及离它最近的词。两支箭头若平行，说明向量编码了这种关系；若只是指向同一片区域，说明学到的不多。",
    ),
    "strips": page(
        "vectors", ("Strips", "色条"), texts.WORD_LINES,
        "Each word vector as a strip of colours, a cell for each dimension. Words used in similar contexts have similar strips; a column in which "
        "two groups of words differ is a dimension that separates them.",
        "每个词向量画成一条色带，每格一个维度。上下文相似的词色带也相似；两组词在某一列上不同，说明这个维度能把它们分开。",
    ),
    "map": page(
        "vectors", ("Map", "二维投影"), texts.MAP_LINES,
        "The words and their neighbours projected onto their first two principal components. Points far apart are far apart in the vectors; points "
        "close together may still differ in a dimension that is not shown.",
        "词及其近邻在前两个主成分上的投影。图上离得远的，向量确实离得远；图上靠得近的，在没画出的维度上仍可能不同。",
    ),
    "confusion": page(
        "labels", ("Confusion", "混淆矩阵"), texts.NONE,
        "The confusion matrix on held-out examples: a row for each gold label, a column for each predicted one. Everything off the diagonal is an "
        "error; a dark cell there names two labels that the run, or the file, does not tell apart.",
        "留出样本上的混淆矩阵：每行是真实标签，每列是预测标签。对角线之外都是错误；那里颜色深的格子说明模型（或数据本身）分不清这两个标签。",
    ),
    "reasons": page(
        "labels", ("Reasons", "判断依据"), texts.REVIEWS,
        "How much the probability of the predicted label drops when a word is left out: orange words support the label, blue ones contradict it. "
        "Delete the strongest word and see whether the prediction changes.",
        "去掉某个词后，预测标签的概率下降多少：橙色的词支持该标签，蓝色的词反对。删去影响最大的词，看预测是否改变。",
    ),
    "nearest": page(
        "labels", ("Nearest examples", "最近的样本"), texts.REVIEWS,
        "The labelled examples most similar to this text, by the cosine of the features that the classifier reads. Blue bars have the predicted "
        "label, orange ones another: if orange comes first, the text is hard, or the file labels similar texts differently.",
        "与这段文本最相似的标注样本，按分类器所用特征的余弦相似度排序。蓝色与预测标签相同，橙色不同：橙色排在前面，说明这段文本难以判断，"
        "或者数据给相似的文本标了不同的标签。",
    ),
    "alignment": page(
        "translation", ("Alignment", "对齐"), texts.NUMBERS,
        "The attention from the translation to the source: a row for each output token, a column for each source token. A diagonal means that both "
        "languages have the same word order; a crossing shows where the order changes.",
        "译文对原文的注意力：每行是译文的一个词元，每列是原文的一个词元。对角线表示两边语序相同，交叉表示语序改变。",
    ),
    "tree": page(
        "translation", ("Beam tree", "束搜索树"), texts.NUMBERS,
        "The hypotheses of beam search, step by step. Blue ones were kept, grey ones were pruned, orange ones are finished sentences. The best "
        "sentence need not start with the most probable word.",
        "束搜索各步的候选。蓝色的被保留，灰色的被剪枝，橙色的是完整的句子。最好的译文未必以概率最高的词开头。",
    ),
}  # fmt: skip


def default_page(name: str, description: str) -> Page:
    """The page of a picture without texts of its own."""
    return page("more", (name, name), texts.SENTENCES, description, description)
