"""One-hot vectors of two words have nothing in common; learned ones may."""

import numpy as np
import pytest

from stairs.errors import BadInput
from stairs.pictures.catalogue import picture_data
from tests.support.gallery import TEXT, runs


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    return runs(tmp_path_factory.mktemp("world"))


def test_cosines_of_one_hot_vectors_are_an_identity_and_those_of_learned_ones_are_not(tasks):
    task = tasks["skipgram"]
    data = picture_data(task, "onehot", "soup bread\nrain soup")
    assert data["words"] == ["soup", "bread", "rain"] and data["indices"] == [task.tokenizer.id(word) for word in data["words"]]
    one_hot = np.eye(data["vocab_size"])[data["indices"]]
    assert np.array_equal(data["one_hot_cosines"], one_hot @ one_hot.T)
    assert data["cosines"][0][1] == pytest.approx(task.similarity("soup", "bread"), abs=1e-3) and abs(data["cosines"][0][1]) > 0.01
    assert np.allclose(data["vectors"][2], task.rows(np.array([task.tokenizer.id("rain")]))[0], atol=1e-3)


@pytest.mark.parametrize("name", ["bert", "gpt", "nnlm", "seq2seq", "transformer"])
def test_models_with_a_table_of_tokens_have_one_vector_for_each(tasks, name):
    task = tasks[name]
    data = picture_data(task, "onehot", TEXT)
    table = (task.model.vectors if name == "nnlm" else task.model.tokens).weight.detach().numpy()
    assert np.allclose(np.array(data["vectors"])[0], table[data["indices"][0]][:64], atol=1e-3)
    assert data["width"] == table.shape[1] and len(data["words"]) == len(data["cosines"]) <= 12


def test_what_does_not_fit_is_one_sentence(tasks):
    with pytest.raises(BadInput, match="at least two"):
        picture_data(tasks["skipgram"], "onehot", "soup soup")
    with pytest.raises(BadInput, match="'zorblax' is not in the vocabulary"):
        picture_data(tasks["skipgram"], "onehot", "soup zorblax")
