"""Labelled texts from which nothing can be learnt are refused before anything is trained or written."""

from collections.abc import Sequence

from stairs.errors import BadInput, preview
from stairs.text.examples import Example

MIN_JUDGED = 10  # examples: fewer may all have labels of their own
MAX_LABEL_SHARE = 0.5  # more different labels than that in a column are names of its rows


def refuse_unlearnable(kind: str, examples: Sequence[Example], source: str, otherwise: str = "") -> None:
    """Texts without a word, one label for all rows, or another for each; `otherwise` is what else may be done about the last."""
    if kind != "classify" or len(examples) < MIN_JUDGED:
        return
    texts, labels = ([str(getattr(example, name, "")) for example in examples] for name in ("text", "label"))
    advice = "name the column of the labels with --label"
    if not any(character.isalpha() for text in texts for character in text):
        raise BadInput(f"{source}: there is no word in any text, such as {preview(texts[0])}; name the column of the texts with --text")
    count = len(set(labels))
    if count == 1:
        raise BadInput(f"{source}: all {len(examples):,} rows have the label {preview(labels[0])}; give rows of another label, or {advice}")
    if count > MAX_LABEL_SHARE * len(examples):
        what = f"{count:,} different values in {len(examples):,} rows, such as {preview(labels[0], 24)}, so it looks like an id"
        raise BadInput(f"{source}: the column of the label has {what}; {advice}{otherwise}")
