"""What `stairs train` is asked for, and how it is made ready: the data, the tokenizer, the size that fits the time, the untrained task.

Everything that can be refused is refused before torch is imported and before a byte of the corpus is read.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from stairs.arguments import convert_fields
from stairs.data import TrainingData
from stairs.errors import BadInput
from stairs.files import refuse_inside
from stairs.keywords import as_paths, make, name_from, names_of, refuse_unknown, take
from stairs.models.settings import CONFIGS, DEFAULT_MIN_COUNT, DEFAULT_TOKENIZER, FROM_TOKENIZER, LABEL_MODELS, PAIR_MODELS, SIZES, TRANSLATION_MODELS
from stairs.models.settings.common import ModelConfig
from stairs.progress import say
from stairs.text.input_options import CorpusOptions, TokenizerOptions
from stairs.train_recipe import recipe_for
from stairs.training.options import INCOMPATIBLE, TrainingOptions
from stairs.training.recipe import Recipe, recipe_of_size
from stairs.training.run import RUN_FILE, check_run

if TYPE_CHECKING:
    from stairs.tasks import Task
    from stairs.text.examples import TranslationPair
    from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

Built = TypeVar("Built")


class TrainedRun(NamedTuple):
    folder: Path
    task: "Task"  # as its training left it; `load` gives the best weights
    metrics: dict[str, Any]  # the last line of metrics.jsonl; empty for a worker that only computes

    @property
    def summary(self) -> str:
        """The measurements on the test split, for a person."""
        if not self.metrics:
            return ""
        metrics, monitor = self.metrics, self.task.monitor
        more = f", perplexity {metrics['perplexity']['value']:.2f}" if "perplexity" in metrics else ""
        more += f", backwards {metrics['backward_perplexity']['value']:.2f}" if "backward_perplexity" in metrics else ""
        more += f", BLEU {metrics['bleu']['value']:.2f}, {metrics['exact_match']['value']:.1%} exact match" if "bleu" in metrics else ""
        value, low, high = (metrics[monitor][name] for name in ("value", "low", "high"))
        return f"{self.folder}: {value:.4f} {monitor.replace('_', ' ')} on test text ({low:.4f} to {high:.4f}){more}"


@dataclass(frozen=True)
class TrainJob:
    """One training. `training` and `settings` hold what was given: options of the training, and settings of the model."""

    model: str
    corpus: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    backwards: bool = False
    out: str | None = None
    size: str = "auto"
    reading: CorpusOptions = field(default_factory=CorpusOptions)
    tokenizing: TokenizerOptions = field(default_factory=TokenizerOptions)
    training: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def from_keywords(
        cls, model: str, corpus: str | Path | Sequence[str | Path], keywords: Mapping[str, object], is_typed: bool = False
    ) -> "TrainJob":
        """Keywords are fields of this class, of the options it holds, or settings of the model; None is the same as not given. Those of Python are
        checked and converted by the annotations; those of a command have their types."""
        check_model(model)
        given = {name: value for name, value in keywords.items() if value is not None}
        if not is_typed:
            for kind in (TrainingOptions, CorpusOptions, TokenizerOptions, CONFIGS[model]):
                given |= convert_fields(kind, {name: given[name] for name in names_of(kind) if name in given})
            given |= convert_fields(cls, {name: given[name] for name in ("size", "out", "backwards") if name in given})
        settings = [own.name for own in fields(CONFIGS[model]) if own.name not in FROM_TOKENIZER]
        training, reading, tokenizing = (take(given, names_of(kind)) for kind in (TrainingOptions, CorpusOptions, TokenizerOptions))
        known = take(given, ["pairs", "dev", "backwards", "out", "size"])
        own = take(given, settings)
        if given:
            refuse_unknown("train", next(iter(given)), [*names_of(TrainingOptions), *names_of(TokenizerOptions), *known, *settings])
        paths: dict[str, object] = {name: as_paths(known.pop(name)) for name in ("pairs", "dev") if name in known}
        job: TrainJob = make(
            cls, {"model": model, "corpus": as_paths(corpus), **paths, **known, "reading": make(CorpusOptions, reading),
                  "tokenizing": make(TokenizerOptions, tokenizing), "training": training, "settings": own},
        )  # fmt: skip
        job.check()
        return job

    def train(self, keep_interrupted: bool = False) -> TrainedRun:
        """Corpus, shards, task, fit. With `keep_interrupted`, Ctrl-C gives the task as learnt so far, without metrics."""
        job, recipe = self.with_recipe()
        tokenizer, data = job.read_data()
        task = job.new_task(tokenizer, recipe)
        from stairs.training.fit import fit

        try:
            return TrainedRun(job.folder, task, fit(task, data, job.folder, job.options))
        except KeyboardInterrupt:
            if not keep_interrupted or not any(job.folder.glob("step-*")):  # nothing was learnt, or it learns in one pass
                raise
            task.trained_module.cpu().eval()
            print(f"stopped: this is what was learnt so far; the same call of stairs.train goes on from there ({job.folder})", file=sys.stderr)
            return TrainedRun(job.folder, task, {})

    def check(self) -> None:
        """Refuse what cannot be trained so."""
        if self.model in TRANSLATION_MODELS and (self.corpus or not self.pairs):
            raise BadInput(f"{self.model} learns from pairs of sentences; give them as in: stairs train {self.model} --pairs train.en train.fr")
        if (self.pairs or self.dev or self.backwards) and self.model not in PAIR_MODELS:
            raise BadInput(f"--pairs, --dev and --backwards are for models that translate, and {self.model} reads text; try {', '.join(PAIR_MODELS)}")
        if self.corpus and (self.pairs or self.dev or self.backwards):
            raise BadInput(f"{self.model} learns from text or from --pairs, and both were given; train on the text first, then with --init-from RUN")
        if not self.pairs and not self.corpus:
            raise BadInput(f"no corpus given; name a text file: stairs train {self.model} notes.txt")
        if self.size not in ("auto", *SIZES[self.model]):
            raise BadInput(f"{self.model} has no size {self.size}; it has {', '.join(SIZES[self.model])}")
        self.options.check()

    @property
    def options(self) -> TrainingOptions:
        return make(TrainingOptions, self.training)

    @property
    def folder(self) -> Path:
        """Of the run; refused if it would lie in the corpus."""
        first = (self.pairs or self.corpus)[0]
        out = Path(self.out) if self.out else Path("runs") / f"{name_from(first) if first != '-' else 'stdin'}-{self.model}"
        refuse_inside(out, self.corpus)
        return out

    @property
    def spec(self) -> "TokenizerSpec":
        """The tokenizer to train."""
        kind = DEFAULT_TOKENIZER[self.model]
        if not self.pairs:
            return self.tokenizing.spec(kind, self.min_count)
        return self.tokenizing.spec_for_pairs(kind, are_number_names=self.has_number_names, have_chinese=self.has_chinese_pairs)

    @cached_property
    def translations(self) -> "list[TranslationPair]":
        """The pairs, before they are split."""
        from stairs.text.labelled.translation_splits import read_translations

        return read_translations(self.pairs, encoding=self.reading.encoding)

    @property
    def has_chinese_pairs(self) -> bool:
        from stairs.text.language import have_chinese

        return bool(self.pairs) and not self.has_number_names and have_chinese(self.translations)

    @property
    def min_count(self) -> int:
        return DEFAULT_MIN_COUNT.get(self.model, 1)

    @property
    def has_number_names(self) -> bool:
        if not self.pairs:
            return False
        from stairs.text.labelled.translation_splits import are_number_names

        return are_number_names(self.pairs)

    def with_recipe(self) -> tuple["TrainJob", Recipe]:
        """The job with what it leaves open filled in (size, batch, vocabulary, optimizer, dropout, masking), and the recipe that decided it. A run
        that exists, or one whose weights it starts from, keeps its own."""
        recipe = recipe_for(self)
        given = {name for name, value in self.training.items() if value != "auto"}
        excluded = {**INCOMPATIBLE, "warmup": ("warmup_steps",)}
        given |= {other for name, others in excluded.items() if self.training.get(name) for other in others}
        given |= {"stacking"} if self.settings.get("residual") is False else set()  # without residuals, a block that adds nothing leaves nothing
        given |= {"skipgram_tokens"} if self.pairs else set()  # sentences that are translated are no running text
        training = {**self.training, **{name: value for name, value in recipe.training.items() if name not in given}}
        tokenizing = self.tokenizing
        if tokenizing.vocab_size is None and tokenizing.tokenizer in (None, DEFAULT_TOKENIZER[self.model]):
            tokenizing = replace(tokenizing, vocab_size=recipe.vocab_size)
        return replace(self, size=recipe.size, training=training, tokenizing=tokenizing, settings={**recipe.settings, **self.settings}), recipe

    def validated_options(self) -> TrainingOptions:
        """How the model is trained; refuses options that it has no use for."""
        from stairs.models.registry import MODELS

        return self.options.validated(MODELS[self.model])

    def config(self, **from_tokenizer: object) -> ModelConfig:
        """The model's settings: of its size, but for those that were given."""
        kind = CONFIGS[self.model]
        known = {name: value for name, value in from_tokenizer.items() if name in names_of(kind)}  # not every model has a part for each special id
        return make(kind, kind.complete({**known, **SIZES[self.model]["mini" if self.size == "auto" else self.size], **self.settings}))

    def read_data(self) -> tuple["Tokenizer", TrainingData]:
        """The tokenizer, and the data as token ids or as pairs."""
        check_run(self.folder)
        self.validated_options()
        self.config(vocab_size=0)  # refuses settings that the model cannot have before the corpus is read
        spec = self.spec
        if not self.pairs:
            from stairs.text.corpus.corpus import open_corpus
            from stairs.text.shards import build_shards

            shards = build_shards(open_corpus(self.corpus, self.reading), self.kept_tokenizer() or spec)
            return shards.tokenizer, shards
        from stairs.tasks.parts.labelled_splits import LabelledSplits
        from stairs.text.labelled.translation_splits import split_translations
        from stairs.text.tokenizers.tokenizer import Tokenizer

        if spec.kind == "bpe" and self.tokenizing.tokenizer is None:
            say(f"one of the languages is Chinese, so tokens are made of whole characters (--tokenizer {spec.kind})")
        train, validation, test = split_translations(self.pairs, self.dev, seed=self.options.seed, encoding=self.reading.encoding)
        tokenizer = self.kept_tokenizer() or Tokenizer.train(spec, lambda: ([pair.source, pair.target] for pair in train))
        return tokenizer, LabelledSplits(train, validation, test=test)

    def kept_tokenizer(self) -> "Tokenizer | None":
        """The tokenizer of a file, or of a run whose weights go on with other text: its ids must mean the same."""
        goes_on = self.options.accept_new_corpus and (self.folder / RUN_FILE).exists()
        source = self.folder if goes_on else self.options.init_from
        if source is None:
            return self.tokenizing.read_file()
        from stairs.training.run import load_tokenizer

        return load_tokenizer(source)

    def new_task(self, tokenizer: "Tokenizer", recipe: Recipe | None = None) -> "Task":
        """The model's own task, untrained."""
        from stairs.models.registry import MODELS
        from stairs.tasks import pretraining_task

        task = pretraining_task(MODELS[self.model](self.config(**tokenizer.vocabulary_settings)), tokenizer)
        if self.backwards:
            task.backwards = True  # type: ignore[attr-defined]
        task.recipe = None if recipe in (None, recipe_of_size(self.model, "mini")) else asdict(recipe)
        return task


def check_model(model: str) -> None:
    if model in LABEL_MODELS:
        raise BadInput(f"{model} learns from labelled examples and not from plain text; try stairs tune {model} labels.csv")
    if model not in DEFAULT_TOKENIZER:
        near = get_close_matches(model.lower(), DEFAULT_TOKENIZER, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(DEFAULT_TOKENIZER)}"
        raise BadInput(f"there is no model {model!r} to train; {hint}")
