"""XLNet: in every order of the words a probability of the whole text, which no word of it helps to predict itself."""

import itertools
import math

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models.bert import XLNet
from stairs.models.settings import XLNetConfig
from stairs.text.batch import Batch
from stairs.text.special import BEGIN, END, MASK
from tests.support.tiny import noiseless

WORDS = range(5, 9)
VOCABULARY = WORDS.stop


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model = XLNet(XLNetConfig(vocab_size=VOCABULARY, **noiseless("xlnet"))).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, 0.0, 0.4)
    with torch.no_grad():
        model.word_head.bias[: WORDS.start] = -1e4  # special tokens are no words
    return model


def in_order(texts, order) -> Batch:
    """[CLS] text [SEP], and a [MASK] for each word, which attends to the words before it in the order: z_1 is predicted first."""
    count = len(order)
    rank = np.full(count + 2, -1)
    rank[1 + np.array(order)] = np.arange(count)
    mask = np.zeros((2 * count + 2, 2 * count + 2), bool)
    mask[: count + 2, : count + 2] = rank <= rank[:, None]
    mask[count + 2 :, : count + 2] = rank < rank[1:-1, None]
    ids = torch.tensor([[BEGIN, *text, END, *[MASK] * count] for text in texts])
    targets = torch.full_like(ids, -100)
    targets[:, count + 2 :] = torch.tensor(texts)
    position_ids = torch.tensor([*range(count + 2), *range(1, count + 1)]).expand_as(ids)
    attention_mask = torch.from_numpy(mask).expand(len(ids), -1, -1)
    return Batch(ids, torch.ones_like(ids, dtype=torch.bool), targets, position_ids=position_ids, attention_mask=attention_mask)


def log_probabilities(model, texts, order) -> torch.Tensor:
    return model.log_likelihood(in_order(texts, order)).sum(1)


ORDERS = list(itertools.permutations(range(3)))


@pytest.mark.parametrize("order", ORDERS)
def test_in_every_order_the_probabilities_of_all_texts_sum_to_one(model, order):
    texts = list(itertools.product(WORDS, repeat=3))
    assert math.isclose(float(log_probabilities(model, texts, order).exp().sum()), 1.0, rel_tol=1e-4)


def test_orders_differ_and_their_mean_is_the_objective(model):
    text = [5, 8, 6]
    each = torch.stack([log_probabilities(model, [text], order)[0] for order in ORDERS])
    assert each.std() > 1e-3
    batches = [in_order([text], order) for order in ORDERS]
    together = Batch(*(torch.cat([getattr(batch, name) for batch in batches]) for name in ("ids", "real", "targets")),
                     position_ids=torch.cat([batch.position_ids for batch in batches]),
                     attention_mask=torch.cat([batch.attention_mask for batch in batches]))  # fmt: skip
    assert torch.allclose(model.loss(together) * 3, -each.mean(), atol=1e-5)  # the mean over orders and the three words


def test_each_probability_is_that_of_the_words_known_so_far(model):
    """By hand: the words before it in the order, each attending to those before it, at their own positions, and a [MASK] at the place asked for."""
    text, order = [7, 5, 8], (2, 0, 1)
    found = model.log_likelihood(in_order([text], order))[0, 5:]
    for step, place in enumerate(order):
        known = [0, 4, *(1 + before for before in order[:step])]
        ids = torch.tensor([[*(([BEGIN, *text, END])[at] for at in known), MASK]])
        mask = torch.ones(len(known) + 1, len(known) + 1, dtype=torch.bool).tril()
        mask[:2, :2] = True
        mask[-1, -1] = False
        batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool), position_ids=torch.tensor([[*known, 1 + place]]), attention_mask=mask[None])
        assert torch.allclose(model.predict(batch)[0, -1].log_softmax(-1)[text[place]], found[place], atol=1e-5)


REFUSED = [
    ({"positions": "learned"}, "xlnet has the positions transformer-xl and not learned; leave the flag out, or train a bert"),
    ({"attention_pattern": "window"}, "the attention pattern full and not window"),
    ({"objective": "next-sentence"}, "the objective permutation or none and not next-sentence"),
]


@pytest.mark.parametrize(("settings", "sentence"), REFUSED)
def test_what_it_has_of_its_own_is_not_chosen(settings, sentence):
    with pytest.raises(BadInput, match=sentence):
        XLNetConfig(vocab_size=VOCABULARY, **settings)
