"""The embedded corpus of the Python that runs the tests: enough text, fair labels, the same every time."""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations

import pytest

from stairs.text.comparison_data import decontaminate, split_examples
from stairs.text.embedded import docstrings, python_prose
from stairs.text.embedded.continuations import continuation_examples
from stairs.text.examples import example_texts, normalize_text

DIGEST = """
import hashlib
from stairs.text.embedded import python_prose
sets = python_prose.package_examples() + python_prose.description_examples() + python_prose.number_names(50, seed=1)
print(python_prose.PythonProse().content_hash, hashlib.sha256(repr(sets).encode()).hexdigest())
"""


@pytest.fixture(scope="module", autouse=True)
def in_memory(prose):
    """Of several hundred megabytes, nothing is left to the tests of other files."""
    yield
    for kept in (docstrings.docstrings, python_prose.docstring_paragraphs, python_prose.all_documents):
        kept.cache_clear()


@pytest.fixture(scope="module")
def packages(in_memory):
    return python_prose.package_examples()


@pytest.fixture(scope="module")
def parameters(in_memory):
    return python_prose.parameter_examples()


@pytest.fixture(scope="module")
def describes(in_memory):
    return python_prose.description_examples()


@pytest.fixture(scope="module")
def continuations(in_memory):
    return continuation_examples()


def test_continuations_cannot_be_guessed_from_the_choices_alone(continuations):
    assert len(continuations) > 1000 and all(len(set(one.choices)) == 4 and one.context not in one.choices for one in continuations)
    positions = Counter(one.right for one in continuations)
    assert max(positions.values()) < 1.1 * len(continuations) / 4
    offered, right = Counter(text for one in continuations for text in one.choices), Counter(one.right_choice for one in continuations)
    assert all(offered[text] == 4 * right[text] for text in offered)  # each is right in one of the four that offer it
    by_hash = {one.group: {other.where for other in continuations if other.group == one.group} for one in continuations[:20]}
    assert all(len(where) >= 4 for where in by_hash.values())  # the four docstrings of a question are of one group: they are held out together


def test_prose_is_plenty_and_each_document_comes_once():
    documents = list(python_prose.prose_documents())
    assert 8e6 < sum(map(len, documents)) < 40e6
    assert len(set(documents)) == len(documents)
    assert not any("\n\n" in document or not document.strip() for document in documents)
    assert any('The "if" statement is used for conditional execution' in document for document in documents)
    assert {docstring.package for docstring in docstrings.docstrings()} == {"python", "numpy", "torch", "sympy"}
    assert not any("/tests/" in docstring.where for docstring in docstrings.docstrings())


def test_a_limit_takes_evenly_from_the_whole():
    everything = {document: place for place, document in enumerate(python_prose.prose_documents())}
    some = list(python_prose.prose_documents(200_000))
    assert sum(map(len, some)) == pytest.approx(200_000, rel=0.05)
    positions = [everything[document] for document in some]
    assert positions == sorted(positions)
    assert positions[0] < len(everything) / 10 and positions[-1] > len(everything) * 9 / 10


def test_python_prose_is_a_corpus():
    corpus = python_prose.PythonProse(limit=100_000)
    first = list(corpus.documents())
    assert corpus.position == corpus.size == sum(len(document.encode()) for document in first)
    assert first == list(corpus.documents()) and corpus.name == "python-prose"
    assert re.fullmatch("[0-9a-f]{64}", corpus.content_hash)
    assert corpus.content_hash != python_prose.PythonProse(limit=50_000).content_hash


def test_another_process_gets_the_same_text_and_labels(packages, describes):
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    theirs = subprocess.run([sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True).stdout.split()
    sets = packages + describes + python_prose.number_names(50, seed=1)
    assert theirs == [python_prose.PythonProse().content_hash, hashlib.sha256(repr(sets).encode()).hexdigest()]


def test_packages_are_balanced_and_do_not_name_themselves(packages):
    counts = Counter(example.label for example in packages)
    assert 5 <= len(counts) <= 10 and set(counts) <= set(python_prose.LABELS)
    assert max(counts.values()) <= 2 * min(counts.values())
    assert len({example.text for example in packages}) == len(packages)
    for name in ("numpy", "np", "torch", "sympy", "asyncio", "email", "tkinter", "distributed", "polys"):
        assert not any(re.search(rf"(?<![a-z0-9]){name}(?![a-z0-9])", example.text, re.IGNORECASE) for example in packages), name
    assert all(re.search(r"\.py:\d+$|^[\w.]+$", example.where) for example in packages)


def test_packages_can_be_learned_but_not_by_one_word(packages):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    texts, labels = [example.text for example in packages], [example.label for example in packages]
    cut = len(texts) * 4 // 5
    model = make_pipeline(TfidfVectorizer(), MultinomialNB(alpha=0.1)).fit(texts[:cut], labels[:cut])
    assert 0.5 < model.score(texts[cut:], labels[cut:]) < 0.97


def test_parameters_are_tagged_in_half_of_the_sentences(parameters):
    assert len(parameters) > 5000
    named = [example for example in parameters if "B-parameter" in example.tags]
    assert len(named) * 2 == len(parameters)
    assert {tag for example in parameters for tag in example.tags} == {"O", "B-parameter"}
    assert all(len(example.words) == len(example.tags) >= 5 for example in parameters)
    assert len({example.words for example in parameters}) == len(parameters)


def test_marks_decide_for_everyday_words_and_are_taken_off():
    known = {"a", "axis", "size", "args", "x"}
    words, tags = python_prose.tag_parameters("Sort a copy of `a` along :attr:`axis`, if axis.size or ``*args`` or x", known)
    assert [word for word, tag in zip(words, tags, strict=True) if tag != "O"] == ["a", "axis", "axis", "args"]
    assert words[:6] == ("Sort", "a", "copy", "of", "a", "along") and tags[1] == "O" and "`" not in words


def test_descriptions_are_half_true_and_neither_side_gives_it_away(describes):
    assert Counter(example.label for example in describes) == {"yes": len(describes) // 2, "no": len(describes) // 2}
    assert len(describes) > 5000
    headers = {label: Counter(example.second for example in describes if example.label == label) for label in ("yes", "no")}
    assert headers["yes"] == headers["no"]
    for example in describes:
        name = example.second.partition("(")[0]
        if "_" in name and example.label == "yes":
            assert not re.search(rf"\b{name}\b", example.first)


@pytest.mark.parametrize("example_kind", ["classify", "compare", "tag"])
def test_no_source_of_the_embedded_data_is_in_two_parts(request, example_kind):
    examples = request.getfixturevalue({"classify": "packages", "compare": "describes", "tag": "parameters"}[example_kind])
    parts = split_examples(examples, example_kind, 0)
    for name in (lambda example: example.group, lambda example: tuple(map(normalize_text, example_texts(example)))):
        sets = [{name(example) for example in parts[part]} for part in ("train", "dev", "test")]
        assert not any(a & b for a, b in combinations(sets, 2))
    for part, share in (("train", 0.72), ("dev", 0.08), ("test", 0.2)):
        assert len(parts[part]) == pytest.approx(share * len(examples), rel=0.03)
        if example_kind == "classify":
            counts, own = (Counter(example.label for example in texts_and_labels) for texts_and_labels in (examples, parts[part]))
            assert all(own[label] == pytest.approx(share * count, rel=0.5, abs=2) for label, count in counts.items())


@pytest.mark.parametrize("side", ["first", "second"])
def test_one_side_of_the_embedded_pairs_says_nothing(describes, side):
    parts = split_examples(describes, "compare", 0)
    seen: dict[str, Counter[str]] = {}
    for pair in (*parts["train"], *parts["dev"]):
        seen.setdefault(normalize_text(getattr(pair, side)), Counter())[pair.label] += 1
    majority = Counter(pair.label for pair in parts["train"])
    right = sum(seen.get(normalize_text(getattr(pair, side)), majority).most_common(1)[0][0] == pair.label for pair in parts["test"])
    assert right / len(parts["test"]) == pytest.approx(0.5, abs=1.96 * 0.5 / len(parts["test"]) ** 0.5)
    assert learnt_from_words(parts, side) == pytest.approx(0.5, abs=1.96 * 0.5 / len(parts["test"]) ** 0.5)


def learnt_from_words(parts, side):
    """The accuracy of a rule by the words of one side."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    texts_and_labels = {part: ([getattr(pair, side) for pair in parts[part]], [pair.label for pair in parts[part]]) for part in ("train", "test")}
    return make_pipeline(TfidfVectorizer(), MultinomialNB()).fit(*texts_and_labels["train"]).score(*texts_and_labels["test"])


@pytest.mark.parametrize("example_kind", ["classify", "compare", "tag"])
def test_no_document_of_a_held_out_example_is_read(request, example_kind):
    examples = request.getfixturevalue({"classify": "packages", "compare": "describes", "tag": "parameters"}[example_kind])
    parts = split_examples(examples, example_kind, 0)
    corpus = decontaminate(python_prose.PythonProse(), parts, is_embedded=True)
    documents, everything = set(corpus.documents()), set(python_prose.prose_documents())
    sources = {docstring.where: python_prose.join_paragraphs(paragraphs_of) for docstring, paragraphs_of in python_prose.docstring_paragraphs()}
    assert corpus.removed_text["documents"] == len(everything) - len(documents) > 0.9 * len({example.where for example in parts["test"]})
    assert not any(sources[example.where] in documents for part in ("dev", "test") for example in parts[part])
    assert sum(sources[example.where] in documents for example in parts["train"]) > 0.8 * len(parts["train"])
    assert corpus.content_hash != python_prose.PythonProse().content_hash and corpus.size == python_prose.PythonProse().size
