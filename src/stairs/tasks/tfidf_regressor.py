"""TfidfRegressor: a number for a text, by ridge regression over TF-IDF of its words and word pairs, see `parts/tfidf.py`.

value = w tfidf(text) + b,   w the minimum of the squared error + |w|^2 in units of the deviation of the training numbers
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from stairs.tasks.answers import Answer, NumberAnswer
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.from_examples import FromExamples, words_tokenizer
from stairs.tasks.number_targets import mean_and_deviation
from stairs.tasks.parts.tfidf import Tfidf
from stairs.text.examples import LabelledText, ScoredText
from stairs.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

REGULARIZATION = 1.0


class TfidfRegressor(FromExamples):
    """Its arrays are `idf` and `weight` (terms,) and `bias` (1,)."""

    name = "regress-tfidf"
    model_name = "tfidf"
    example_kind = "regress"

    def __init__(self, tokenizer: Tokenizer, terms: list[str], arrays: Mapping[str, np.ndarray]) -> None:
        self.tokenizer, self.labels, self.terms, self.weights = tokenizer, [], terms, dict(arrays)
        self.tfidf = Tfidf(tokenizer, terms, arrays["idf"])
        if arrays["weight"].shape != (len(terms),) or arrays["bias"].shape != (1,):
            raise ValueError(f"weights {arrays['weight'].shape} and {arrays['bias'].shape} for {len(terms)} terms")

    @classmethod
    def train(cls, examples: Sequence[Any], tokenizer: Tokenizer | None = None) -> Self:
        tokenizer = tokenizer or words_tokenizer(examples)
        tfidf, features = Tfidf.fit(tokenizer, [example.text for example in examples])
        weight, bias = ridge_regression(features.matrix(), examples, REGULARIZATION)
        return cls(tokenizer, list(tfidf.terms), {"idf": tfidf.idf.astype(np.float32), "weight": weight, "bias": bias})

    def predict_examples(self, examples: Sequence[Any]) -> list[Any]:
        products = self.tfidf.features([example.text for example in examples]).times(self.weights["weight"][None].astype(np.float64))
        values: list[float] = (products[:, 0] + float(self.weights["bias"][0])).tolist()
        return values

    def answer(self, text: str) -> NumberAnswer:
        return {"text": text, "value": self.predict_examples([LabelledText(text, "")])[0]}

    def summary(self, answer: Answer) -> str:
        return f"{cast(NumberAnswer, answer)['value']:.4g}"

    def strings(self) -> dict[str, list[str]]:
        return {"terms": self.terms}

    def arrays(self) -> dict[str, np.ndarray]:
        return self.weights

    @classmethod
    def from_parts(cls, tokenizer: Tokenizer, described: TaskConfig, strings: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(tokenizer, strings["terms"], arrays)


def ridge_regression(
    features: "np.ndarray | csr_matrix", examples: Sequence[ScoredText], regularization: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (features,) and bias (1,); `regularization` keeps the weights small, whatever the unit of the numbers is."""
    from sklearn.linear_model import Ridge

    mean, deviation = mean_and_deviation(examples)
    targets = (np.array([example.value for example in examples]) - mean) / deviation
    linear = Ridge(alpha=regularization, solver="auto" if isinstance(features, np.ndarray) else "sparse_cg", tol=1e-5).fit(features, targets)
    weight, bias = linear.coef_ * deviation, linear.intercept_ * deviation + mean
    return weight.astype(np.float32), np.array([bias], np.float32)
