"""Mixes of layers, and readers of words beside them."""

import dataclasses

import numpy as np
import pytest
import torch

from stairs.commands.tune import mix_lines
from stairs.errors import BadInput, Unsupported
from stairs.formats.huggingface.task_heads import exported_head
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import TASKS, BidirectionalLM, Sense
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.tasks.parts.layer_mix import FeatureExtractor, ScalarMix, select_layers
from stairs.text.batch import Batch
from stairs.text.examples import SenseSentence
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.gradients import GradientUpdater
from stairs.training.options import TrainingOptions
from stairs.training.run import load
from tests.support.small_world import SENTENCES, encoder, examples, new_task

QUICK = TrainingOptions(steps=8, batch_examples=8, learning_rate=0.02, precision="fp32", patience=0)


@pytest.fixture(scope="module")
def words():
    return Tokenizer.train(TokenizerSpec("words"), lambda: [SENTENCES])


@pytest.fixture
def elmo(words):
    return BidirectionalLM(encoder("elmo", words), words)


def test_a_mix_begins_as_the_mean_and_is_scaled_as_a_whole():
    layers = torch.randn(2, 5, 3, 4)
    mix = ScalarMix(3, TransferOptions())
    assert torch.allclose(mix(layers), layers.mean(2), atol=1e-6)
    with torch.no_grad():
        mix.s.copy_(torch.tensor([0.0, 50.0, 0.0]))
        mix.gamma.fill_(2.0)
    assert torch.allclose(mix(layers), 2 * layers[:, :, 1], atol=1e-5)


def test_which_layers(elmo, words):
    model = elmo.model
    assert select_layers(None, model) == select_layers("all", model) == [0, 1, 2]
    assert (select_layers("last", model), select_layers("1", model), select_layers("0,-1", model)) == ([2], [1], [0, 2])
    bert = encoder("bert", words)
    assert select_layers(None, bert) is None and select_layers("all", bert) == [0, 1]
    for layers, message in (("3", "no layer 3; it has 3"), ("0,5", "no layer 5"), ("top", "names no layers"), ("1.5", "names no layers")):
        with pytest.raises(BadInput, match=message):
            select_layers(layers, model)
    with pytest.raises(BadInput, match="one vector for each token"):
        select_layers("1", encoder("cbow", words))


@pytest.mark.parametrize("example_kind", ["classify", "compare", "tag", "span"])
@pytest.mark.parametrize(("step", "way"), [("elmo", "features"), ("elmo", "frozen"), ("bert", "features"), ("bert", "full"), ("cove", "features")])
def test_a_mix_is_learnt_with_the_task_and_kept(step, way, example_kind, words, tmp_path):
    train = examples(example_kind)
    task = new_task(example_kind, encoder(step, words), words, train, transfer=way, layers="all")
    measured = fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / "run", QUICK)
    again = load(tmp_path / "run")
    result = again.detailed_metrics(train[40:])
    (mix,) = result["mix"]
    assert sum(mix["layers"].values()) == pytest.approx(1) and len(set(mix["layers"].values())) > 1 and mix["gamma"] != 1 and mix["is_trained"]
    assert result["error"] == measured["error"]


BILSTM = {"bilstm_width": 8, "word_width": 5}
HEADS = [({}, kind) for kind in ("classify", "compare", "tag", "span")] + [({"mix_norm": True, "layers": "0,2"}, "classify")]
READERS = [({"insert": place, **BILSTM}, kind) for place in ("input", "output", "both") for kind in ("classify", "tag")]


@pytest.mark.parametrize(("transfer", "example_kind"), [*HEADS, *READERS, ({"insert": "input", "layers": "last", **BILSTM}, "classify")])
def test_cached_layers_and_layers_computed_anew_give_the_same_head(transfer, example_kind, words, tmp_path):
    train = examples(example_kind)
    logits = []
    for mode in ("frozen", "features"):
        task = new_task(example_kind, encoder("elmo", words), words, train, transfer=mode, head_dropout=0.0, **transfer)
        fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / mode, QUICK)
        logits.append(np.concatenate([own.reshape(-1) for own in task.logits(task.rows(train[40:]))]))
    # the vectors of tokens are cached in half precision
    pools_first = example_kind in ("classify", "compare") and "insert" not in transfer
    np.testing.assert_allclose(*logits, **({"atol": 1e-3} if pools_first else {"atol": 0.05, "rtol": 0.03}))


def only_the_first_layer_tells(model):
    """Its other layers become noise, the same one for the same text."""

    def hidden_states(batch):
        first, *others = type(model).hidden_states(model, batch)
        seeds = [torch.Generator().manual_seed(int(ids.sum())) for ids in batch.ids * batch.real]
        return [first, *(torch.stack([torch.randn(layer.shape[1:], generator=seed) for seed in seeds]) * 10 for layer in others)]

    model.hidden_states = hidden_states
    return model


@pytest.mark.parametrize("way", ["features", "frozen", "full"])
def test_the_shares_move_to_the_layer_that_tells_something(way, words, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    train = examples("classify", 500)
    options = TrainingOptions(steps=90, batch_examples=16, precision="fp32", patience=0)  # at the rates that are usual
    shares = {}
    for penalty in (0.001, 1.0):
        task = new_task("classify", only_the_first_layer_tells(encoder("elmo", words)), words, train, transfer=way, mix_penalty=penalty)
        fit(task, LabelledSplits(train[:450], train[450:]), tmp_path / str(penalty), options)
        shares[penalty] = task.feature_extractor.weights()[0]["layers"][0]
    assert shares[0.001] > 0.6 and abs(shares[1.0] - 1 / 3) < 0.1


def test_gamma_may_be_fixed_and_whoever_learns_no_shares_does_not_claim_so(words, tmp_path):
    train = examples("classify")
    task = new_task("classify", encoder("elmo", words), words, train, transfer="features", fix_gamma=True)
    assert not task.feature_extractor.weights()[0]["is_trained"]
    fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / "run", QUICK)
    (mix,) = load(tmp_path / "run").feature_extractor.weights()
    assert mix["gamma"] == 1 and mix["is_trained"]
    assert mix_lines({"mix": [{"gamma": 1.0, "layers": {0: 0.5, 1: 0.5}, "is_trained": False}]})[0].endswith("these weights were not learnt")


def test_each_layer_is_standardized_before_it_is_mixed(words, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    train = examples("classify")
    task = new_task("classify", only_the_first_layer_tells(encoder("elmo", words)), words, train, transfer="features", whiten=True)
    vectors = torch.from_numpy(np.stack(task.examples(LabelledSplits(train, train)).vectors))
    layers = task.feature_extractor.split_layers(vectors).squeeze(1)
    scaled = [scale(layers[:, number]) for number, scale in enumerate(task.feature_extractor.mixes[0].scales)]
    assert layers[:, 1].std() > 10 * layers[:, 0].std()
    assert all(own.std().item() == pytest.approx(1, abs=0.5) and own.mean().abs() < 0.01 for own in scaled)


def test_features_are_kept_apart_by_layers_and_normalization(words):
    train = examples("classify")
    settings = ({}, {"layers": "0,2"}, {"layers": "last"}, {"mix_norm": True}, {"pooling": "last"}, {"insert": "input"})
    tasks = [new_task("classify", encoder("elmo", words), words, train, transfer="features", **given) for given in settings]
    assert len({task.features_depend_on for task in tasks}) == len(settings)


@pytest.mark.parametrize("place", ["input", "output", "both", "none"])
@pytest.mark.parametrize("example_kind", ["classify", "compare", "tag"])
def test_a_reader_of_words_with_the_vectors_at_any_place(place, example_kind, words, tmp_path):
    train = examples(example_kind)
    kind = TASKS[example_kind]
    known = ["soup", "rain", "Rome"]
    transfer = TransferOptions(transfer="frozen", insert=place, bilstm_width=8, word_width=5)
    task = kind(encoder("elmo", words), words, transfer, **kind.settings_from(train), words=known)
    task.word_vectors = np.arange(20, dtype=np.float32).reshape(4, 5)
    task.start(0)
    assert torch.equal(task.feature_extractor.words.weight[2], torch.arange(10.0, 15.0)) and len(task.feature_extractor.mixes) == {"both": 2,
        "none": 0}.get(place, 1)
    measured = fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / "run", QUICK)
    assert load(tmp_path / "run").evaluate_examples(train[40:])["error"] == measured["error"]


def test_the_seed_alone_decides_what_a_reader_of_words_learns(words, tmp_path):
    train = examples("tag")
    model, learnt = encoder("elmo", words), []
    for number in range(2):
        torch.manual_seed(number)  # another program's random numbers
        task = new_task("tag", model, words, train, transfer="frozen", insert="input", bilstm_width=8, word_width=5)
        fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / str(number), QUICK)
        learnt.append(task.head.state_dict())
    assert all(torch.equal(tensor, learnt[1][name]) for name, tensor in learnt[0].items())


@pytest.mark.parametrize("transfer", [{}, {"insert": "input", **BILSTM}])
def test_an_interrupted_mix_ends_with_the_same_bits(transfer, words, tmp_path, monkeypatch):
    train = examples("tag")
    options = dataclasses.replace(QUICK, save_every=3, warmup_steps=4, schedule="inverse-sqrt", beta2=0.98)

    def learn(out):
        task = new_task("tag", encoder("elmo", words), words, train, transfer="features", whiten=True, **transfer)
        fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / out, options)

    def interrupted(self, turn, wishes=0, update=GradientUpdater.update):
        if turn.step == 5:
            raise KeyboardInterrupt
        return update(self, turn, wishes)

    learn("whole")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(GradientUpdater, "update", interrupted)
        learn("parts")
    learn("parts")
    whole, parts = (load(tmp_path / out).head.state_dict() for out in ("whole", "parts"))
    assert all(torch.equal(tensor, parts[name]) for name, tensor in whole.items())


@pytest.mark.parametrize("layers", ["all", "0"])
def test_a_head_on_other_layers_than_the_last_is_not_exported_as_one_on_the_last(layers, words):
    task = new_task("tag", encoder("bert", words), words, examples("tag"), layers=layers)
    with pytest.raises(Unsupported, match="reads other layers than the last"):
        exported_head(task)
    assert exported_head(new_task("tag", encoder("bert", words), words, examples("tag"), layers="last")) is not None


def test_a_run_with_whitened_layers_is_opened_again(words, tmp_path):
    train = examples("tag")
    task = new_task("tag", encoder("elmo", words), words, train, transfer="features", whiten=True)
    fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / "run", QUICK)
    assert load(tmp_path / "run").evaluate_examples(train) == task.evaluate_examples(train)


def test_what_a_reader_of_words_cannot_learn_from_features_is_refused(words, tmp_path):
    with pytest.raises(BadInput, match="--insert none reads nothing of the encoder"):
        new_task("classify", encoder("elmo", words), words, examples("classify"), transfer="features", insert="none")
    pairs = examples("compare")
    task = new_task("compare", encoder("elmo", words), words, pairs, transfer="features", insert="input", **BILSTM)
    with pytest.raises(BadInput, match="reads two texts apart here"):
        fit(task, LabelledSplits(pairs[:40], pairs[40:]), tmp_path / "run", QUICK)


def test_a_reader_of_cached_layers_answers_as_it_was_evaluated(words, tmp_path):
    train = examples("classify")
    task = new_task("classify", encoder("elmo", words), words, train, transfer="features", insert="input", **BILSTM)
    measured = fit(task, LabelledSplits(train[:40], train[40:]), tmp_path / "run", QUICK)
    again = load(tmp_path / "run")
    assert again.evaluate_examples(train[40:])["error"] == measured["error"]
    kept = task.examples(LabelledSplits(train[40:], train[40:]), "validation")
    assert np.array_equal(np.stack(again.logits(kept.rows, kept.vectors)), np.stack(again.logits(again.rows(train[40:]))))


def test_without_the_vectors_their_encoder_does_not_matter(elmo, words):
    result = []
    for seed in (1, 2):
        elmo.model.initialize(seed)
        reading = FeatureExtractor(elmo.model, TransferOptions(insert="none", bilstm_width=8), ["soup"], elmo.tokenizer.token)
        torch.manual_seed(0)
        for weight in reading.parameters():
            torch.nn.init.normal_(weight)
        ids = torch.tensor([elmo.tokenizer.encode("soup and wombats today")])
        result.append(reading.eval()(Batch(ids, torch.ones_like(ids, dtype=torch.bool)), elmo.model))
    assert torch.equal(*result)


def test_senses_by_one_layer(elmo, tmp_path):
    def sensed(text, sense):
        split = tuple(text.split())
        return SenseSentence(split, tuple(f"{word}.n" for word in split), ((split.index("soup"), sense),), "file:1")

    task = Sense.train([sensed("soup and rain", "one"), sensed("snow and soup", "two")], elmo, "0")
    assert np.allclose(task.stored_vectors[0], task.stored_vectors[1], atol=1e-5)  # the word alone is the same everywhere
    deeper = Sense.train([sensed("soup and rain", "one"), sensed("snow and soup", "two")], elmo, "2")
    assert not np.allclose(deeper.stored_vectors[0], deeper.stored_vectors[1], atol=1e-3)
