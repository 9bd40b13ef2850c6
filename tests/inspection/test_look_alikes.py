"""Words that look alike have similar vectors from characters; the correction tells them apart."""

import numpy as np
import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.inspection.look_alikes import OutputSpellings
from stairs.models.elmo import ELMo
from stairs.models.settings import ELMoConfig
from stairs.pictures.catalogue import draw, picture_data
from stairs.tasks import BidirectionalLM
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.support.tiny import tiny

WORDS = "from form From farm house horse The ox ax 2001 2002 音乐 音符 电影"
TEXT = "The horse came from 2001 音乐"


def run(**settings):
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [[WORDS, "from house from house"]])
    model = ELMo(ELMoConfig(words.vocab_size, **tiny("elmo", width=16, hidden=32, filters=(8, 8, 8), softmax="cnn", **settings)))
    return BidirectionalLM(model.eval(), words)


@pytest.fixture(scope="module")
def task():
    return run(correction_width=4)


def test_the_nearest_spelling_is_found_and_case_numbers_and_short_words_do_not_count(task):
    output, token = OutputSpellings(task), task.tokenizer
    nearest = {word: (lambda found: found and (token.token(found.id), found.edits))(output.look_alike(token.id(word))) for word in WORDS.split()}
    assert nearest["form"] == ("from", 1)  # a transposition; farm is as near and less frequent
    assert nearest["horse"] == ("house", 1) and nearest["音乐"] == ("音符", 1)
    assert nearest["From"] == ("form", 1)  # not from
    assert all(nearest[word] is None for word in ("The", "ox", "ax", "2001", "电影"))
    assert output.look_alike(token.begin) is None and output.look_alike(token.id("unheard")) is None


def test_cosines_and_shares_are_those_of_the_model(task):
    data = picture_data(task, "look-alikes", TEXT)
    assert [(pair["word"], pair["look_alike"]) for pair in data["pairs"]] == [("horse", "house"), ("from", "form"), ("音乐", "音符")]
    ids = [task.tokenizer.id(word) for word in ("horse", "house")]
    weights = task.model.output_weight, task.model.vectors_from_characters(torch.arange(task.model.output_vocab))
    cosines = [float(torch.cosine_similarity(*(weight[ids] - weight.mean(0)), dim=0).detach()) for weight in weights]
    assert [data["pairs"][0][name] for name in ("cosine", "cosine_from_characters")] == pytest.approx(cosines, abs=1e-3)
    probabilities = task.model.predict(task.batch([task.tokenizer.encode(TEXT)]))[0, 1].softmax(-1)  # after The
    share = probabilities[ids[1]] / (probabilities[ids[0]] + probabilities[ids[1]])
    assert data["pairs"][0]["share"] == pytest.approx(float(share.detach()), abs=1e-3)


def test_characters_alone_confuse_more_than_corrected_vectors():
    task = run(correction_width=16)
    with torch.no_grad():
        task.model.output_correction.weight.normal_(0, 3, generator=torch.Generator().manual_seed(1))
    data = picture_data(task, "look-alikes", "from form farm house horse 音乐 音符")
    alone, corrected = (np.mean([pair[name] for pair in data["pairs"]]) for name in ("cosine_from_characters", "cosine"))
    assert alone > data["mean_cosine_from_characters"] + 0.2  # more similar than words that do not look alike
    assert corrected < alone - 0.2


def test_without_a_correction_both_are_the_same_and_the_picture_says_so():
    task = run(correction_width=0)
    data = picture_data(task, "look-alikes", TEXT)
    assert all(pair["cosine"] == pair["cosine_from_characters"] and pair["share"] == pair["share_from_characters"] for pair in data["pairs"])
    assert "with the correction" not in draw(task, "look-alikes", TEXT).to_dict()["vconcat"][0]["hconcat"][1]["title"]["text"]


def test_what_cannot_be_shown_is_said(task):
    with pytest.raises(BadInput, match="no word of the text looks like another word"):
        picture_data(task, "look-alikes", "The ox 2001")
    words = task.tokenizer.closed_tokenizer
    with pytest.raises(Unsupported, match="has no look-alikes to draw"):
        picture_data(BidirectionalLM(ELMo(ELMoConfig(words.vocab_size, **tiny("elmo"))), words), "look-alikes", TEXT)
