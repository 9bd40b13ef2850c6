"""A small world of food and weather, and models small enough to learn it in a test."""

import dataclasses
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import TASKS
from stairs.text.examples import LabelledText, MultiLabelText, MultipleChoice, Question, ScoredText, TaggedSentence, TextPair
from stairs.training.gradients import GradientUpdater
from tests.support.tiny import tiny

FOOD, WEATHER = ("soup", "bread", "rice", "beans", "cheese"), ("rain", "wind", "snow", "sun", "hail")
CITIES = ("Rome", "Paris", "Kyoto")
SENTENCES = [f"{a} and {b} in {place} today ." for a in FOOD + WEATHER for b in FOOD + WEATHER for place in CITIES]
QUESTION = "where is it ?"
WIDER = {"width": 32, "context": 32}
SMALL = {
    "bert": tiny("bert", **WIDER),
    "gpt": tiny("gpt", **WIDER),
    "nnlm": tiny("nnlm", width=16, hidden=16),
    "seq2seq": tiny("seq2seq", width=16, hidden=32, attention="none", context=256),
    "cove": tiny("cove", width=16, hidden=32, context=256),
    "elmo": tiny("elmo", width=16, hidden=32, filters=(8, 8, 8)),
    "transformer": tiny("transformer", **WIDER),
    "cnn": tiny("cnn", word_width=16, width=24, context=32),
    **{name: tiny(name, width=16) for name in ("cbow", "skipgram", "glove", "vectors")},
}


def examples(example_kind, count=60):
    random = np.random.default_rng(0)
    made = []
    for number in range(count):
        is_food = number % 2
        a, b = random.choice(FOOD if is_food else WEATHER, 2)
        other = random.choice(FOOD if random.random() < 0.5 else WEATHER)
        city = random.choice(CITIES)
        sentence = f"{a} and {b} in {city} today ."
        if example_kind == "classify":
            made.append(LabelledText(sentence, "food" if is_food else "weather", f"file:{number}"))
        elif example_kind == "multilabel":  # every third has both, every seventh none
            mixed = f"{a} and {random.choice(WEATHER if is_food else FOOD)} in {city} today ."
            labels = ("food", "weather") if number % 3 == 0 else () if number % 7 == 0 else ("food",) if is_food else ("weather",)
            made.append(MultiLabelText(mixed if number % 3 == 0 else sentence if labels else f"{city} today .", labels, f"file:{number}"))
        elif example_kind == "regress":  # five for each food, and the number of the city
            made.append(ScoredText(sentence, 100.0 + 5.0 * is_food + CITIES.index(city), f"file:{number}"))
        elif example_kind == "compare":
            made.append(TextPair(f"{a} today", f"{other} today", "same" if (other in FOOD) == bool(is_food) else "other", None, f"file:{number}"))
        elif example_kind == "tag":
            words = tuple(sentence.split())
            made.append(TaggedSentence(words, tuple("B-place" if word in CITIES else "O" for word in words), f"file:{number}"))
        elif example_kind == "choose":  # one of two or three can be eaten
            right = number // 2 % (2 + is_food)
            choices = [f"{word} today" for word in random.choice(WEATHER, 2 + is_food)]
            choices[right] = f"{random.choice(FOOD)} today"
            made.append(MultipleChoice(f"{a} and {b}", tuple(choices), right, f"file:{number}"))
        else:
            made.append(Question(QUESTION, sentence, ((sentence.index(city), city),), where=f"file:{number}"))
    return made


def encoder(kind, tokenizer, **settings):
    """An untrained model of a kind, such as "bert"."""
    names = {field.name for field in dataclasses.fields(CONFIGS[kind])}
    known = {name: value for name, value in tokenizer.vocabulary_settings.items() if name in names}
    model = MODELS[kind](CONFIGS[kind](**known, **{**SMALL[kind], **settings}))
    if kind == "vectors":
        drawn = torch.randn((tokenizer.vocab_size, 16), generator=torch.Generator().manual_seed(0))
        model.restore({"vectors": drawn, "lengths": drawn.norm(dim=1)})
    elif kind in ("cbow", "skipgram", "glove"):
        model.initialize(1)
    return model.eval()


def new_task(example_kind, model, tokenizer, train, **transfer):
    kind = TASKS[{"span": "find-span"}.get(example_kind, example_kind)]
    return kind(model, tokenizer, TransferOptions(**transfer), **kind.settings_from(train))


@contextmanager
def stop_at_update(number):
    """Within it, a training is stopped by Ctrl-C at this update."""
    update, calls = GradientUpdater.update, []

    def count(*given):
        calls.append(1)
        if len(calls) == number:
            raise KeyboardInterrupt
        return update(*given)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(GradientUpdater, "update", count)
        yield
