"""The estimators keep scikit-learn's promises. Its own checks skip input that is not a matrix of numbers, so these are ours."""

import copy
import doctest
import os
import pickle
import shutil
import tempfile

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import stairs
from stairs.cache import cache_folder
from stairs.errors import BadInput
from stairs.sklearn import TextClassifier, TextVectorizer
from tests.journeys.pages import ROOT, run_examples
from tests.support.small_world import SENTENCES, examples

EXAMPLES = examples("classify")
TEXTS = [example.text for example in EXAMPLES]
LABELS = [example.label for example in EXAMPLES]
QUICK = {"size": "nano", "pretrain_epochs": 1, "epochs": 1, "transfer": "features"}


def quick(model):
    """A classifier that learns in a second or two."""
    own = {"skipgram": {**QUICK, "size": None, "train_options": {"width": 16, "min_count": 1, "subsample": 0.0}}, "tfidf": {}, "ngram": {}}
    return TextClassifier(model, **own.get(model, QUICK))


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A run that has learnt a little."""
    folder = tmp_path_factory.mktemp("bert")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES), "utf-8")
    stairs.train("bert", folder / "corpus.txt", size="nano", steps=20, out=folder / "run")
    return folder / "run"


@pytest.mark.parametrize("model", ["tfidf", "ngram", "bert", "nnlm", "skipgram"])
def test_it_learns_and_two_fits_give_the_same(model):
    first, second = (quick(model).fit(TEXTS, LABELS) for _ in range(2))
    assert first.classes_.tolist() == ["food", "weather"]
    assert np.array_equal(first.predict_proba(TEXTS), second.predict_proba(TEXTS))
    assert np.allclose(first.predict_proba(TEXTS).sum(1), 1) and first.predict_proba(TEXTS).shape == (60, 2)
    assert (first.predict(TEXTS) == first.classes_[first.predict_proba(TEXTS).argmax(1)]).all()
    assert first.fit(TEXTS, LABELS).score(TEXTS, LABELS) == second.score(TEXTS, LABELS)
    if model in ("tfidf", "ngram"):
        assert first.score(TEXTS, LABELS) == 1


def test_it_pretrains_on_the_corpus_it_is_given(tmp_path):
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES), "utf-8")
    corpora = (tmp_path / "corpus.txt", SENTENCES, None)
    by_path, by_list, alone = (TextClassifier("bert", corpus=corpus, **QUICK).fit(TEXTS[:20], LABELS[:20]) for corpus in corpora)
    sizes = [fitted.task_.tokenizer.vocab_size for fitted in (by_path, by_list, alone)]
    assert sizes[0] == sizes[1] > sizes[2]


def test_a_run_is_tuned_whether_it_comes_as_folder_or_as_task(bert):
    options = {"transfer": "features", "epochs": 5}
    folder, task = (TextClassifier(model, **options).fit(TEXTS, LABELS) for model in (bert, stairs.load(bert)))
    assert np.array_equal(folder.predict_proba(TEXTS), task.predict_proba(TEXTS)) and folder.task_.model_name == "bert"


def test_parameters_are_those_of_the_constructor_and_survive_a_clone(bert):
    estimator = TextClassifier("bert", epochs=3, tune_options={"batch_examples": 8})
    assert estimator.get_params()["epochs"] == 3 and estimator.set_params(epochs=4, model="ngram").epochs == 4
    assert clone(estimator).get_params() == estimator.get_params()
    vectorizer = clone(TextVectorizer(bert, normalize=True))
    assert vectorizer.get_params() == {"run": bert, "normalize": True}
    task = stairs.load(bert)
    assert clone(TextVectorizer(task)).fit(TEXTS).transform(TEXTS[:2]).shape == (2, task.model.config.width)


def test_nothing_is_predicted_before_fit(bert):
    for method in (TextClassifier().predict, TextClassifier().predict_proba, TextVectorizer(bert).transform):
        with pytest.raises(NotFittedError):
            method(TEXTS)
    with pytest.raises(NotFittedError):
        TextVectorizer(bert).get_feature_names_out()


@pytest.mark.parametrize("model", ["tfidf", "ngram", "bert"])
def test_a_fitted_classifier_can_be_pickled(model):
    fitted = quick(model).fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS)) and again.get_params() == fitted.get_params()


def test_a_fitted_vectorizer_can_be_pickled(bert):
    fitted = TextVectorizer(stairs.load(bert)).fit(TEXTS)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).transform(TEXTS), fitted.transform(TEXTS))


@pytest.mark.parametrize(
    "labels",
    [[3, 7], [True, False], ["ja", "nein"], [("a", 1), ("b", 2)], ["1", 1], [1.0, 2.0], np.array([-1, 1], np.int8)],
    ids=["int", "bool", "str", "tuple", "mixed", "whole floats", "int8"],
)
def test_labels_of_any_hashable_kind_come_back_as_they_were(labels):
    y = labels[[index % 2 for index in range(60)]] if isinstance(labels, np.ndarray) else [labels[index % 2] for index in range(60)]
    fitted = TextClassifier().fit(TEXTS, y)
    predicted, gold = fitted.predict(TEXTS), y.tolist() if isinstance(y, np.ndarray) else y
    assert all(own == right and isinstance(own, type(right)) for own, right in zip(predicted.tolist(), gold, strict=True))
    if isinstance(labels, np.ndarray):
        assert predicted.dtype == fitted.classes_.dtype == np.int8


def test_more_than_ten_classes_keep_their_columns():
    texts = [f"{word} {word} {number}" for number in range(12) for word in (f"word{number}", f"term{number}")]
    y = [number for number in range(12) for _ in range(2)]
    fitted = TextClassifier().fit(texts, y)
    assert fitted.classes_.tolist() == list(range(12)) and fitted.score(texts, y) == 1


@pytest.mark.parametrize("as_input", [list, tuple, np.array, pd.Series, pd.DataFrame, lambda texts: np.array(texts, object)[:, None]])
def test_texts_come_as_list_array_column_or_frame_of_one_column(as_input):
    assert (TextClassifier().fit(as_input(TEXTS), as_input(LABELS)).predict(as_input(TEXTS)) == LABELS).all()


def test_a_series_with_another_index_is_read_in_its_order():
    assert TextClassifier().fit(pd.Series(TEXTS, range(100, 160)), pd.Series(LABELS, range(59, -1, -1))).score(TEXTS, LABELS) == 1


BAD = [
    ([], [], "no texts given"),
    (["a", None], [0, 1], "None among the texts"),
    (["a", float("nan")], [0, 1], "missing value"),
    ([b"a", b"b"], [0, 1], "decode"),
    (["a", 3], [0, 1], "type int"),
    ("a text", [0], "a single text"),
    (["a", "b"], [1, 1], "at least two"),
    (["a", "b"], [1], "2 texts and y has 1"),
    (["a", "b"], [1, None], r"y\[1\]"),
    (["a", "b"], [[1], [2]], r"y\[0\]"),
    (["a", "b"], [0.25, 0.75], "fractions"),
    (["a", "b"], "ab", "single label"),
    (pd.DataFrame({"title": ["a", "b"], "body": ["c", "d"]}), [0, 1], "title, body"),
    (3, [0], "given as int"),
]


@pytest.mark.parametrize(("X", "y", "expected"), BAD, ids=[expected for *_, expected in BAD])
def test_bad_input_is_refused_with_a_sentence_that_scikit_learn_understands(X, y, expected):
    with pytest.raises(BadInput, match=expected) as refused:
        TextClassifier().fit(X, y)
    assert isinstance(refused.value, ValueError)


def test_bad_parameters_are_refused(tmp_path):
    for estimator, expected in [
        (TextClassifier("brt"), "brt"), (TextClassifier(3), "neither"), (TextClassifier("bert", size="huge"), "no size huge"),
        (TextClassifier(tmp_path), "not a run"), (TextClassifier("tfidf", tune_options={"epoch": 1}), "did you mean epochs"),
        (TextClassifier("nnlm", **QUICK, validation_fraction=2), "validation_fraction"), (TextClassifier("transformer"), "pairs"),
    ]:  # fmt: skip
        with pytest.raises(BadInput, match=expected):
            estimator.fit(TEXTS, LABELS)
    for method in (TextClassifier().fit(TEXTS, LABELS).predict, TextClassifier().fit(TEXTS, LABELS).predict_proba):
        with pytest.raises(BadInput, match="no texts given"):
            method([])


def test_scikit_learn_knows_that_the_input_is_text(bert):
    for estimator in (TextClassifier(), TextVectorizer(bert)):
        tags = estimator.__sklearn_tags__()
        assert tags.input_tags.string and tags.input_tags.one_d_array and not tags.input_tags.two_d_array
        assert not hasattr(estimator.fit(TEXTS, LABELS), "n_features_in_")
    assert TextClassifier().__sklearn_tags__().estimator_type == "classifier"
    assert TextVectorizer(bert).__sklearn_tags__().estimator_type is None


def test_it_is_scored_by_cross_validation():
    assert cross_val_score(TextClassifier("ngram"), TEXTS, LABELS, cv=3).mean() > 0.9


def test_two_processes_fit_at_once(bert):
    alone, parallel = (cross_val_score(TextClassifier("tfidf"), TEXTS, LABELS, cv=2, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(alone, parallel)
    task = TextClassifier(stairs.load(bert), transfer="features", epochs=1)
    assert len(cross_val_score(task, TEXTS, LABELS, cv=2, n_jobs=2, error_score="raise")) == 2


def test_its_parameters_are_searched():
    search = GridSearchCV(TextClassifier(), {"model": ["tfidf", "ngram"]}, cv=2).fit(TEXTS, LABELS)
    assert search.best_params_["model"] in ("tfidf", "ngram") and search.predict(["soup and rice"]) == ["food"]


def test_its_probabilities_are_calibrated():
    calibrated = CalibratedClassifierCV(TextClassifier(), cv=2, ensemble=False).fit(TEXTS, LABELS)
    assert np.allclose(calibrated.predict_proba(TEXTS).sum(1), 1) and (calibrated.predict(TEXTS) == LABELS).mean() > 0.9


def test_it_stands_at_the_end_of_a_pipeline():
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    assert make_pipeline(lower, TextClassifier()).fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1
    column = ColumnTransformer([("text", "passthrough", ["text"])])
    frame = pd.DataFrame({"text": TEXTS, "length": [len(text) for text in TEXTS]})
    assert make_pipeline(column, TextClassifier()).fit(frame, LABELS).score(frame, LABELS) == 1


@pytest.mark.parametrize("column", ["text", ["text"]], ids=["a series", "a frame of one column"])
def test_the_vectorizer_stands_in_a_column_transformer(bert, column):
    frame = pd.DataFrame({"text": TEXTS, "length": [float(len(text)) for text in TEXTS]})
    columns = ColumnTransformer([("vector", TextVectorizer(bert), column), ("number", StandardScaler(), ["length"])]).set_output(transform="pandas")
    table = columns.fit_transform(frame)
    width = stairs.load(bert).model.config.width
    assert table.shape == (60, width + 1)
    assert list(table.columns)[:2] == ["vector__textvectorizer0", "vector__textvectorizer1"]
    assert list(columns.get_feature_names_out()) == list(table.columns)
    pipeline = make_pipeline(clone(columns).set_output(transform="default"), LogisticRegression())
    assert pipeline.fit(frame, LABELS).predict(frame).shape == (60,)


def test_the_vectors_are_those_of_the_task(bert):
    vectors = TextVectorizer(bert).fit_transform(TEXTS)
    assert np.array_equal(vectors, stairs.load(bert).vectors(TEXTS))
    assert np.allclose(np.linalg.norm(TextVectorizer(bert, normalize=True).fit_transform(TEXTS), axis=1), 1)


def test_nothing_stays_on_the_disk_unless_a_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    before = set(os.listdir(cache_folder()))
    quick("bert").fit(TEXTS, LABELS)
    assert os.listdir(tmp_path / "temporary") == [] and os.listdir(tmp_path) == ["temporary"]
    assert set(os.listdir(cache_folder())) == before
    kept = TextClassifier("tfidf", out=tmp_path / "kept").fit(TEXTS, LABELS)
    assert stairs.load(tmp_path / "kept").labels == ["0", "1"] and kept.fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1
    with pytest.raises(BadInput, match="kept"):
        kept.fit(TEXTS[:30], LABELS[:30])


def test_it_is_quiet_unless_it_is_verbose(capfd):
    quick("nnlm").fit(TEXTS, LABELS)
    assert capfd.readouterr() == ("", "")
    TextClassifier("nnlm", **QUICK, verbose=True).fit(TEXTS, LABELS)
    assert capfd.readouterr().err


@pytest.mark.slow
def test_it_is_as_good_as_scikit_learns_own_on_real_reviews(data):
    from sklearn.feature_extraction.text import TfidfVectorizer

    train, test = (pd.read_csv(data / "classify" / "sst2" / f"{part}.tsv", sep="\t", quoting=3) for part in ("train", "test"))
    theirs = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
    own, other = (model.fit(train["text"], train["label"]).score(test["text"], test["label"]) for model in (TextClassifier("tfidf"), theirs))
    assert own > other - 0.01


def test_the_page_says_what_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(ROOT / "docs" / "sklearn.md")


@pytest.mark.reference
def test_columns_of_polars_and_datasets_are_texts():
    polars, datasets = pytest.importorskip("polars"), pytest.importorskip("datasets")
    frame, dataset = polars.DataFrame({"text": TEXTS, "label": LABELS}), datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS})
    expected = TextClassifier().fit(TEXTS, LABELS).predict_proba(TEXTS)
    for X, y in ((frame["text"], frame["label"]), (frame.select("text"), frame["label"]), (dataset["text"], dataset["label"])):
        assert np.array_equal(TextClassifier().fit(X, y).predict_proba(X), expected)


def test_a_fitted_estimator_is_copied_and_sent_to_another_process(bert):
    fitted = TextClassifier(bert, transfer="features", epochs=1).fit(TEXTS, LABELS)
    twin = copy.deepcopy(fitted)
    assert np.array_equal(twin.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    (sent,) = joblib.Parallel(n_jobs=2)([joblib.delayed(fitted.predict_proba)(TEXTS)])
    assert np.allclose(sent, fitted.predict_proba(TEXTS), atol=1e-6)


def test_the_examples_in_its_docstrings_run(bert, tmp_path, monkeypatch):
    import stairs.embeddings
    import stairs.sklearn

    shutil.copytree(bert, tmp_path / "runs" / "corpus-bert")
    monkeypatch.chdir(tmp_path)
    for module, examples_count in ((stairs.sklearn, 2), (stairs.embeddings, 1)):
        failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS, extraglobs={"stairs": stairs})
        assert not failed and tried == examples_count
