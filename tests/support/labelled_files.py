"""What tests of labelled files share: how a file is refused, and what was read of it."""

import pytest

from stairs.errors import BadInput
from stairs.text.labelled import read_examples


def error_of(path, task="classify", **options) -> str:
    """The sentence with which a file is refused: one line, short but for its paths."""
    with pytest.raises(BadInput) as caught:
        read_examples(path, task, **options)
    sentence = short = str(caught.value)
    for one in path if isinstance(path, list | tuple) else [path]:
        short = short.replace(str(one), "")
    assert "\n" not in sentence and len(short) <= 260
    return sentence


def texts_and_labels(labelled) -> list[tuple[str, str]]:
    return [(example.text, example.label) for example in labelled.examples]
