"""The bootstrap: the vectorised samples equal a plain loop, and groups are drawn whole."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from stairs.tasks.metrics import (
    PAIRED_SAMPLES,
    Correlation,
    MacroF1,
    PairedBootstrap,
    Sums,
    confidence_interval,
    examples_to_separate,
    label_metrics,
    quotient,
    ratio,
    resample,
    sample_counts,
    without_intervals,
)
from stairs.tasks.translation_metrics import bleu_counts, bleu_from_counts


def share_of(is_correct):
    return Sums(np.stack([is_correct, np.ones(len(is_correct))], 1), quotient)


def test_a_paired_difference_is_that_of_a_plain_loop():
    random = np.random.default_rng(1)
    first, second = (random.random(60) < share for share in (0.8, 0.7))
    result = PairedBootstrap([share_of(first), share_of(second)]).difference(0, 1)
    generator, differences = np.random.default_rng(0), []
    for _ in range(PAIRED_SAMPLES):
        sample = generator.integers(0, 60, 60, np.int32)
        differences.append(first[sample].mean() - second[sample].mean())
    assert (result["low"], result["high"]) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))
    assert result["difference"] == pytest.approx(first.mean() - second.mean()) and result["standard_error"] == pytest.approx(np.std(differences))


@pytest.mark.parametrize("by_rank", [True, False])
def test_a_correlation_of_drawn_pairs_is_that_of_a_plain_loop(by_rank):
    random = np.random.default_rng(2)
    first = random.integers(0, 6, 40).astype(float)  # with ties
    second = first + random.normal(size=40).round(1)
    values = resample([Correlation(first, second, by_rank)], 50)[0]
    generator = np.random.default_rng(0)
    for value in values:
        sample = generator.integers(0, 40, 40, np.int32)
        assert value == pytest.approx((spearmanr if by_rank else pearsonr)(first[sample], second[sample])[0])


def test_macro_f1_of_drawn_texts_is_that_of_a_plain_loop():
    random = np.random.default_rng(3)
    gold, predicted = (list(random.choice(["a", "b", "c"], 30)) for _ in range(2))
    values = resample([MacroF1(gold, predicted)], 20)[0]
    generator = np.random.default_rng(0)
    with without_intervals():
        for value in values:
            sample = generator.integers(0, 30, 30, np.int32)
            plain = label_metrics([gold[i] for i in sample], [predicted[i] for i in sample])["macro_f1"]["value"]
            assert value == pytest.approx(plain)


def test_models_that_are_correct_on_the_same_examples_differ_only_by_the_others():
    is_correct = np.arange(200) % 2 == 0
    better = is_correct.copy()
    better[1:30:2] = True
    paired = PairedBootstrap([share_of(better), share_of(is_correct), share_of(better)])
    result = [paired.difference(0, other) for other in (1, 2)]
    assert result[0]["low"] > 0 and result[1]["low"] == result[1]["high"] == 0
    assert confidence_interval(share_of(is_correct))["high"] > confidence_interval(share_of(better))["low"]  # their own intervals overlap


def test_groups_are_drawn_whole():
    is_correct = np.repeat(np.arange(10) % 2, 20)  # ten passages of twenty questions, each right or wrong as a whole
    groups = [f"passage {i // 20}" for i in range(200)]
    alone, together = (resample([share_of(is_correct)], 500, own)[0].std() for own in (None, groups))
    assert together > 3 * alone and together == pytest.approx(0.5 / np.sqrt(10), rel=0.15)
    one_each = resample([share_of(is_correct)], 50, [str(i) for i in range(200)])[0]
    assert np.array_equal(one_each, resample([share_of(is_correct)], 50)[0])


def test_every_sample_is_as_large_as_the_data_and_memory_is_bounded():
    blocks = list(sample_counts(700, 1500))
    assert sum(map(len, blocks)) == 1500 and all((block.sum(1) == 700).all() for block in blocks) and len(blocks) > 1


def test_an_interval_hardly_depends_on_the_samples():
    is_correct = (np.random.default_rng(4).random(5000) < 0.7).astype(float)
    result = ratio(is_correct, np.ones(5000))
    expected = 1.96 * np.sqrt(is_correct.mean() * (1 - is_correct.mean()) / 5000)
    assert result["high"] - result["value"] == pytest.approx(expected, rel=0.1)
    assert result["value"] - result["low"] == pytest.approx(expected, rel=0.1)


def test_bleu_of_drawn_sentences_is_counted_once():
    gold, translations = ["the cat sat on the mat", "a dog barked at night"], ["the cat sat on a mat", "a dog barked"]
    counts = bleu_counts(gold, translations)
    plain = bleu_from_counts(bleu_counts([*gold, gold[0]], [*translations, translations[0]]).sum(0)[None])[0]
    assert Sums(counts, bleu_from_counts).values(np.array([[2.0, 1.0]]))[0] == pytest.approx(plain)


def test_how_many_more_examples_would_separate_two_models():
    assert examples_to_separate(0.02, 0.0102, 400) == pytest.approx(0, abs=1)
    assert examples_to_separate(0.01, 0.0102, 400) == pytest.approx(1200, rel=0.01)
    assert examples_to_separate(0.0, 0.01, 400) == np.inf
