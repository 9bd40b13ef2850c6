"""Trains every model for a few updates and prints a line of hashes for each: a change of names, files or seams shows with it that no number changed.

    PYTHONPATH=src python tests/support/safety_net.py            prints the hashes of weights, losses and answers
    PYTHONPATH=src python tests/support/safety_net.py --check    compares them with safety_net.json, and exits with 1 if one differs
    PYTHONPATH=src python tests/support/safety_net.py --write    writes safety_net.json for this kind of processor
    ... [--only bert elmo]                                       some of them

Initial weights follow from the names of parameters, which a rename changes. So the net overwrites them, parameter by parameter in their order, with
numbers that follow from position and shape alone; weights are hashed by position, too. What initialisation gave is compared by mean and standard
deviation, within sampling error. Of answers the values count, not the keys: floats with six digits, and strings made of the words below.
Everything else that is random follows from the seed and the name of a stream.
"""

import argparse
import dataclasses
import hashlib
import json
import math
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="safety-net-")

import numpy as np
import torch

import stairs
from stairs import progress
from stairs.errors import StairsError
from stairs.machine import has_bf16
from stairs.models.settings import CONFIGS
from stairs.models.transfer_options import TransferOptions
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.corpus.corpus import Corpus
from stairs.text.examples import LabelledText, Question, TaggedSentence, TextPair, TranslationPair
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions

EXPECTED = Path(__file__).with_name("safety_net.json")
SCRATCH = Path(os.environ["XDG_CACHE_HOME"])
SEED = 7
DIGITS = 6

FOOD, WEATHER, CITIES = ("soup", "bread", "rice", "beans", "cheese"), ("rain", "wind", "snow", "sun", "hail"), ("Rome", "Paris", "Kyoto")
VERBS = ("eats", "likes", "sees", "wants", "finds")
CHINESE = {
    "soup": "汤", "bread": "面包", "rice": "米饭", "beans": "豆子", "cheese": "奶酪",
    "rain": "雨", "wind": "风", "snow": "雪", "sun": "太阳", "hail": "冰雹",
    "Rome": "罗马", "Paris": "巴黎", "Kyoto": "京都", "eats": "吃", "likes": "喜欢", "sees": "看见", "wants": "想要", "finds": "找到",
    "today": "今天", "and": "和", "she": "她", "in": "在", ".": "。", "the": "", "here": "这里", "where": "哪里", "is": "是", "?": "？",
}  # fmt: skip
LABELS = ("food", "weather", "same", "other", "B-place", "O")
MATERIAL = {*CHINESE, *CHINESE.values(), *LABELS}


def sentence(dice: random.Random, things: tuple[str, ...] = FOOD + WEATHER) -> list[str]:
    return f"she {dice.choice(VERBS)} the {dice.choice(things)} and the {dice.choice(things)} in {dice.choice(CITIES)} today .".split()


def in_chinese(words: list[str]) -> str:
    return "".join(CHINESE[word] for word in words)


def plain_text() -> str:
    """Documents of five sentences, every third of them Chinese."""
    dice = random.Random(SEED)
    documents = []
    for number in range(120):
        sentences = [sentence(dice) for _ in range(5)]
        documents.append("\n".join(in_chinese(words) if number % 3 == 2 else " ".join(words) for words in sentences))
    return "\n\n".join(documents) + "\n"


def labelled(kind: str, count: int = 72) -> list:
    """Examples of one kind, half of them food, a third in Chinese."""
    dice = random.Random(SEED + 1)
    made = []
    for number in range(count):
        things, label = (FOOD, "food") if number % 2 else (WEATHER, "weather")
        words, where = sentence(dice, things), f"made:{number + 1}"
        text = in_chinese(words) if number % 3 == 2 else " ".join(words)
        other = dice.choice(FOOD + WEATHER)
        if kind == "classify":
            made.append(LabelledText(text, label, where))
        elif kind == "compare":
            made.append(TextPair(text, " ".join(sentence(dice, (other,))), "same" if other in things else "other", None, where))
        elif kind == "score":
            made.append(TextPair(text, " ".join(sentence(dice, (other,))), None, 4.0 * (other in things) + number % 2 / 2, where))
        elif kind == "tag":
            made.append(TaggedSentence(tuple(words), tuple("B-place" if word in CITIES else "O" for word in words), where))
        elif kind == "span":
            place = next(word for word in words if word in CITIES)
            made.append(Question("where is she ?", " ".join(words), ((" ".join(words).index(place), place),), str(number), where))
        else:
            made.append(TranslationPair(" ".join(words), in_chinese(words), where))
    return made


CONTEXT, SMALL_BLOCKS = {"context": 32}, {"context": 32, "width": 16, "heads": 2, "layers": 2}
# name: (model, settings, tokenizer, options)
FROM_TEXT = {
    "ngram": ("ngram", {"order": 3}, "words", {}),
    "ngram pruned": ("ngram", {"order": 4, "prune": (0, 0, 1)}, "words", {}),
    "nnlm": ("nnlm", {"order": 3, "width": 8, "hidden": 16, "dropout": 0.1, "softmax": "full", **CONTEXT}, "words", {}),
    "nnlm sampled": ("nnlm", {"order": 4, "width": 8, "hidden": 16, "softmax": "sampled", "samples": 20, **CONTEXT}, "words", {}),
    "gpt": ("gpt", {**SMALL_BLOCKS, "dropout": 0.1}, "byte-bpe", {}),
    "gpt rotary": ("gpt", {**SMALL_BLOCKS, "positions": "rotary", "norm_first": False, "tie_embeddings": False}, "words", {"schedule": "cosine"}),
    "bert": ("bert", SMALL_BLOCKS, "wordpiece", {}),
    "bert bf16": ("bert", {**SMALL_BLOCKS, "objective": "sentence-order"}, "wordpiece", {"precision": "bf16", "accumulate": 2}),
    "bert prefix": ("bert", {**SMALL_BLOCKS, "objective": "prefix"}, "wordpiece", {}),
    "bert permutation": ("bert", {**SMALL_BLOCKS, "objective": "permutation"}, "wordpiece", {}),
    "elmo": ("elmo", {"context": 16, "width": 8, "hidden": 16, "filters": (4, 4, 4), "softmax": "full"}, "words", {}),
    "elmo sampled": ("elmo", {"context": 16, "burn_in": 4, "width": 8, "hidden": 16, "filters": (4, 4), "output_vocab": 60, "softmax": "sampled",
                     "samples": 20}, "words", {}),
    "elmo cnn": ("elmo", {"context": 16, "width": 8, "hidden": 16, "filters": (4, 4), "softmax": "cnn", "samples": 20, "correction_width": 4},
        "words", {}),
    "cbow": ("cbow", {"width": 8}, "words", {}),
    "cbow hierarchical": ("cbow", {"width": 8, "softmax": "hierarchical"}, "words", {}),
    "skipgram": ("skipgram", {"width": 8}, "words", {}),
    "skipgram hierarchical": ("skipgram", {"width": 8, "softmax": "hierarchical", "subsample": 0.0}, "words", {}),
    "skipgram subwords": ("skipgram", {"width": 8, "subwords": "3-5", "buckets": 512}, "words", {}),
    "glove": ("glove", {"width": 8, "window": 4}, "words", {}),
}  # fmt: skip
TRANSLATORS = {
    "seq2seq": ("seq2seq", {"width": 8, "hidden": 16, **CONTEXT}),
    "seq2seq attention": ("seq2seq", {"width": 8, "hidden": 16, "attention": "additive", "cell": "gru", **CONTEXT}),
    "cove": ("cove", {"width": 8, "hidden": 16, "layers": 2, **CONTEXT}),
    "transformer": ("transformer", {**SMALL_BLOCKS, "dropout": 0.1}),
}
# name: (run that it begins with, task, kind of examples, transfer)
TUNED = {
    "classify": ("bert", "classify", "classify", {}),
    "classify features": ("bert", "classify", "classify", {"transfer": "features", "layers": "all"}),
    "classify gpt": ("gpt", "classify", "classify", {"layer_decay": 0.8}),
    "classify elmo": ("elmo", "classify", "classify", {"transfer": "frozen"}),
    "classify skipgram": ("skipgram", "classify", "classify", {}),
    "compare": ("bert", "compare", "compare", {"transfer": "top", "top_layers": 1}),
    "bi-encoder": ("bert", "bi-encoder", "score", {}),
    "tag": ("bert", "tag", "tag", {}),
    "tag reader": ("elmo", "tag", "tag", {"transfer": "frozen", "insert": "input", "bilstm_width": 8, "word_width": 8}),
    "find-span": ("bert", "find-span", "span", {}),
}
OPTIONS = {"steps": 12, "batch_tokens": 512, "precision": "fp32", "threads": 1, "evaluate_every": 6, "save_every": 1000, "seed": SEED}
LABELLED = {**OPTIONS, "batch_examples": 8, "learning_rate": 3e-3}
SWEEPS = {"epochs": 2, "threads": 1, "deterministic": True, "seed": SEED}


def reset(parameters, before: list) -> None:
    """Give parameters numbers that follow from position and shape, and note what they were. Those whose numbers are all the same,
    as norms and biases at first, stay."""
    with torch.no_grad():
        for position, weight in enumerate(parameters):
            values = weight.detach().double().flatten()
            spread = float(values.std(correction=0)) if values.numel() else 0.0
            before.append((list(weight.shape), float(values.mean()) if values.numel() else 0.0, spread))
            if spread:
                digest = hashlib.sha256(f"{position}:{tuple(weight.shape)}".encode()).digest()
                drawn = torch.randn(weight.shape, generator=torch.Generator().manual_seed(int.from_bytes(digest[:7], "big")))
                weight.copy_(drawn * (0.1 if weight.ndim < 2 else 0.5 * weight.shape[-1] ** -0.5))


def trained(name: str, task, data, options: dict) -> tuple:
    """The task as `load` gives it back, and all numbers on the way: what initialisation gave, and the loss of each update."""
    before, losses = [], []
    initialize, start, training_loss = task.model.initialize, task.start, task.training_loss

    def initialize_by_position(seed: int) -> None:
        initialize(seed)
        reset(task.model.parameters(), before)

    def start_by_position(seed: int, examples=None) -> None:
        start(seed, examples)
        own = {id(weight) for weight in task.model.parameters()}
        reset((weight for weight in task.trained_module.parameters() if id(weight) not in own), before)

    def recorded_loss(batch):
        total, count = training_loss(batch)
        losses.append([float(total.detach()), count])
        return total, count

    task.model.initialize, task.start, task.training_loss = initialize_by_position, start_by_position, recorded_loss
    if task.model.learns_by == "sweeping" and task.learns_by == "sweeping":
        sweep = task.model.sweep

        def recorded_sweep(part):
            result = sweep(part)
            losses.append(list(result))
            return result

        task.model.sweep = recorded_sweep
    folder = SCRATCH / name.replace(" ", "-")
    fit(task, data, folder, TrainingOptions(**options))
    return stairs.load(folder), before, losses


def weights_of(task) -> list:
    if hasattr(task, "tries"):
        return [array.astype(np.float32) for trie in task.tries for array in trie.arrays().values()]
    own = list(task.model.tensors().values()) if getattr(task, "model", None) is not None else []
    known = {id(weight) for weight in task.model.parameters()} if own else set()
    learner = [weight for weight in task.trained_module.parameters() if id(weight) not in known] if own else []
    arrays = [getattr(task, name) for name in ("idf", "weight", "bias") if isinstance(getattr(task, name, None), np.ndarray)]
    return [*own, *learner, *arrays]


def array(tensor) -> np.ndarray:
    return tensor.detach().contiguous().float().numpy() if isinstance(tensor, torch.Tensor) else np.asarray(tensor)


def hash_of_weights(tensors: list) -> str:
    digest = hashlib.sha256()
    for position, tensor in enumerate(map(array, tensors)):
        digest.update(f"{position}{tensor.shape}".encode() + np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()[:12]


def canonical(value):
    """Plain data without its keys, floats rounded, and of strings only those made of our own words."""
    if dataclasses.is_dataclass(value):
        value = dataclasses.asdict(value)
    if isinstance(value, dict):
        return sorted((canonical(entry) for entry in value.values()), key=json.dumps)
    if isinstance(value, np.ndarray):
        return canonical(value.tolist())
    if isinstance(value, list | tuple):
        return [canonical(entry) for entry in value]
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        return float(f"{float(value):.{DIGITS}g}")
    return value if all(word in MATERIAL for word in str(value).split()) else ""


def hash_of_numbers(values) -> str:
    return hashlib.sha256(json.dumps(canonical(values)).encode()).hexdigest()[:12]


def answers(task, kind: str) -> list:
    """What a run is asked afterwards; a model that cannot do one of these says so, and does the others."""
    if kind == "text":
        questions = [("answer", "she eats the soup and the rice in Rome today ."), ("answer", "soup"), ("answer", "她喜欢米饭和汤在罗马今天。")]
        questions += [("answer", "she likes the ___ in Rome today ."), ("log_probability", "she likes the bread today .")]
        questions += [("vectors", ["she likes the bread .", "风和雨 today", "soup"])]
    else:
        texts = ("she eats the soup today .", "她找到雪和风在京都今天。", "she sees the rain in Paris ?\tshe sees the rain in Paris .")
        questions = [("answer", text) for text in texts]
    found = []
    for verb, given in questions:
        try:
            found.append(getattr(task, verb)(given))
        except StairsError:
            found.append("")
    return found


def line(name: str, task, before: list, losses: list, kind: str, more=()) -> dict:
    asked = [*answers(task, kind), *more]
    found = {"weights": hash_of_weights(weights_of(task)), "losses": hash_of_numbers(losses), "answers": hash_of_numbers(asked)}
    print(f"{name:22} weights {found['weights']}  losses {found['losses']} ({len(losses)})  answers {found['answers']}", flush=True)
    return found | {"start": [[shape, float(f"{mean:.4g}"), float(f"{spread:.4g}")] for shape, mean, spread in before]}


def configured(model: str, tokenizer, settings: dict):
    names = {field.name for field in dataclasses.fields(CONFIGS[model])}
    return stairs.MODELS[model](CONFIGS[model](**{name: value for name, value in tokenizer.vocabulary_settings.items() if name in names}, **settings))


def run(only: list[str]) -> dict:
    torch.set_num_threads(1)
    found, tasks, shards = {}, {}, {}
    text = SCRATCH / "text.txt"
    text.write_text(plain_text(), "utf-8")
    needed = {TUNED[name][0] for name in TUNED if name in only} | set(only) | {name.split()[-1] for name in only if name.startswith("similar")}
    needed |= {"skipgram"} if "classify vectors" in only else set()
    for name, (model, settings, kind, options) in FROM_TEXT.items():
        if only and name not in needed:
            continue
        if kind not in shards:
            shards[kind] = build_shards(Corpus(text), TokenizerSpec(kind, vocab_size=320 if kind == "byte-bpe" else 300))
        own = configured(model, shards[kind].tokenizer, settings)
        usual = SWEEPS if own.learns_by == "sweeping" else OPTIONS
        task, before, losses = trained(name, stairs.TASKS[own.pretrains_with](own, shards[kind].tokenizer), shards[kind], {**usual, **options})
        found[name] = line(name, task, before, losses, "text", [task.evaluate_split(shards[kind], "test")])
        tasks[name] = task
    for name, (model, settings) in TRANSLATORS.items():
        if only and name not in only:
            continue
        pairs = labelled("translate")
        both = [pair.source for pair in pairs] + [pair.target for pair in pairs]
        tokenizer = Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=300), lambda both=both: [both])
        task = stairs.TASKS["translate"](configured(model, tokenizer, settings), tokenizer)
        task, before, losses = trained(name, task, LabelledSplits(pairs[20:], pairs[:10], test=pairs[10:20]), {**OPTIONS, "learning_rate": 1e-2})
        answers = [task.answer("she eats the soup today .", beam_size=4), task.evaluate_examples(pairs[:10])]
        found[name] = line(name, task, before, losses, "labels", answers)
    for name, (begin, kind, example_kind, transfer) in TUNED.items():
        if only and name not in only:
            continue
        examples = labelled(example_kind)
        encoder = stairs.load(SCRATCH / begin)
        learner = stairs.TASKS[kind]
        task = learner(encoder.model, encoder.tokenizer, TransferOptions(**transfer), **learner.settings_from(examples[20:]))
        task, before, losses = trained(name, task, LabelledSplits(examples[20:], examples[:10], test=examples[10:20]), LABELLED)
        found[name] = line(name, task, before, losses, "labels", [task.evaluate_examples(examples[:20])])
    examples = labelled("classify")
    words = Tokenizer.train(TokenizerSpec("words"), lambda: [[example.text for example in examples]])
    for name, kind in {"classify ngram": "classify-ngram", "classify tfidf": "classify-tfidf", "classify vectors": "classify-vectors"}.items():
        if only and name not in only:
            continue
        task = stairs.TASKS[kind].train(examples[20:], tasks["skipgram"] if name == "classify vectors" else words)
        found[name] = line(name, task, [], [], "labels", [task.evaluate_examples(examples[:20])])
    if not only or "vectors" in only:
        vectors = configured("vectors", words, {"width": 8})
        reset(vectors.parameters(), [])
        drawn = torch.randn(words.vocab_size, 8, generator=torch.Generator().manual_seed(SEED))
        vectors.restore(dict(zip(vectors.tensors(), (drawn, drawn.norm(dim=1)), strict=True)))
        found["vectors"] = line("vectors", stairs.TASKS[vectors.pretrains_with](vectors.eval(), words), [], [], "text")
    for begin in ("bert", "skipgram"):
        if not only or f"similar {begin}" in only:
            texts = [example.text for example in examples[20:40]]
            found[f"similar {begin}"] = line(f"similar {begin}", stairs.TASKS["similar"](tasks[begin], texts), [], [], "labels")
    return found


def processor() -> str:
    """Bits differ between processors: AVX2, AVX-512, and those that compute in bfloat16."""
    return torch.backends.cpu.get_cpu_capability().lower() + ("-bf16" if has_bf16() else "")


def differences(found: dict, expected: dict) -> list[str]:
    wrong = [f"{name}: its {what} differ" for name in found for what in ("weights", "losses", "answers") if found[name][what] != expected[name][what]]
    for name in found:
        now, then = found[name]["start"], expected[name]["start"]
        if [shape for shape, *_ in now] != [shape for shape, *_ in then]:
            wrong.append(f"{name}: its parameters have other shapes or another order")
            continue
        for position, ((shape, mean, spread), (_, old_mean, old_spread)) in enumerate(zip(now, then, strict=True)):
            count = math.prod(shape)
            room = max(6 * old_spread / math.sqrt(max(count, 1)), 1e-6)
            if abs(mean - old_mean) > 2 * room or abs(spread - old_spread) > 2 * room or bool(spread) != bool(old_spread):
                began = f"parameter {position} of shape {shape} begins with mean {mean} and deviation {spread}"
                wrong.append(f"{name}: {began}, not {old_mean} and {old_spread}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with safety_net.json")
    parser.add_argument("--write", action="store_true", help="write safety_net.json for this kind of processor")
    parser.add_argument("--only", nargs="+", default=[], help="some of the lines, by name")
    given = parser.parse_args()
    progress.bars_enabled = False
    try:
        found = run(given.only)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
    known = json.loads(EXPECTED.read_text("utf-8")) if EXPECTED.exists() else {}
    if given.write:
        known[processor()] = known.get(processor(), {}) | found
        EXPECTED.write_text("{\n" + ",\n".join(
            f' "{kind}": {{\n' + ",\n".join(f'  {json.dumps(name)}: {json.dumps(entry)}' for name, entry in entries.items()) + "\n }"
            for kind, entries in sorted(known.items())) + "\n}\n", "utf-8")  # fmt: skip
    if given.check:
        if processor() not in known:
            print(f"no hashes are known for {processor()}; run --write on the commit before the change", file=sys.stderr)
            return 1
        wrong = differences(found, known[processor()])
        print("\n".join(wrong) if wrong else f"all {len(found)} are as before")
        return bool(wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
