"""How an answer becomes a prediction, as options: the flags of `stairs ask` and the keywords of `predict_file`. Free of torch, as help must be."""

from dataclasses import dataclass

from stairs.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    threshold: float | None = None  # probability from which the positive label is given; of several labels, each one; the most probable if not given
    positive: str | None = None  # the label that --threshold is about; of two labels the second in order if not given
    unsure_below: float | None = None  # mark answers whose probability is lower; with --file in a column `unsure`, yes or no; none if not given
    all_labels: bool = False  # with --file: a column p_LABEL with the probability of each label
    why: bool = False  # the words that spoke for and against each label

    def check(self) -> None:
        for name, value in (("threshold", self.threshold), ("unsure-below", self.unsure_below)):
            if value is not None and not 0 <= value <= 1:
                raise BadInput(f"--{name} {value} is not a probability between 0 and 1")
        if self.positive is not None and self.threshold is None:
            raise BadInput(f"--positive {self.positive} says what --threshold is about; give --threshold as well")
