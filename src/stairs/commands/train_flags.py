"""The flags of `stairs train` and `stairs plan`: the same words for both, and those of the model that the first word names."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from tyro.conf import Positional

from stairs.commands.flags import CommonFlags, keywords_of, parse
from stairs.errors import BadInput
from stairs.models.settings import CONFIGS, DEFAULT_TOKENIZER
from stairs.text.input_options import CorpusOptions, TokenizerOptions
from stairs.train_job import TrainJob, check_model
from stairs.training.options import Schedule, TrainingOptions

Size = Literal["auto", "nano", "micro", "mini", "small", "base", "large", "paper"]


@dataclass(frozen=True)
class Train(TrainingOptions, TokenizerOptions, CorpusOptions, CommonFlags):
    model: Positional[str] = ""  # the model to train
    corpus: Positional[tuple[str, ...]] = ()  # files or folders of text; - is stdin
    pairs: tuple[str, ...] = ()  # for models that translate and unilm: two parallel files, a table with two columns, or `numbers`, names made by rule
    dev: tuple[str, ...] = ()  # held-out pairs: half for validation, half for the final test; if not given, some of --pairs
    backwards: bool = False  # translate from the second language into the first
    out: str | None = None  # run folder; runs/CORPUS-MODEL if not given
    size: Size = "auto"  # a named set of the model's settings; auto: with --budget what fits the time, the text and this machine, else mini
    batch_tokens: int | None = None  # type: ignore[assignment]  # tokens per update, over all workers; if not given, 2048, or as --size has it
    schedule: Schedule | None = None  # type: ignore[assignment]  # learning-rate schedule after warm-up; if not given, linear, or as --size has it
    warmup: float | None = None  # type: ignore[assignment]  # share of the training for learning-rate warm-up; if not given, 0.05, or as --size has it
    beta1: float | None = None  # type: ignore[assignment]  # AdamW's beta1; if not given, 0.9, or as --size has it
    beta2: float | None = None  # type: ignore[assignment]  # AdamW's beta2; if not given, 0.95, or as --size has it
    adam_epsilon: float | None = None  # type: ignore[assignment]  # AdamW's epsilon; if not given, 1e-8, or as --size has it
    weight_decay: float | None = None  # type: ignore[assignment]  # AdamW's weight decay, on matrices only; if not given, 0.01, or as --size has it
    clip: float | None = None  # type: ignore[assignment]  # maximum norm of the gradient, 0 for no limit; if not given, 1, or as --size has it
    dry_run: bool = False  # print what the training would take, and stop


class TrainCommand(NamedTuple):
    job: TrainJob
    json: bool
    dry_run: bool


def parse_training(arguments: list[str], command: str, about: str) -> TrainCommand:
    """The flags of the command and the settings of the model, which is its first word."""
    first = arguments[0] if arguments else ""
    if first not in DEFAULT_TOKENIZER and not {"-h", "--help"} & set(arguments):
        refuse_first_word(first, command)
    options = parse(Train, arguments, command, about.format(models=", ".join(DEFAULT_TOKENIZER)), CONFIGS.get(first))
    job = TrainJob.from_keywords(options.model, options.corpus, keywords_of(options, "model", "corpus", "dry_run"), is_typed=True)
    return TrainCommand(job, options.json, options.dry_run)


def refuse_first_word(word: str, command: str) -> None:
    if word.startswith("-"):
        raise BadInput(f"{word} stands where the model is expected; name the model first, as in: stairs {command} gpt notes.txt")
    check_model(word)
