"""One word in two senses: static vectors cannot tell them apart, a model that reads the sentence can."""

import pytest
import torch

from stairs.errors import BadInput
from stairs.inspection.layers import sense_separation
from stairs.models.elmo import ELMo
from stairs.models.settings import ELMoConfig, Word2VecConfig
from stairs.models.word2vec import SkipGram
from stairs.tasks import BidirectionalLM, WordVectors
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

SENSES = {"river": ["the bank of the river", "water by the bank"], "money": ["the bank lends money", "money in the bank"]}


@pytest.fixture(scope="module")
def words():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [[text for texts in SENSES.values() for text in texts]])


def test_a_static_vector_is_the_same_everywhere(words):
    model = SkipGram(Word2VecConfig(vocab_size=words.vocab_size, width=8))
    model.initialize(1)
    (result,) = sense_separation(WordVectors(model, words), "bank", SENSES)
    assert result["layer"] is None and result["same"] == pytest.approx(1) and result["different"] == pytest.approx(1)


def test_layers_in_context_differ_and_the_word_alone_does_not(words):
    torch.manual_seed(0)
    model = ELMo(ELMoConfig(**words.vocabulary_settings, width=8, hidden=12, filters=(4, 4))).eval()
    rows = sense_separation(BidirectionalLM(model, words), "bank", SENSES)
    assert [row["layer"] for row in rows] == [0, 1, 2]
    assert rows[0]["different"] == pytest.approx(1, abs=1e-5) and max(row["different"] for row in rows[1:]) < 1 - 1e-4


def test_what_it_needs(words):
    model = ELMo(ELMoConfig(**words.vocabulary_settings, width=8, hidden=12, filters=(4, 4))).eval()
    with pytest.raises(BadInput, match="'bank' is not in"):
        sense_separation(BidirectionalLM(model, words), "bank", {"a": ["the river"], "b": ["money"]})
    with pytest.raises(BadInput, match="two senses with two texts"):
        sense_separation(BidirectionalLM(model, words), "bank", {"a": ["the bank"]})
