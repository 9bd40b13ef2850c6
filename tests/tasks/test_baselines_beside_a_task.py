"""What a tuned model has to beat, and what is said when it does not."""

import numpy as np
import pytest

from stairs.tasks.baselines import train_baselines
from stairs.tasks.hmm_tagger import HmmTagger
from stairs.tasks.outcomes import baseline_warnings, evaluate_with_baselines
from stairs.tasks.tfidf_pairs import TfidfPairs
from stairs.text.examples import LabelledText, Question, TaggedSentence, TextPair

TEXTS = [LabelledText(f"{word} is what we have {number}", "food" if word in ("soup", "rice") else "weather")
         for number in range(6) for word in ("soup", "rice", "rain")]  # fmt: skip
PAIRS = [TextPair("a", "b", "same")] * 20 + [TextPair("a", "b", "other")] * 10  # whose words do not tell


class Letters:
    """Vectors that count letters."""

    def vectors(self, texts):
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)


class Says:
    """A task that gives these answers."""

    def __init__(self, example_kind, answers, **report):
        self.example_kind, self.answers, self.report = example_kind, answers, report

    def metrics_and_predictions(self, examples):
        return dict(self.report), self.answers


def baseline(example_kind, train, examples, metric, answers, source=None):
    return evaluate_with_baselines(Says(example_kind, answers), examples, train_baselines(train, source), metric)["baseline"]


def test_tfidf_is_the_alternative_where_words_tell_the_label():
    result = baseline("classify", TEXTS, TEXTS, "accuracy", ["food"] * len(TEXTS))
    assert (result["name"], result["metric"], result["value"], result["is_beaten"]) == ("tfidf", "accuracy", 1.0, False)


def test_the_most_frequent_label_is_the_alternative_for_pairs_with_labels():
    correct = baseline("compare", PAIRS, PAIRS, "accuracy", [pair.label for pair in PAIRS])
    assert correct["name"] == "majority" and correct["value"] == pytest.approx(2 / 3) and correct["is_beaten"]


def test_shared_words_are_the_alternative_for_pairs_whose_words_tell_the_label():
    pairs = [TextPair(f"{a} today", f"{b} today", "same" if a == b else "other") for a in ("rain", "snow", "hail") for b in ("rain", "snow", "hail")]
    result = baseline("compare", pairs, pairs, "accuracy", ["other"] * len(pairs))
    assert (result["name"], result["value"]) == ("tfidf", 1.0)


def test_a_model_is_no_baseline_of_itself():
    sentences = [TaggedSentence(("the", "saw"), ("DET", "NOUN")), TaggedSentence(("we", "saw"), ("PRON", "VERB"))]
    assert list(train_baselines(sentences, HmmTagger.train(sentences))) == ["most frequent tag of each word", "crf"]
    pairs = [TextPair("a", "a", score=2.0), TextPair("a", "b", score=1.0)]
    assert train_baselines(pairs, TfidfPairs.train(pairs)) == {}


def test_the_cosine_of_the_untuned_encoder_is_the_alternative_for_scores():
    pairs = [TextPair("aab", "aab", score=3.0), TextPair("aab", "abb", score=2.0), TextPair("a", "c", score=1.0)]
    result = baseline("compare", pairs, pairs, "spearman", [0.1, 0.3, 0.2], Letters())
    assert result["name"] == "untuned cosine" and result["value"] == pytest.approx(1.0) and not result["is_beaten"]


def test_the_most_frequent_tag_of_a_word_is_the_alternative_for_tags():
    train = [TaggedSentence(("the", "saw"), ("DET", "NOUN")), TaggedSentence(("we", "saw", "saw"), ("PRON", "VERB", "NOUN"))]
    questions = [TaggedSentence(("the", "saw", "wombat"), ("DET", "NOUN", "NOUN"))]
    assert baseline("tag", train, questions, "accuracy", [["DET", "DET", "DET"]])["value"] == 1.0


def test_the_sentence_that_shares_most_words_is_the_alternative_for_spans():
    passage = "It rained in Rome. Kyoto was founded in 794. Nobody came."
    questions = [Question("When was Kyoto founded?", passage, ((19, "Kyoto was founded in 794."),))]
    assert baseline("span", questions, questions, "f1", ["Rome"])["value"] == 1.0


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([pair.label for pair in PAIRS], None),
        (["same"] * 19 + ["other"] + ["same"] * 9 + ["other"], "this is not better, as far as these examples tell, than the cheapest baseline"),
        (["other"] * 20 + ["same"] * 10, "this is worse than the cheapest baseline, majority: accuracy 0.0000 against 0.6667 on held-out"),
    ],
)
def test_what_was_not_beaten_is_said(answers, says):
    share = sum(a == pair.label for a, pair in zip(answers, PAIRS, strict=True)) / len(PAIRS)
    report = evaluate_with_baselines(Says("compare", answers, accuracy={"value": share}), PAIRS, train_baselines(PAIRS, None), "accuracy")
    result = baseline_warnings(report, "held-out examples")
    assert result == [] if says is None else len(result) == 1 and says in result[0]


@pytest.mark.parametrize(("example_kind", "answers"), [("compare", ["same"] * 30), ("tag", [["O", "O"], ["O"]])])
def test_one_label_for_everything_is_said(example_kind, answers):
    examples = PAIRS if example_kind == "compare" else [TaggedSentence(("a", "b"), ("B-X", "O")), TaggedSentence(("c",), ("O",))]
    report = evaluate_with_baselines(Says(example_kind, answers, accuracy={"value": 0.5}), examples, train_baselines(examples, None), "accuracy")
    label = answers[0][-1] if example_kind == "tag" else "same"
    assert baseline_warnings(report, "the texts")[-1] == f"it gives all of the texts the label {label!r}"
