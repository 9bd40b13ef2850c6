"""XLNet: in every order of the words a probability of the whole text, which no word of it helps to predict itself."""

import itertools
import math

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.models.bert import XLNet
from stairs.models.settings import XLNetConfig
from stairs.randomness import numpy_generator
from stairs.tasks.parts.sentence_pairs import SentencePairs
from stairs.text.batch import Batch
from stairs.text.special import BEGIN, END, MASK
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
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


def memory_rows(memory, documents=3, objective="permutation"):
    """Rows of a model with a memory, from documents of sentences of six words."""
    ids = []
    for document in range(documents):
        for sentence in range(9):
            ids += [*(5 + (7 * document + sentence + word) % 30 for word in range(6)), END]
        ids[-1] = BEGIN
    config = XLNetConfig(vocab_size=40, **noiseless("xlnet", context=16, memory=memory, objective=objective))
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [[" ".join(f"w{number}" for number in range(35))]])
    return SentencePairs(np.array(ids), config, tokenizer)


@pytest.mark.parametrize("objective", ["permutation", "none"])
def test_the_memory_is_what_stands_before_the_row_in_its_document(objective):
    rows = memory_rows(8, objective=objective)
    stream = rows.ids[~np.isin(rows.ids, (BEGIN, END))].tolist()
    sizes = []
    for number in range(len(rows.lengths)):
        row = rows.example(number, numpy_generator(0, "row", number), evaluating=True)
        original = np.where(row.targets == -100, row.ids, row.targets)
        text = original[row.memory + 1 : row.ids.tolist().index(END)]  # between [CLS] and [SEP]
        read = [*row.ids[: row.memory].tolist(), *text.tolist()]
        starts = [at for at in range(len(stream)) if stream[at : at + len(read)] == read]
        assert starts and row.position_ids[: row.memory].tolist() == list(range(-row.memory, 0))
        assert not row.attention_mask[: row.memory, row.memory :].any() and row.attention_mask[:, : row.memory].all()
        sizes.append(row.memory)
    assert max(sizes) == 8 and sizes.count(0) == 3  # a document begins without one


def test_no_gradient_reaches_the_memory_and_its_padding_changes_nothing():
    rows = memory_rows(8)
    model = XLNet(XLNetConfig(vocab_size=40, **noiseless("xlnet", context=16, memory=8))).eval()
    numbers = np.arange(len(rows.lengths))
    together = rows.batch(numbers, 0, 0)
    assert not together.real[:, 0].all()  # shorter memories are padded
    alone = torch.cat([model.log_likelihood(rows.batch(numbers[n : n + 1], 0, 0)).sum(1) for n in numbers])
    assert torch.allclose(model.log_likelihood(together).sum(1), alone, atol=1e-4)
    assert torch.isclose(model.loss(together), -alone.sum() / (together.targets != -100).sum(), atol=1e-4)  # apart from the row, and in one
    model.tokens.weight.requires_grad_(True)
    only_before = sorted({int(token) for token in together.ids[:, :8].flatten()} - {int(token) for token in together.ids[:, 8:].flatten()})
    hidden = model.encode(together)
    hidden[:, 8:].sum().backward()
    assert model.tokens.weight.grad[only_before].abs().sum() == 0 and model.tokens.weight.grad.abs().sum() > 0


def test_a_memory_that_no_document_can_fill_is_refused():
    with pytest.raises(BadInput, match=r"a memory of 60 tokens is never full: no row of the training text has more than \d+ before it"):
        memory_rows(60)
