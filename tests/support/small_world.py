"""A small world of food and weather, and steps small enough to learn it in a test."""

import dataclasses

import numpy as np
import torch

from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.models.transfer_options import TransferOptions
from stairs.tasks import TASKS
from stairs.text.examples import LabelledText, Question, TaggedSentence, TextPair

FOOD, WEATHER = ("soup", "bread", "rice", "beans", "cheese"), ("rain", "wind", "snow", "sun", "hail")
PLACES = ("Rome", "Paris", "Kyoto")
SENTENCES = [f"{a} and {b} in {place} today ." for a in FOOD + WEATHER for b in FOOD + WEATHER for place in PLACES]
QUESTION = "where is it ?"
SMALL = {
    "bert": {"context": 32, "width": 32, "heads": 2, "layers": 2},
    "gpt": {"context": 32, "width": 32, "heads": 2, "layers": 2},
    "nnlm": {"width": 16, "hidden": 16, "order": 3},
    "seq2seq": {"width": 16, "hidden": 32},
    "cove": {"width": 16, "hidden": 32, "layers": 2},
    "elmo": {"context": 16, "width": 16, "hidden": 32, "filters": (8, 8, 8)},
    "transformer": {"context": 32, "width": 32, "heads": 2, "layers": 2},
    "cbow": {"width": 16},
    "skipgram": {"width": 16},
    "glove": {"width": 16},
    "vectors": {"width": 16},
}


def examples(example_kind, count=60):
    random = np.random.default_rng(0)
    found = []
    for number in range(count):
        kind = number % 2
        a, b = random.choice(FOOD if kind else WEATHER, 2)
        other = random.choice(FOOD if random.random() < 0.5 else WEATHER)
        place = random.choice(PLACES)
        sentence = f"{a} and {b} in {place} today ."
        if example_kind == "classify":
            found.append(LabelledText(sentence, "food" if kind else "weather", f"file:{number}"))
        elif example_kind == "compare":
            found.append(TextPair(f"{a} today", f"{other} today", "same" if (other in FOOD) == bool(kind) else "other", None, f"file:{number}"))
        elif example_kind == "tag":
            words = tuple(sentence.split())
            found.append(TaggedSentence(words, tuple("B-place" if word in PLACES else "O" for word in words), f"file:{number}"))
        else:
            found.append(Question(QUESTION, sentence, ((sentence.index(place), place),), where=f"file:{number}"))
    return found


def encoder(step, tokenizer):
    names = {field.name for field in dataclasses.fields(CONFIGS[step])}
    model = MODELS[step](CONFIGS[step](**{name: value for name, value in tokenizer.vocabulary_settings.items() if name in names}, **SMALL[step]))
    if step == "vectors":
        found = torch.randn((tokenizer.vocab_size, 16), generator=torch.Generator().manual_seed(0))
        model.restore({"vectors": found, "lengths": found.norm(dim=1)})
    elif step in ("cbow", "skipgram", "glove"):
        model.initialize(1)
    return model.eval()


def new_task(example_kind, model, tokenizer, train, **transfer):
    kind = TASKS[{"span": "find-span"}.get(example_kind, example_kind)]
    return kind(model, tokenizer, TransferOptions(**transfer), **kind.settings_from(train))
