"""A small run of every kind, to be looked at from inside."""

from stairs.models import MODELS
from stairs.models.ngram import NGram
from stairs.models.settings import CONFIGS, NGramConfig
from stairs.tasks import (
    BidirectionalLM,
    Encode,
    MaskedToken,
    NextToken,
    NGramClassifier,
    Similar,
    TfidfClassifier,
    Translate,
    VectorClassifier,
    WordVectors,
)
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.small_world import SENTENCES, SMALL, encoder, examples, new_task

TEXT = "soup and rain in Rome today ."
TEXTS = {
    "blanks": "soup and ___ in Rome today .",
    "neighbours": "soup\nrain",
    "strips": "soup",
    "map": "soup\nrain",
    "analogy": "rain - soup + bread",
    "update": "soup rain",
    "distribution": "soup and",
    "senses": "food: soup and bread today\nfood: rice and soup\nweather: soup in rain\nweather: the soup in snow",
}
OPTIONS = {"senses": {"word": "soup"}, "attention": {"layer": 1, "head": -1}, "lines": {"word": "Rome"}, "next": {"top": 3}}
OPTIONS |= {"training-row": {"seed": 1}, "arithmetic": {"layer": 1, "word": "Rome"}, "waves": {"dimensions": "0-3"}}


def counted_ngrams(folder):
    (folder / "world.txt").write_text("\n\n".join(SENTENCES), "utf-8")
    shards = build_shards(Corpus([folder / "world.txt"]), TokenizerSpec("words"), cache=folder)
    model = NGram(NGramConfig(shards.tokenizer.vocab_size))
    model.count(shards.ids("train"))
    return NextToken(model, shards.tokenizer)


def translator(kind, tokenizer, **settings):
    known = {name: tokenizer.vocabulary_settings[name] for name in ("vocab_size", "begin", "end")}
    return Translate(MODELS[kind](CONFIGS[kind](**known, **{**SMALL[kind], **settings})).eval(), tokenizer)


def runs(folder):
    """By name; nothing is trained for longer than counting takes."""
    words, pieces = (Tokenizer.train(TokenizerSpec(kind), lambda: [SENTENCES]) for kind in ("words", "wordpiece"))
    spelled = Tokenizer.train(TokenizerSpec("words"), lambda: [[*SENTENCES, "soap and brain in Rome today ."]])
    spaced = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=300), lambda: [SENTENCES])
    train = examples("classify")
    near = WordVectors(encoder("skipgram", words), words)
    return {
        "ngram": counted_ngrams(folder),
        "nnlm": NextToken(encoder("nnlm", spaced), spaced),
        "gpt": NextToken(encoder("gpt", spaced), spaced),
        "elmo": BidirectionalLM(encoder("elmo", words), words),
        "elmo from characters": BidirectionalLM(encoder("elmo", spelled, softmax="cnn", correction_width=4), spelled),
        "bert": MaskedToken(encoder("bert", pieces), pieces),
        "skipgram": near,
        "vectors": Encode(encoder("bert", pieces), pieces),
        "seq2seq": translator("seq2seq", pieces, attention="additive"),
        "plain seq2seq": translator("seq2seq", pieces, attention="none"),
        "transformer": translator("transformer", pieces),
        "by n-gram": NGramClassifier.train(train, words),
        "by tf-idf": TfidfClassifier.train(train, words),
        "by vectors": VectorClassifier.train(train, near),
        "classify": new_task("classify", encoder("bert", pieces), pieces, train),
        "classify by elmo": new_task("classify", encoder("elmo", words), words, train, transfer="frozen"),
        "compare": new_task("compare", encoder("bert", pieces), pieces, examples("compare")),
        "tag": new_task("tag", encoder("bert", pieces), pieces, examples("tag")),
        "span": new_task("span", encoder("gpt", pieces), pieces, examples("span")),
        "choose": new_task("choose", encoder("gpt", pieces), pieces, examples("choose")),
        "similar": Similar(near, SENTENCES[:4]),
    }
