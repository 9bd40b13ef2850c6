"""stairs convert RUN FORMAT: a run in another tool's format."""

from dataclasses import dataclass

from tyro.conf import Positional

from stairs import api
from stairs.commands.flags import CommonFlags, parse, show
from stairs.convert_job import check_format

ABOUT = """Write a run in another tool's format. arpa: n-gram runs, for KenLM, SRILM and others. word2vec (text, also fastText's .vec),
word2vec-binary and glove: word vectors, for gensim, word2vec.c, fastText and others. A path that ends in .gz is compressed; - is stdout.
huggingface: bert, roberta, unilm (as a bert), xlnet, gpt and transformer runs, as a folder for transformers. sentence-transformers: bert and
roberta runs. sentencepiece: the tokenizer of a run, if it is unigram or came from SentencePiece, as a .model file. file: the whole run in one file
that ends in .stairs, which every command takes in place of a run. python: a classifier of tfidf, n-grams or word vectors as one Python file that
needs numpy alone, and jieba for Chinese words. What was written is read back and compared with the run on some texts; a file that answers
differently is deleted."""


@dataclass(frozen=True)
class Convert(CommonFlags):
    run: Positional[str]  # a run folder, or a .stairs file
    format: Positional[str]  # arpa, word2vec, word2vec-binary, glove, huggingface, sentence-transformers, sentencepiece, file or python
    out: str  # file or folder to write; - is stdout


def main(arguments: list[str]) -> int:
    options = parse(Convert, arguments, "convert", ABOUT)
    check_format(options.format)
    facts, sentence = api.convert(api.load(options.run), options.format, options.out)
    if options.out != "-":
        show({"out": options.out, **facts}) if options.json else print(f"{options.out}: {sentence}")
    return 0
