"""XLNet gives the vectors and the logits of transformers' XLNet on its weights: one stream, two streams, segments, padding and memory."""

import re

import numpy as np
import pytest
import torch

from stairs.errors import BadInput, Unsupported
from stairs.formats.huggingface import transformers_folder
from stairs.models.bert import XLNet
from stairs.models.settings import XLNetConfig
from stairs.randomness import numpy_generator
from stairs.tasks import MaskedToken
from stairs.tasks.parts.document_memory import prepend_memory
from stairs.tasks.parts.masking import MaskingExample, collate_pairs
from stairs.tasks.parts.other_objectives import permute
from stairs.text.batch import IGNORE_INDEX, Batch
from stairs.text.special import BEGIN, END, MASK
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from tests.formats.folders import TEXTS, change_json, far, vocabulary
from tests.reference.test_transformers import near, written

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.reference
VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 40, 24, 3, 3, 11


@pytest.fixture(scope="module")
def both():
    settings = {"vocab_size": VOCABULARY, "d_model": WIDTH, "n_head": HEADS, "n_layer": LAYERS, "d_inner": 32, "dropout": 0.0}
    theirs = transformers.XLNetLMHeadModel(transformers.XLNetConfig(**settings, ff_activation="gelu")).eval()
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.normal_(0, 0.4, generator=random)
    ours = XLNet(XLNetConfig(VOCABULARY, context=32, width=WIDTH, heads=HEADS, layers=LAYERS, feed_forward=32, dropout=0.0)).eval()
    ours.restore(our_tensors(theirs))
    return ours, theirs


def our_tensors(theirs) -> dict[str, torch.Tensor]:
    body, weights = theirs.transformer, {}
    weights["tokens.weight"], weights["word_head.bias"] = body.word_embedding.weight, theirs.lm_loss.bias
    weights["mask_vector.weight"] = body.mask_emb[0]
    for number, layer in enumerate(body.layer):
        attention, block = layer.rel_attn, f"blocks.{number}."
        u = attention.r_w_bias
        for name, matrix in {"query": attention.q, "key": attention.k, "value": attention.v}.items():
            weights[f"{block}attention.{name}.weight"] = matrix.flatten(1).T  # (D, H, D/H)
            weights[f"{block}attention.{name}.bias"] = u.flatten() if name == "query" else torch.zeros(WIDTH)
        weights[f"{block}attention.output.weight"], weights[f"{block}attention.output.bias"] = attention.o.flatten(1), torch.zeros(WIDTH)
        weights[f"{block}attention.positions.projection.weight"] = attention.r.flatten(1).T
        weights[f"{block}attention.positions.position_bias.weight"] = attention.r_r_bias - u
        weights[f"{block}attention.positions.segment_bias.weight"] = attention.r_s_bias - u
        weights[f"{block}attention.positions.segment_vectors.weight"] = attention.seg_embed.flatten(0, 1)
        for kind in ("weight", "bias"):
            weights[f"{block}attention_norm.{kind}"] = getattr(attention.layer_norm, kind)
            weights[f"{block}feed_forward_norm.{kind}"] = getattr(layer.ff.layer_norm, kind)
            weights[f"{block}feed_forward.inner.{kind}"] = getattr(layer.ff.layer_1, kind)
            weights[f"{block}feed_forward.outer.{kind}"] = getattr(layer.ff.layer_2, kind)
    return {name: weight.detach().clone() for name, weight in weights.items()}


@torch.no_grad()
def test_vectors_and_logits_of_one_stream(both):
    ours, theirs = both
    ids = torch.randint(5, VOCABULARY, (2, LENGTH), generator=torch.Generator().manual_seed(1))
    real = torch.ones_like(ids, dtype=torch.bool)
    real[1, 7:] = False
    segments = torch.zeros_like(ids)
    segments[:, 5:] = 1
    batch = Batch(ids, real, segments=segments)
    expected = theirs.transformer(ids, attention_mask=real.float(), token_type_ids=segments, use_mems=False).last_hidden_state
    assert torch.allclose(ours.encode(batch)[real], expected[real], atol=1e-4)
    logits = theirs(ids, attention_mask=real.float(), token_type_ids=segments, use_mems=False).logits
    assert torch.allclose(ours.predict(batch)[real], logits[real], atol=1e-4)
    other = theirs(ids, attention_mask=real.float(), token_type_ids=torch.zeros_like(ids), use_mems=False).logits
    assert not torch.allclose(logits[real], other[real], atol=1e-2)  # segments matter


@torch.no_grad()
def test_logits_of_two_streams(both):
    """Our second stream, appended tokens, beside theirs: perm_mask and target_mapping."""
    ours, theirs = both
    random = np.random.default_rng(2)
    ids = np.array([BEGIN, *random.integers(5, VOCABULARY, LENGTH - 2), END])
    segments = (np.arange(LENGTH) > 6).astype(np.int64)
    positions = np.array([2, 5, 6, 8])
    words = np.array([-1, *range(LENGTH - 2), -1])
    row = permute(MaskingExample(ids, words, segments), positions, MASK, numpy_generator(0, "order"))
    batch = Batch(
        torch.from_numpy(row.ids)[None], torch.ones(1, len(row.ids), dtype=torch.bool), torch.from_numpy(row.targets)[None],
        torch.from_numpy(row.segments)[None], position_ids=torch.from_numpy(row.position_ids)[None],
        attention_mask=torch.from_numpy(row.attention_mask)[None],
    )  # fmt: skip
    hidden_from = ~torch.from_numpy(row.attention_mask)  # 1 in their masks is what cannot be seen
    perm_mask = hidden_from[:LENGTH, :LENGTH].float()
    perm_mask[torch.from_numpy(positions)] = hidden_from[LENGTH:, :LENGTH].float()  # no word sees itself; their first stream always does
    mapping = torch.zeros(1, len(positions), LENGTH)
    mapping[0, torch.arange(len(positions)), torch.from_numpy(positions)] = 1
    segments_tensor = torch.from_numpy(segments)[None]
    logits = theirs(
        torch.from_numpy(ids)[None], perm_mask=perm_mask[None], target_mapping=mapping, token_type_ids=segments_tensor, use_mems=False
    ).logits
    assert torch.allclose(ours.predict(batch)[0, LENGTH:], logits[0], atol=1e-4)
    targets = batch.targets[0, LENGTH:]
    assert (targets != IGNORE_INDEX).all()
    expected = logits[0].log_softmax(-1).gather(-1, targets[:, None])[:, 0]
    assert torch.allclose(ours.log_likelihood(batch)[0, LENGTH:], expected, atol=1e-4)


@torch.no_grad()
def test_a_memory_is_their_mems(both):
    """Two streams after a row that was read before: their `mems`, our tokens at negative positions."""
    ours, theirs = both
    random = np.random.default_rng(3)
    before, ids = random.integers(5, VOCABULARY, 6), np.array([BEGIN, *random.integers(5, VOCABULARY, LENGTH - 2), END])
    segments, positions, words = (np.arange(LENGTH) > 6).astype(np.int64), np.array([1, 4, 9]), np.array([-1, *range(LENGTH - 2), -1])
    row = permute(MaskingExample(ids, words, segments), positions, MASK, numpy_generator(0, "order"))
    hidden_from = ~torch.from_numpy(row.attention_mask)
    perm_mask = hidden_from[:LENGTH, :LENGTH].float()
    perm_mask[torch.from_numpy(positions)] = hidden_from[LENGTH:, :LENGTH].float()
    mapping = torch.zeros(1, len(positions), LENGTH)
    mapping[0, torch.arange(len(positions)), torch.from_numpy(positions)] = 1
    theirs.transformer.mem_len = 6
    mems = theirs(torch.from_numpy(before)[None], use_mems=True).mems
    given = {"token_type_ids": torch.from_numpy(segments)[None], "mems": mems, "use_mems": True}
    expected = theirs(torch.from_numpy(ids)[None], perm_mask=perm_mask[None], target_mapping=mapping, **given).logits[0]
    without = theirs(torch.from_numpy(ids)[None], perm_mask=perm_mask[None], target_mapping=mapping, use_mems=False).logits[0]
    batch = collate_pairs([prepend_memory(row, before)], 0)
    assert torch.allclose(ours.predict(batch)[0, -3:], expected, atol=1e-4) and not torch.allclose(expected, without, atol=1e-2)
    with torch.enable_grad():  # while training, the memory is computed apart
        assert torch.allclose(ours.predict(batch)[0, -3:], expected, atol=1e-4)


def pretrained(**settings):
    tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=90), lambda: [TEXTS * 9])
    config = XLNetConfig(tokenizer.vocab_size, context=40, width=WIDTH, heads=HEADS, layers=LAYERS, dropout=0.0, mask=tokenizer.mask, **settings)
    return MaskedToken(far(XLNet(config)), tokenizer)


def test_a_written_folder_opens_there_with_equal_logits_and_comes_back(tmp_path):
    task = pretrained(memory=7)
    theirs = written(task, tmp_path / "folder", "AutoModelForCausalLM")
    assert type(theirs).__name__ == "XLNetLMHeadModel" and theirs.config.mem_len == 7
    given = transformers.AutoTokenizer.from_pretrained(tmp_path / "folder")(TEXTS, padding=True, return_tensors="pt")
    batch = Batch(given["input_ids"], given["attention_mask"].bool(), segments=given["token_type_ids"])
    assert near(task.model.predict(batch)[batch.real], theirs(**given).logits[batch.real])
    pairs = transformers.AutoTokenizer.from_pretrained(tmp_path / "folder")(TEXTS, TEXTS[::-1], padding=True, return_tensors="pt")
    batch = Batch(pairs["input_ids"], pairs["attention_mask"].bool(), segments=pairs["token_type_ids"])
    assert near(task.model.predict(batch)[batch.real], theirs(**pairs).logits[batch.real])
    again = transformers_folder.read(tmp_path / "folder")
    assert again.name == "masked-token" and again.model.config == task.model.config
    for name, tensor in task.model.tensors().items():
        assert near(again.model.tensors()[name], tensor), name
    blank = "the cat ___ on the mat"
    assert again.answer(blank, top=3)["blanks"][0]["words"][0]["word"] == task.answer(blank, top=3)["blanks"][0]["words"][0]["word"]


@pytest.mark.parametrize("kind", ["XLNetLMHeadModel", "XLNetModel", "XLNetForSequenceClassification"])
def test_their_folder_is_adopted_with_equal_outputs(tmp_path, kind):
    size = vocabulary(tmp_path)
    settings = {"vocab_size": size, "d_model": WIDTH, "n_head": HEADS, "n_layer": LAYERS, "d_inner": 32, "ff_activation": "gelu", "pad_token_id": 0}
    theirs = far(getattr(transformers, kind)(transformers.XLNetConfig(**settings)))
    theirs.save_pretrained(tmp_path)
    if kind == "XLNetForSequenceClassification":
        with pytest.raises(Unsupported, match="XLNetLMHeadModel, XLNetModel can be adopted as they are, or adopt its encoder alone with --encoder"):
            transformers_folder.read(tmp_path)
    task = transformers_folder.read(tmp_path, encoder_only=kind == "XLNetForSequenceClassification")
    assert (task.name, task.model_name) == ("masked-token" if kind == "XLNetLMHeadModel" else "encode", "xlnet")
    assert task.model.config.mask == task.tokenizer.mask == 5 and task.model.config.context == 512
    ids = torch.randint(6, size, (2, LENGTH), generator=torch.Generator().manual_seed(1))
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool))
    body = theirs if kind == "XLNetModel" else theirs.transformer
    assert near(task.model.encode(batch), body(ids, use_mems=False).last_hidden_state)
    if kind == "XLNetLMHeadModel":
        assert near(task.model.predict(batch), theirs(ids, use_mems=False).logits)
        assert near(task.model.mask_vector.weight, theirs.transformer.mask_emb[0])


def test_a_sentencepiece_tokenizer_is_refused(tmp_path):
    written(pretrained(), tmp_path / "folder", "AutoModelForCausalLM")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (tmp_path / "folder" / name).unlink()
    (tmp_path / "folder" / "spiece.model").write_bytes(b"pieces")
    with pytest.raises(Unsupported, match=r"spiece\.model is a SentencePiece tokenizer, whose model cannot be adopted"):
        transformers_folder.read(tmp_path / "folder")


REFUSED = [
    ({"attn_type": "uni"}, "attn_type is 'uni', and XLNet has bi"),
    ({"clamp_len": 8}, "clamp_len is 8, and XLNet has -1"),
    ({"untie_r": False}, "untie_r is False, and XLNet has True"),
    ({"ff_activation": "silu"}, "ff_activation 'silu' is not one of"),
    ({"n_head": 0}, "n_head is 0, not a positive whole number"),
    ({"n_layer": 9}, "is missing"),
    ({"stairs": 3}, "stairs is 3, not the settings of a run"),
]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_what_is_not_their_usual_xlnet_is_refused(tmp_path, changes, sentence):
    written(pretrained(), tmp_path / "folder", "AutoModelForCausalLM")
    change_json(tmp_path / "folder" / "config.json", **changes)
    with pytest.raises((BadInput, Unsupported), match=re.escape(sentence)):
        transformers_folder.read(tmp_path / "folder")


def test_a_run_that_they_cannot_hold_is_refused(tmp_path):
    for name, value in (("score", "dot"), ("activation", "none")):
        with pytest.raises(Unsupported, match=f"the {name} {value} has no counterpart"):
            transformers_folder.write(pretrained(**{name: value}), tmp_path)
    task = pretrained()
    task.model.blocks[0].attention.value.bias.fill_(1)
    with pytest.raises(Unsupported, match="biases in its attention"):
        transformers_folder.write(task, tmp_path)
