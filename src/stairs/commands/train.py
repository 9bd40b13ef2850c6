"""stairs train STEP CORPUS: from a text file to a model that can be asked."""

import dataclasses
import os
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from stairs.commands import pairs
from stairs.commands.flags import Common, Cutting, Reading, open_corpus, parse, refuse_inside, run_name, show, text_size, tokenizer_spec, worded
from stairs.errors import BadInput
from stairs.models.settings import CONFIGS, FROM_TOKENIZER
from stairs.models.sizes import DEFAULT_TOKENIZER, SIZES, TRANSLATION_MODELS
from stairs.progress import say
from stairs.training.options import Schedule, TrainingOptions
from stairs.training.recipe import MIN_TOKENS, Recipe, choose_recipe, recipe_of_size
from stairs.training.run import RUN_FILE, check_run

Size = Literal["auto", "nano", "micro", "mini", "small", "base", "large", "paper"]
BATCH_TOKENS = "positions per step, over all workers; if not given, 2048, or fewer for a size below mini"
OWN_SHAPE = ("width", "heads", "layers", "hidden", "filters", "order")  # with one of these the user describes a model of his own
NUMBER_NAMES = 64  # words in the names of numbers, about
ABOUT = """Train a step on text. The corpus is txt, jsonl, csv, tsv or parquet, plain or packed as gz, xz or zst, a folder of those, or - for
stdin; `python` is the prose of the Python installation itself. Steps that translate learn from --pairs instead. Steps: {steps}."""


def own_help(name: str) -> Any:
    """The help of a flag that the size decides if it is not given."""
    field, words = next((field, words) for field, words in worded(TrainingOptions) if field.name == name)
    return arg(help=f"{words}; if not given, {field.default}, or as in the paper for --size paper")


@dataclass(frozen=True)
class Train(TrainingOptions, Cutting, Reading, Common):
    model: Positional[str] = ""  # which step of the staircase
    corpus: Positional[tuple[str, ...]] = ()  # files or folders of text
    pairs: tuple[str, ...] = ()  # steps that translate: two files whose lines say the same, or a table with two columns; numbers: number names
    dev: tuple[str, ...] = ()  # pairs to judge by: half of them while training, the others once at the end; a few of --pairs if not given
    backwards: bool = False  # translate from the second language into the first
    out: str | None = None  # run folder; runs/CORPUS-STEP if not given
    size: Size = "auto"  # a named set of the settings below; auto: with a budget what the time, the text and this machine allow, else mini
    batch_tokens: Annotated[int | None, arg(help=BATCH_TOKENS)] = None  # type: ignore[assignment]
    schedule: Annotated[Schedule | None, own_help("schedule")] = None  # type: ignore[assignment]
    warmup: Annotated[float | None, own_help("warmup")] = None  # type: ignore[assignment]
    beta1: Annotated[float | None, own_help("beta1")] = None  # type: ignore[assignment]
    beta2: Annotated[float | None, own_help("beta2")] = None  # type: ignore[assignment]
    adam_epsilon: Annotated[float | None, own_help("adam_epsilon")] = None  # type: ignore[assignment]
    weight_decay: Annotated[float | None, own_help("weight_decay")] = None  # type: ignore[assignment]
    clip: Annotated[float | None, own_help("clip")] = None  # type: ignore[assignment]
    dry_run: bool = False  # say what it would take, and stop


def main(arguments: list[str]) -> int:
    return run(flags(Train, arguments, "train", ABOUT))


def run(options: Any) -> int:
    if options.dry_run:
        from stairs.commands.plan import run as plan

        return plan(options)
    options, recipe = with_recipe(options)
    task, shards, out = prepared(options)
    task.recipe = None if recipe == recipe_of_size(options.model, "mini") else dataclasses.asdict(recipe)
    from stairs.training.fit import fit

    measured = fit(task, shards, out, training_of(options))
    if not measured:  # a worker that only computed
        return 0
    if options.json:
        show({"run": str(out), **measured})
    else:
        found = measured[task.monitor]
        interval = f"{found['low']:.4f} to {found['high']:.4f}"
        also = f", perplexity {measured['perplexity']['value']:.2f}" if "perplexity" in measured else ""
        also += f", backwards {measured['backward_perplexity']['value']:.2f}" if "backward_perplexity" in measured else ""
        also += f", BLEU {measured['bleu']['value']:.2f}, {measured['exact_match']['value']:.1%} exact" if "bleu" in measured else ""
        print(f"{out}: {found['value']:.4f} {task.monitor.replace('_', ' ')} on test text ({interval}){also}")
    return 0


def with_recipe(options: Any) -> tuple[Any, Recipe]:
    """The options with what they leave open filled in (size, batch, vocabulary, optimizer), and the recipe it comes from. A run that exists, or
    one whose weights are begun with, keeps its own."""
    recipe = recipe_for(options)
    chosen: dict[str, Any] = {"size": recipe.size}
    if options.batch_tokens is None:
        chosen["batch_tokens"] = recipe.batch_tokens
    if options.learning_rate is None:
        chosen["learning_rate"] = recipe.learning_rate
    given = {name for name in recipe.optimizer if getattr(options, name) is not None} | ({"warmup_steps"} if options.warmup is not None else set())
    chosen |= {name: value for name, value in recipe.optimizer.items() if name not in given}
    if options.vocab_size is None and options.tokenizer in (None, DEFAULT_TOKENIZER[options.model]):
        chosen["vocab_size"] = recipe.vocab_size
    return dataclasses.replace(options, **chosen), recipe


def recipe_for(options: Any) -> Recipe:
    if options.size != "auto":
        return recipe_of_size(options.model, options.size)
    source = output(options) if os.path.exists(output(options) / RUN_FILE) else Path(options.init_from) if options.init_from else None
    if source is not None:
        from stairs.training.run import Run

        known = Run(source).settings.get("recipe")
        return Recipe(**known) if known else recipe_of_size(options.model, "mini")
    own = any(getattr(options, name, None) is not None for name in OWN_SHAPE if name in SIZES[options.model].get("nano", ()))
    if not training_of(options).is_timed or own or options.model not in MIN_TOKENS or computes_elsewhere(options):
        return recipe_of_size(options.model, "mini")
    settled_for(options)  # refuses what the step has no use for before anything is measured or said
    from stairs import machine

    numbers = bool(options.pairs) and pairs.by_rule(options.pairs) and options.tokenizer is None
    recipe = choose_recipe(
        options.model, training_of(options).budget_seconds, characters_of(options), machine.gigaflops(options.threads),
        bf16=options.precision != "fp32" and machine.has_bf16(), vocabulary=NUMBER_NAMES if numbers else options.vocab_size,
    )  # fmt: skip
    say(recipe.reason)
    return recipe


def computes_elsewhere(options: Any) -> bool:
    """On a GPU, or on many machines, which would have to agree: the probe of one processor says nothing of those."""
    import torch

    return int(os.environ.get("WORLD_SIZE", "1")) > 1 or options.device.startswith("cuda") or (options.device == "auto" and torch.cuda.is_available())


def characters_of(options: Any) -> int | None:
    """About so many, from the sizes of the files; None for pairs, for stdin, which can be read only once, and for the embedded prose."""
    if options.pairs or "-" in options.corpus or (options.corpus == ("python",) and not Path("python").exists()):
        return None
    return round(text_size(open_corpus(options.corpus, options)))


def prepared(options: Any) -> tuple[Any, Any, Path]:
    """The untrained task, its data, and where the run will stand."""
    out = output(options)
    check_run(out)
    if options.pairs:
        return prepared_pairs(options, out)
    corpus, spec = given_corpus(options), tokenizer_spec(options, options.model)
    config_of(options, vocab_size=0)  # refuses settings the step cannot have before the corpus is read
    settled_for(options)
    from stairs.text.shards import build_shards

    shards = build_shards(corpus, kept_tokenizer(options, out) or spec)
    return untrained(options, shards.tokenizer), shards, out


def prepared_pairs(options: Any, out: Path) -> tuple[Any, Any, Path]:
    """The same for a step that translates."""
    spec = pairs.spec_of(options, options.model, pairs.by_rule(options.pairs))
    config_of(options, vocab_size=0)
    settled_for(options)
    train, validation, test = pairs.divided(options)
    from stairs.tasks.parts.supervised import LabelledSplits
    from stairs.text.tokenizers.tokenizer import Tokenizer

    tokenizer = kept_tokenizer(options, out) or Tokenizer.train(spec, lambda: ([pair.source, pair.target] for pair in train))
    task = untrained(options, tokenizer)
    task.backwards = options.backwards
    return task, LabelledSplits(train, validation, test=test), out


def untrained(options: Any, tokenizer: Any) -> Any:
    """The step's own task, with weights that know nothing."""
    from stairs.models import MODELS
    from stairs.tasks import TASKS

    kind = MODELS[options.model]
    return TASKS[kind.pretrains_with](kind(config_of(options, **tokenizer.vocabulary_settings)), tokenizer)


def kept_tokenizer(options: Any, out: Path) -> Any:
    """The tokenizer of a run whose weights go on with other text: its ids must mean the same."""
    source = out if options.accept_new_corpus and (out / RUN_FILE).exists() else options.init_from
    if source is None:
        return None
    from stairs.training.run import load_tokenizer

    return load_tokenizer(source)


def settled_for(options: Any) -> TrainingOptions:
    """How the step is trained; refuses what it has no use for."""
    from stairs.models import MODELS

    return training_of(options).validated(MODELS[options.model])


def training_of(options: Any) -> TrainingOptions:
    given = {field.name: getattr(options, field.name) for field in dataclasses.fields(TrainingOptions)}
    given = {name: value for name, value in given.items() if value is not None}  # the others are the default
    return TrainingOptions(**given)


def given_corpus(options: Any) -> Any:
    if options.corpus == ("python",) and not Path("python").exists():
        from stairs.text.embedded.python_prose import PythonProse

        return PythonProse()
    return open_corpus(options.corpus, options)


def output(options: Any) -> Path:
    """The run folder, refused early when it would lie in the corpus."""
    first = (options.pairs or options.corpus)[0]
    name = run_name(first) if first != "-" else "stdin"
    out = Path(options.out) if options.out else Path("runs") / f"{name}-{options.model}"
    refuse_inside(out, options.corpus)
    return out


def flags(kind: Any, arguments: list[str], command: str, about: str) -> Any:
    """The command's own flags and those of the step it names, read together."""
    about = about.format(steps=", ".join(DEFAULT_TOKENIZER))
    step = next((word for word in arguments if word in DEFAULT_TOKENIZER), None)
    options = parse(with_settings(kind, step) if step else kind, arguments, command, about)
    if options.model not in DEFAULT_TOKENIZER:
        from difflib import get_close_matches

        near = get_close_matches(options.model, DEFAULT_TOKENIZER, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(DEFAULT_TOKENIZER)}"
        raise BadInput(f"there is no step {options.model!r} to train; {hint}")
    translating = options.model in TRANSLATION_MODELS
    if translating and (options.corpus or not options.pairs):
        raise BadInput(f"{options.model} learns from pairs of sentences; give them as in: stairs {command} {options.model} --pairs train.en train.fr")
    if (options.pairs or options.dev or options.backwards) and not translating:
        instead = f"{options.model} learns from text: stairs {command} {options.model} notes.txt"
        raise BadInput(f"--pairs, --dev and --backwards are for steps that translate ({', '.join(TRANSLATION_MODELS)}); {instead}")
    if not translating and not options.corpus:
        raise BadInput(f"no corpus came; give a text file: stairs {command} {options.model} notes.txt")
    if options.size not in ("auto", *SIZES[options.model]):
        raise BadInput(f"{options.model} has no size {options.size}; it has {', '.join(SIZES[options.model])}")
    training_of(options).check()
    return options


def with_settings(kind: Any, step: str) -> Any:
    """`processor_kind` with a flag for each of the step's settings; one that is not given comes from the size."""
    own = {field.name for field in dataclasses.fields(kind)}
    fields: list[Any] = []
    for base in kind.__mro__[:-1]:  # named again with their words, which are not found through a class without a source
        told = {name for name, *_ in fields}  # by a class that inherits from this one
        fields += [
            (field.name, Annotated[field.type, arg(help=words)] if words else field.type, field)
            for field, words in worded(base)
            if field.name in base.__annotations__ and field.name not in told
        ]
    for field, words in worded(CONFIGS[step]):
        if field.name not in own and field.name not in FROM_TOKENIZER:
            chosen: Any = field.type
            fields.append((field.name, Annotated[chosen | None, arg(help=f"{words} ({step}: {field.default})")], None))
    return make_dataclass(kind.__name__, fields, bases=(kind,), frozen=True)


def config_of(options: Any, **told: Any) -> Any:
    kind = CONFIGS[options.model]
    names = [field.name for field in dataclasses.fields(kind)]
    given = {name: getattr(options, name, None) for name in names if name not in FROM_TOKENIZER}
    told = {name: value for name, value in told.items() if name in names}  # not every step has a part for each special id
    size = "mini" if options.size == "auto" else options.size
    return kind(**told, **{**SIZES[options.model][size], **{name: value for name, value in given.items() if value is not None}})
