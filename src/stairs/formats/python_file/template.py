'''The text of a written file: what all of them share, and the arithmetic of each model. The writer fills in what stands between @.

The arithmetic is that of `tasks/parts/tfidf.py`, `fast/ngram_trie.py` and `tasks/vector_classifier.py`; every file that is written is compared with
its run.
'''

FILE = '''"""@TITLE@, written by Stairs @VERSION@: one label for a text.

    import @MODULE@
    @MODULE@.predict(["a text", "another one"])           the label of each
    @MODULE@.predict_proba(["a text", "another one"])     P(label | text), an array (texts, labels) in the order of LABELS

    python @MODULE@.py < texts.txt                 for each line its label, a tab, and its probability

It needs numpy@NEEDS@.
"""

@IMPORTS@
import numpy as np

LABELS = @LABELS@


def predict(texts):
    """The label of each text."""
    return [LABELS[number] for number in predict_proba(texts).argmax(1)]


def predict_proba(texts):
    """P(label | text), an array (texts, labels)."""
    texts = [texts] if isinstance(texts, str) else list(texts)
    logits = np.array([scores(words_of(text)) for text in texts], float).reshape(len(texts), len(LABELS))
    exponentials = np.exp(logits - logits.max(1, keepdims=True))
    return exponentials / exponentials.sum(1, keepdims=True)


@SCORES@

def words_of(text):
    """Words and punctuation marks, without the spaces."""
@PREPROCESS@    return WORD.findall(text)
@SEGMENTER@

def main():
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    for line in sys.stdin:
        probabilities = predict_proba(line.rstrip("\\n"))[0]
        best = probabilities.argmax()
        print(f"{LABELS[best]}\\t{probabilities[best]:.6f}", flush=True)


def unpack(text):
    return zlib.decompress(base64.b64decode(text))


def read_array(dtype, text):
    return np.frombuffer(unpack(text), dtype)


def read_lines(text):
    return unpack(text).decode("utf-8").split("\\n")


# Characters that are words of their own, white space, and Chinese.

@CHARACTERS@
# What was learnt, compressed.

@DATA@

if __name__ == "__main__":
    main()
'''

LOWERCASE = '    text = "".join(character.lower() for character in text)\n'
CHARACTERS = '''ISOLATED = @ISOLATED@
SPACES = @SPACES@
WORD = re.compile(f"[{ISOLATED}]|[^{ISOLATED}{SPACES}]+")
'''
CHARACTERS_BETWEEN_SPACES = '''SPACES = @SPACES@
WORD = re.compile(f"[^{SPACES}]+")
'''
HAN = '''HAN = re.compile(@HAN@)
'''
NEEDS = ", and for Chinese text jieba or rjieba"
SEGMENT = '    text = HAN.sub(lambda run: f" {\' \'.join(segmenter()(run[0]))} ", text)\n'
SEGMENTER = '''

@functools.cache
def segmenter():
    """What cuts Chinese into words."""
    try:
        from @FIRST@ import @FIRST_CUT@
    except ImportError:
        from @SECOND@ import @SECOND_CUT@
    return cut
'''

TFIDF = '''def @NAME@(words):
    """W tfidf + b: a term is a word or up to @ORDER@ words in a row; tfidf = (1 + ln count) idf, scaled to length 1."""
    return scaled_scores(" ".join(words[i : i + size]) for size in range(1, @ORDER@ + 1) for i in range(len(words) - size + 1)) + BIAS
@SCALED@'''
TFIDF_WITH_CHARACTERS = '''def @NAME@(words):
    """W tfidf + b: a term is a word, up to @ORDER@ words in a row, or some characters of a word, marked by a tab; tfidf = (1 + ln count) idf,
    where words and characters are each scaled to length 1."""
    terms = [" ".join(words[i : i + size]) for size in range(1, @ORDER@ + 1) for i in range(len(words) - size + 1)]
    return scaled_scores(terms) + scaled_scores([term for word in words for term in character_terms(word)] + joint_terms(words)) + BIAS


def joint_terms(words):
    """The last character of a Chinese word and the first of the next one."""
    return ["\\t" + a[-1] + b[0] for a, b in zip(words, words[1:]) if HAN.search(a[-1]) and HAN.search(b[0])]


def character_terms(word):
    """The characters of a Chinese word and pairs of them; of others, @NGRAM_SIZES@ in a row, with the spaces around the word."""
    sizes, spelling = (@HAN_SIZES@, word) if HAN.search(word) else (@NGRAM_SIZES@, f" {word} ")
    return ["\\t" + spelling[i : i + size] for size in sizes for i in range(len(spelling) - size + 1)]
@SCALED@'''
SCALED = '''

def scaled_scores(terms):
    known = [(COLUMNS[term], count) for term, count in Counter(terms).items() if term in COLUMNS]
    if not known:
        return np.zeros(len(LABELS))
    columns, counts = np.array(known).T
    tfidf = (np.log(counts) + 1) * IDF[columns]
    return tfidf / np.sqrt((tfidf * tfidf).sum()) @ WEIGHT[columns]
'''

NGRAM = '''def scores(words):
    """log P(label) + log P(words | label), from one n-gram model for each label."""
    ids = [IDS.get(word, UNKNOWN) for word in words]
    return [prior + log_likelihood(ids, *trie) for prior, trie in zip(PRIORS, TRIES)]


def log_likelihood(ids, words, log10s, suffixes, backoffs, first):
    """The n-grams are nodes of a trie. Those that continue a node are first[node] : first[node + 1], sorted by their last word; suffixes[node] is the
    node without its first word, and -1 has no words at all. An n-gram that was not seen costs the back-off weight of its context."""
    total, context = 0.0, BEGIN if BEGIN < len(backoffs) else -1
    for word in [*ids, END]:
        node = context
        while node >= 0:
            child = bisect_left(words, word, first[node], first[node + 1])
            if child < first[node + 1] and words[child] == word:
                break
            total += backoffs[node]
            node = suffixes[node]
        else:
            child = word  # the nodes of single words come first
        total += log10s[child]
        context = child if child < len(backoffs) else suffixes[child]
    return total * math.log(10)
'''

VECTORS = '''def scores(words):
    """The mean of what each known word says of each label: its vector, weighed by its frequency, times the weights of the labels."""
    known = [ROWS[word] for word in words if word in ROWS]
    return WORD_SCORES[known].sum(0) / len(known) + @REST@ if known else @REST@
'''
