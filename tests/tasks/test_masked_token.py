"""What BERT is asked: words left out, pairs of sentences, other masks; and what it answers."""

import json
import math

import numpy as np
import pytest
import torch

from stairs.commands.ask import Ask, answer_options
from stairs.errors import BadInput, Unsupported
from stairs.inspection.layers import layer_encoder
from stairs.models.bert import BERT
from stairs.models.settings import BERTConfig
from stairs.tasks import TASKS, MaskedToken
from stairs.tasks.parts.blanks import BlankFiller
from stairs.tasks.parts.sentence_pairs import NEXT, SentencePairs, sentence_ends
from stairs.text.batch import IGNORE_INDEX
from stairs.text.corpus.corpus import Corpus
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import TokenizerSpec
from tests.support.tiny import noiseless

VOCABULARY = 99  # so many that only `mat` is cut, into two pieces
HOMES = {"cat": "mat", "dog": "hut", "bird": "tree", "fish": "lake", "unbelievable": "palace"}  # of each animal
SMALL = noiseless("bert", context=40, width=32)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """A document is about one animal and its home."""
    random = np.random.default_rng(0)
    documents = []
    for animal in random.choice(list(HOMES), 150):
        lines = [f"the {animal} sat on the {HOMES[animal]} .", f"so the {animal} slept there .", f"the {HOMES[animal]} was liked by the {animal} ."]
        documents.append("\n".join((lines * 3)[: random.integers(1, 8)]))
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_text("\n\n".join(documents))
    return build_shards(Corpus(folder / "text.txt"), TokenizerSpec("wordpiece", vocab_size=VOCABULARY), cache=folder)


def task_of(shards, **settings):
    return MaskedToken(BERT(BERTConfig(vocab_size=shards.tokenizer.vocab_size, **{**SMALL, **settings})), shards.tokenizer)


def batches(shards, epoch=0, seed=0, count=60, **settings):
    examples = task_of(shards, **settings).examples(shards)
    return examples, examples.batch(np.arange(min(count, len(examples.lengths))), epoch, seed)


def same(a, b):
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("ids", "real", "targets", "segments"))


# The words left out


def test_fresh_masks_in_every_epoch_by_a_pure_function(shards):
    examples, first = batches(shards)
    again = examples.batch(np.arange(60), 0, 0)
    assert same(first, again) and torch.equal(first.labels, again.labels)
    assert not same(first, examples.batch(np.arange(60), 1, 0)) and not same(first, examples.batch(np.arange(60), 0, 1))
    alone = examples.batch(np.array([7]), 0, 0)
    width = alone.ids.shape[1]
    assert torch.equal(alone.ids[0], first.ids[7, :width]) and torch.equal(alone.targets[0], first.targets[7, :width])


def test_most_are_hidden_some_swapped_some_stay(shards):
    examples = task_of(shards, objective="none", whole_word_masking=False).examples(shards)
    rows = [examples.batch(np.arange(len(examples.lengths)), epoch, 0) for epoch in range(30)]
    ids, targets = (torch.cat([getattr(row, name).flatten() for row in rows]) for name in ("ids", "targets"))
    has_target = targets != IGNORE_INDEX
    hidden, stayed = ids[has_target] == shards.tokenizer.mask, ids[has_target] == targets[has_target]
    assert float(hidden.float().mean()) == pytest.approx(0.8, abs=0.02)
    assert float(stayed.float().mean()) == pytest.approx(0.1 + 0.1 / shards.tokenizer.vocab_size, abs=0.015)
    assert not torch.isin(ids[has_target & (ids != shards.tokenizer.mask)], torch.tensor(sorted(shards.tokenizer.special_ids))).any()
    ordinary = sum(int((row.real & ~torch.isin(row.ids, torch.tensor([2, 3]))).sum()) for row in rows)
    assert int(has_target.sum()) / ordinary == pytest.approx(0.15, abs=0.02)


@pytest.mark.parametrize("objective", ["none", "next-sentence", "sentence-order", "prefix", "permutation"])
def test_every_word_left_out_is_a_mask_when_it_is_evaluated(shards, objective, monkeypatch):
    task, seen = task_of(shards, objective=objective, mask_token_share=0.3, random_share=0.3), []
    real = task.predict_masked
    monkeypatch.setattr(task, "predict_masked", lambda batch: seen.append(batch) or real(batch))
    evaluated = task.evaluate_split(shards, "train")
    for batch in seen:
        assert (batch.ids[batch.targets != IGNORE_INDEX] == shards.tokenizer.mask).all()
    assert len(seen) and evaluated["words"] == sum(int((batch.targets != IGNORE_INDEX).sum()) for batch in seen)


def test_models_of_any_masking_share_are_evaluated_on_the_same_words(shards):
    few, many = (task_of(shards, objective="none", mask_prob=share).examples(shards) for share in (0.15, 0.5))
    assert same(*(own.batch(np.arange(60), 0, 0, evaluating=True) for own in (few, many)))
    trained_on = [int((own.batch(np.arange(60), 0, 0).targets != IGNORE_INDEX).sum()) for own in (few, many)]
    assert trained_on[1] > 2 * trained_on[0]


def test_each_share_is_a_setting(shards):
    _, row = batches(shards, mask_prob=0.5, mask_token_share=0.0, random_share=0.0, objective="none")
    has_target = row.targets != IGNORE_INDEX
    assert torch.equal(row.ids[has_target], row.targets[has_target]) and int(has_target.sum()) / int(row.real.sum()) > 0.35


def test_a_word_is_left_out_with_all_its_pieces(shards):
    tokenizer = shards.tokenizer
    word = tokenizer.encode("mat")
    assert len(word) == 2
    partly = 0
    for full_text in (True, False):
        _, row = batches(shards, whole_word_masking=full_text, objective="none", mask_prob=0.3, count=500)
        gold = torch.where(row.targets == IGNORE_INDEX, row.ids, row.targets)
        has_target = row.targets != IGNORE_INDEX
        for at in range(gold.shape[1] - len(word) + 1):
            result = (gold[:, at : at + len(word)] == torch.tensor(word)).all(1)
            some, every = has_target[:, at : at + len(word)].any(1), has_target[:, at : at + len(word)].all(1)
            partly += int((result & some & ~every).sum()) if not full_text else 0
            assert not full_text or not (result & some & ~every).any()
    assert partly > 0


def test_chinese_words_are_left_out_whole(tmp_path):
    (tmp_path / "text.txt").write_text("\n\n".join("我在北京大学学习。\n北京是中国的首都。\n他们喜欢音乐。" for _ in range(30)))
    shards = build_shards(Corpus(tmp_path / "text.txt"), TokenizerSpec("wordpiece", vocab_size=60), cache=tmp_path)
    _, row = batches(shards, objective="none", mask_prob=0.3)
    first, second = shards.tokenizer.encode("音乐")
    gold, has_target = torch.where(row.targets == IGNORE_INDEX, row.ids, row.targets), row.targets != IGNORE_INDEX
    pairs = (gold[:, :-1] == first) & (gold[:, 1:] == second)
    assert (has_target[:, :-1][pairs] == has_target[:, 1:][pairs]).all() and has_target[:, :-1][pairs].any() and not has_target[:, :-1][pairs].all()


# The examples


def test_an_example_is_whole_sentences_of_one_document(shards):
    examples, row = batches(shards, mask_prob=0.01, mask_token_share=0.0, random_share=0.0, objective="none", count=500)
    documents = [document.tolist() for document in shards.documents("train")]
    texts = [" ".join(str(i) for i in document if i != 3) for document in documents]
    for ids, real in zip(row.ids, row.real, strict=True):
        inside = ids[real][1:-1].tolist()
        assert ids[real][0] == 2 and ids[real][-1] == 3
        assert any(" ".join(map(str, inside)) in text for text in texts)
    assert (examples.lengths <= SMALL["context"]).all() and [int(n) for n in row.real.sum(1)] == examples.lengths[: len(row.ids)].tolist()


def test_pairs_fill_the_context_and_some_are_short_on_purpose(tmp_path):
    (tmp_path / "text.txt").write_text("\n\n".join("\n".join("a b c d e f g h" for _ in range(200)) for _ in range(10)))
    shards = build_shards(Corpus(tmp_path / "text.txt"), TokenizerSpec("words"), cache=tmp_path)
    full = task_of(shards, short_seq_prob=0.0).examples(shards).lengths
    assert (full == 40).mean() > 0.9
    some = task_of(shards, short_seq_prob=0.5).examples(shards).lengths
    assert 0.3 < (some < 40).mean() < 0.6 and some.min() >= 5


def test_half_of_the_second_parts_come_from_another_document(shards):
    examples = task_of(shards, short_seq_prob=0.0).examples(shards)
    labels = torch.cat([examples.batch(np.arange(len(examples.lengths)), epoch, 0).labels for epoch in range(10)])
    assert float(labels.float().mean()) == pytest.approx(0.5, abs=0.06)
    texts = [" ".join(str(i) for i in document.tolist() if i != 3) for document in shards.documents("train")]
    together = {NEXT: 0, 1 - NEXT: 0}
    for n in range(len(examples.lengths)):
        parts, label = examples.parts(n, np.random.default_rng(n))
        first, second = (" ".join(map(str, part.tolist())) for part in parts)
        assert len(parts[0]) and len(parts[1]) and len(parts[0]) + len(parts[1]) + 3 <= SMALL["context"]
        together[label] += any(f"{first} {second}" in text for text in texts)
        assert label != NEXT or any(f"{first} {second}" in text for text in texts) or len(parts[0]) + len(parts[1]) + 3 == SMALL["context"]
    assert together[1 - NEXT] < 0.2 * together[NEXT]


def test_segments_tell_the_parts_apart(shards):
    _, row = batches(shards)
    for ids, real, segments in zip(row.ids, row.real, row.segments, strict=True):
        first = int((ids[real] == shards.tokenizer.end).nonzero()[0]) + 1
        assert (segments[real][:first] == 0).all() and (segments[real][first:] == 1).all() and ids[real][-1] == shards.tokenizer.end


def test_sentence_order_exchanges_half(shards):
    examples = task_of(shards, objective="sentence-order", short_seq_prob=0.0).examples(shards)
    texts = [" ".join(str(i) for i in document.tolist() if i != 3) for document in shards.documents("train")]
    seen = []
    for n in range(len(examples.lengths)):
        parts, label = examples.parts(n, np.random.default_rng(n))
        a, b = parts if label == NEXT else parts[::-1]
        if len(a) + len(b) < SMALL["context"] - 3:
            assert any(" ".join(map(str, [*a.tolist(), *b.tolist()])) in text for text in texts)
        seen.append(label)
    assert 0.3 < np.mean(seen) < 0.7


def test_a_prefix_is_known_and_the_rest_read_on(shards):
    task = task_of(shards, objective="prefix")
    row = task.examples(shards).batch(np.arange(20), 0, 0)
    assert row.labels is None and task.model.config.output_heads == ("words",)
    for attention, segments, real in zip(row.attention_mask, row.segments, row.real, strict=True):
        known, length = int((segments[real] == 0).sum()), int(real.sum())
        inside = attention[:length, :length]
        assert inside[:, :known].all() and not inside[:known, known:].any()
        assert torch.equal(inside[known:, known:], torch.ones(length - known, length - known, dtype=torch.bool).tril())


def test_in_a_permutation_nobody_sees_what_comes_later(shards):
    task = task_of(shards, objective="permutation", mask_prob=0.3)
    row = task.examples(shards).batch(np.arange(12), 0, 0)
    model = task.model.eval()
    for n in range(12):
        length = int(row.real[n].sum())
        has_target = (row.targets[n, :length] != IGNORE_INDEX).nonzero()[:, 0]
        begin = int(has_target[0])  # the row itself; behind it a [MASK] for each word that is asked for
        assert (row.ids[n, has_target] == shards.tokenizer.mask).all()
        assert torch.equal(row.targets[n, has_target], row.ids[n, row.position_ids[n, has_target]])
        assert not row.attention_mask[n, :length, begin:length].any()  # nobody looks at them
        one = type(row)(row.ids[n : n + 1, :length], row.real[n : n + 1, :length], position_ids=row.position_ids[n : n + 1, :length],
                        segments=row.segments[n : n + 1, :length], attention_mask=row.attention_mask[n : n + 1, :length, :length])  # fmt: skip
        before = model.encode(one)[0, has_target]
        for number, place in enumerate(row.position_ids[n, has_target].tolist()):
            changed = one.ids.clone()
            changed[0, place] = 5 + (int(changed[0, place]) - 4) % 50
            after = model.encode(type(row)(changed, one.real, position_ids=one.position_ids, segments=one.segments,
                attention_mask=one.attention_mask))[0, has_target]
            assert torch.equal(before[number], after[number])  # the word itself is not seen by its own blank


def test_a_part_without_a_token_is_refused(shards):
    with pytest.raises(BadInput, match="test split of the corpus has no tokens"):
        SentencePairs(np.array([3, 2], np.uint16), BERTConfig(vocab_size=99, **SMALL), shards.tokenizer, split="test")
    closed, closing = sentence_ends(np.array([7, 8, 3, 9, 2, 5, 2], np.uint16))
    assert closed.tolist() == [2, 4, 6] and closing.tolist() == [False, True, True]


def test_one_short_document_is_enough(tmp_path):
    (tmp_path / "text.txt").write_text("a b c .\n\nd e .\n\nf g .")
    shards = build_shards(Corpus(tmp_path / "text.txt"), TokenizerSpec("words"), cache=tmp_path)
    for objective in ("next-sentence", "none", "sentence-order", "prefix", "permutation"):
        task = task_of(shards, objective=objective)
        total, count = task.training_loss(task.examples(shards).batch(np.array([0]), 0, 0))
        assert count >= 1 and math.isfinite(float(total.detach()))
        assert task.evaluate_split(shards)["words"] >= 1


# Learning and judging


def taught(shards, steps, **settings):
    task = task_of(shards, width=64, heads=4, mask_prob=0.25, **settings)
    task.start(0)
    with torch.no_grad():
        for name, weight in task.trained_module.named_parameters():
            is_small = name.startswith("blocks") and name.endswith(("value.weight", "attention.output.weight"))
            weight.mul_(5 if is_small else 1)  # BERT's first weights are for wider models, and this one has little time
    examples = task.examples(shards)
    optimizer = torch.optim.AdamW(task.trained_module.parameters(), 5e-3, betas=(0.9, 0.98))
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 50, 1 - step / steps))
    for step in range(steps):
        total, count = task.training_loss(examples.batch(np.random.default_rng(step).integers(0, len(examples.lengths), 32), step, 0))
        optimizer.zero_grad()
        (total / count).backward()
        optimizer.step()
        falling.step()
    task.model.eval()
    return task


@pytest.fixture(scope="module")
def trained(shards):
    return taught(shards, 400, objective="none")


@pytest.fixture(scope="module")
def judging(shards):
    return taught(shards, 300, short_seq_prob=0.0)


def test_it_learns_words(shards, trained):
    untrained = task_of(shards).evaluate_split(shards, "test")
    measured = trained.evaluate_split(shards, "test")
    assert measured["loss"]["value"] < 0.3 * untrained["loss"]["value"]
    assert measured["masked_accuracy"]["value"] > 0.6 > untrained["masked_accuracy"]["value"]
    assert measured["perplexity"]["value"] == pytest.approx(math.exp(measured["loss"]["value"]))
    for name in ("loss", "perplexity", "masked_accuracy"):
        assert measured[name]["low"] <= measured[name]["value"] <= measured[name]["high"]
    assert measured == trained.evaluate_split(shards, "test")
    assert trained.monitor in measured and "?]" in trained.sample(1)
    json.dumps(measured)


def test_it_learns_pairs(shards, judging):
    result = judging.evaluate_split(shards, "train")["next_sentence_accuracy"]
    assert result["value"] > 0.6 and result["low"] <= result["value"] <= result["high"]


def test_a_part_of_the_held_out_text_is_like_the_whole(shards, trained):
    full_text, part = trained.evaluate_split(shards, "train"), trained.evaluate_split(shards, "train", 1000)
    assert part["words"] < full_text["words"] and part["tokens"] == full_text["tokens"]
    assert part["loss"]["value"] == pytest.approx(full_text["loss"]["value"], rel=0.5)


def test_any_text_can_be_evaluated(trained):
    measured = trained.evaluate_texts(["the cat sat on the mat .\nso the cat slept there ."])
    assert 0 <= measured["masked_accuracy"]["value"] <= 1 and measured["words"] >= 1


def test_saved_and_opened_it_answers_the_same(trained, tmp_path):
    trained.save(tmp_path)
    described = json.loads((tmp_path / "config.json").read_text())
    again = TASKS[described["task"]].open(tmp_path, described)
    assert described["config"]["mask_prob"] == 0.25 and again.pieces == trained.pieces and again.model.config == trained.model.config
    assert again.answer("the cat ___ on the mat .") == trained.answer("the cat ___ on the mat .")


# Answers


@pytest.mark.parametrize("blank", ["___", "_____", "[MASK]", "[BLANK]"])
def test_a_blank_is_filled_with_ranked_words(trained, blank):
    result = trained.answer(f"the cat {blank} on the mat .", top=5)
    words = result["blanks"][0]["words"]
    assert result["filled"] == "the cat sat on the mat ." and words[0]["word"] == "sat"
    assert [word["probability"] for word in words] == sorted((word["probability"] for word in words), reverse=True) and len(words) == 5
    assert 0 < sum(word["probability"] for word in words) <= 1.0001
    json.dumps(result)


def test_several_blanks_are_all_filled(trained):
    result = trained.answer("the ___ sat on the ___ .\nso the ___ slept there .".replace("\n", " "))
    words = result["filled"].split()
    assert len(result["blanks"]) == 3 and words[1] in HOMES and words[9] in HOMES and words[5] in (*HOMES.values(), "hu")


def test_a_word_of_several_pieces_fills_a_blank(trained):
    words = trained.answer("the cat sat on the ___ . so the cat slept there .", top=20)["blanks"][0]["words"]
    several = [word for word in words if word["pieces"] > 1]
    assert several[0]["word"] == "mat" and several[0]["pieces"] == 2 and several[0]["probability"] > 2 * several[1]["probability"]
    assert not any("##" in word["word"] for word in words)
    assert all(word["pieces"] == 1 for word in trained.answer("the dog sat on the ___ .", pieces=1)["blanks"][0]["words"])


def test_special_tokens_in_a_text_are_ordinary_text(trained):
    result = trained.answer("the [SEP] [CLS] cat ___ on the mat .")
    row, _ = BlankFiller(trained, 1, "window").row(["the [SEP] [CLS] cat ", " on the mat ."])
    assert row.count(trained.tokenizer.end) == 1 and row.count(trained.tokenizer.mask) == 1
    assert result["filled"].startswith("the [SEP] [CLS] cat ")


def test_a_text_without_a_blank_is_refused(trained):
    with pytest.raises(BadInput, match=r"there is no blank in .*; mark one as ___ or \[MASK\]"):
        trained.answer("the cat sat on the mat .")


def test_a_long_text_is_read_around_its_blank_and_it_is_said(trained):
    long = "the cat sat on the mat . so the cat slept there . the mat was liked by the cat . " * 8
    result = trained.answer(long + "the cat ___ on the mat . so the cat slept there . " + long)
    assert "sat" in [word["word"] for word in result["blanks"][0]["words"]] and "more than the 38 that fit" in result["truncation"]
    trained.long_text = "tail"
    try:
        with pytest.raises(BadInput, match="without 1 of its blanks"):
            trained.answer(long + "the cat ___ on the mat . " + long)
        assert "the tail was read" in trained.answer(long + "the cat ___ on the mat .")["truncation"]
    finally:
        del trained.long_text
    with pytest.raises(BadInput, match="of its blanks"):
        trained.answer("___ " + long + "___")


def test_a_verdict_on_two_sentences(judging):
    right = judging.sentence_pair("the cat sat on the mat .", "so the cat slept there .")
    wrong = judging.sentence_pair("the cat sat on the mat .", "the lake was liked by the fish .")
    assert right["next_sentence_probability"] > wrong["next_sentence_probability"]
    assert right["verdict"] in ("follows", "does not follow")
    assert "end of the first" in judging.sentence_pair("the cat sat . " * 20, "the dog sat . " * 20)["truncation"]
    with pytest.raises(BadInput, match="no tokens"):
        judging.sentence_pair("", "the cat .")


def test_a_model_without_pairs_says_so(shards):
    with pytest.raises(Unsupported, match="--objective next-sentence"):
        task_of(shards, objective="none").sentence_pair("the cat .", "the dog .")


def test_pseudo_likelihood_leaves_each_token_out_once(trained):
    result = trained.pseudo_log_likelihood("the cat sat on the mat .")
    assert result["pseudo_log_likelihood"] == pytest.approx(sum(token["log_probability"] for token in result["tokens"]))
    assert "not the probability" in result["measure"]
    probability = trained.answer("the cat ___ on the mat .", pieces=1)["blanks"][0]["words"][0]["probability"] / trained.pieces[0]
    assert math.exp(result["tokens"][2]["log_probability"]) == pytest.approx(probability, rel=1e-4)
    assert result["pseudo_log_likelihood"] > trained.pseudo_log_likelihood("mat the on the sat cat .")["pseudo_log_likelihood"]
    with pytest.raises(Unsupported, match="gives no probability"):
        trained.log_probability("the cat .")
    with pytest.raises(BadInput, match="give a shorter text"):
        trained.pseudo_log_likelihood("the cat " * 30)


def test_vectors_of_any_layer_and_of_long_texts(trained):
    text = "the cat sat on the mat ."
    (tokens, last), (_, first) = (next(iter(trained.token_vectors([text], encode))) for encode in (None, layer_encoder(trained.model, 0)))
    assert tokens == trained.tokenizer.tokens(text) and last.shape == first.shape == (len(tokens), 64) and not np.allclose(last, first)
    assert np.allclose(next(iter(trained.token_vectors([text], layer_encoder(trained.model, -1))))[1], last, atol=1e-5)
    long = text + " so the cat slept there ." * 30
    result = next(iter(trained.token_vectors([long])))
    assert len(result[0]) == len(result[1]) == len(trained.tokenizer.encode(long))
    assert trained.vectors([text, long]).shape == (2, 64)
    trained.long_text = "head"
    try:
        assert len(next(iter(trained.token_vectors([long])))[0]) == 38
    finally:
        del trained.long_text


# Answers as people read them


def test_each_kind_of_answer_has_a_summary(trained, judging):
    filled = trained.summary(trained.answer("the cat ___ on the mat .", top=2)).split("\n")
    assert filled[0] == "the cat sat on the mat ." and filled[1].startswith("  sat ") and filled[1].count("%") == 2
    follows = judging.answer("the cat sat on the mat .", second="so the cat slept there .")
    assert "probability that it follows" in judging.summary(follows)
    assert trained.summary(trained.answer("the cat sat .", likelihood=True)).startswith("pseudo-log-likelihood -")


def test_an_option_that_a_task_does_not_have_is_an_error(trained):
    with pytest.raises(TypeError, match="unexpected keyword argument 'beam_size'"):
        trained.answer("the cat ___ .", beam_size=4)
    with pytest.raises(Unsupported, match="--beam-size means nothing to run, a masked-token run of bert; it takes --top, --second, --likelihood"):
        answer_options(trained, Ask("run", beam_size=4))
    assert answer_options(trained, Ask("run", likelihood=True)) == {"likelihood": True}


def test_a_text_of_three_lines_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "three.txt").write_text("a b c\nd e f\ng h i\n")
    result = build_shards(Corpus(tmp_path / "three.txt"), TokenizerSpec("wordpiece", vocab_size=VOCABULARY), cache=tmp_path)
    with pytest.raises(BadInput, match="too short to mask a word in it; give a longer one"):
        task_of(result).evaluate_split(result)
