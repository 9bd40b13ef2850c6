"""The learning curve of labels: measured without the answer, and forecast with an honest interval."""

import numpy as np
import pytest

from stairs.tasks.label_curve import MeasuredCurve, extrapolate, forecast, measure_curve
from stairs.tasks.out_of_fold import fold_numbers
from stairs.text.examples import LabelledText

EXAMPLES = [LabelledText(f"text {number}", "ab"[number % 2]) for number in range(200)]


def test_a_power_law_is_found_again():
    labels = [1000, 2000, 4000, 8000]
    values = 0.9 - 2.0 * np.array(labels) ** -0.3
    predicted = forecast(values, labels, [16000], total=10**7)
    assert predicted[0] == pytest.approx(0.9 - 2.0 * 16000**-0.3, abs=0.006)


def test_what_learns_nothing_more_is_forecast_flat_and_the_interval_holds_the_value():
    is_correct = np.repeat(np.arange(1000)[:, None] % 4 > 0, 4, 1)
    (now,) = extrapolate(MeasuredCurve([100, 200, 400, 800], is_correct), [1600])
    assert now["value"] == pytest.approx(0.75, abs=0.02) and now["low"] <= now["value"] <= now["high"] < 0.85


def test_no_fold_is_learnt_from_and_texts_that_are_alike_share_one():
    examples = [*EXAMPLES, LabelledText("TEXT  7", "a")]
    folds = fold_numbers(examples)
    assert folds[7] == folds[-1] and {len(set(folds[i::2].tolist())) for i in (0, 1)} == {5}
    sizes = []

    def learn(part):
        sizes.append(len(part))
        seen = {example.text for example in part}
        return lambda held_out: ["a" if example.text not in seen else "seen" for example in held_out]

    curve = measure_curve(learn, EXAMPLES)
    assert curve.labels == [20, 40, 80, 160] and sizes[:4] == [20, 40, 80, 160] and curve.is_correct.shape == (200, 4)
    assert curve.is_correct.mean() == pytest.approx(0.5)
    assert measure_curve(learn, EXAMPLES, seconds=0.0) is None


def test_texts_of_one_group_share_a_fold():
    examples = [LabelledText(f"text {number}", "ab"[number % 2], group=f"author {number % 23}") for number in range(200)]
    folds = fold_numbers(examples)
    assert all(len(set(folds[author::23].tolist())) == 1 for author in range(23)) and len(set(folds.tolist())) == 5
    assert measure_curve(lambda part: lambda held_out: ["a"] * len(held_out), [LabelledText("x", "ab"[i % 2], group="one") for i in range(9)]) is None
