"""What one asks of a model: every task by the name that runs know it by. A new task is a file of its own and a line in `PATHS`.

Free of torch: help texts, completion and pages read this before any model is loaded. A task's class is imported when it is first looked up.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from stairs.models.base import Model
    from stairs.tasks.bi_encoder import BiEncoder as BiEncoder
    from stairs.tasks.bidirectional import BidirectionalLM as BidirectionalLM
    from stairs.tasks.choose import Choose as Choose
    from stairs.tasks.classify import Classify as Classify
    from stairs.tasks.compare import Compare as Compare
    from stairs.tasks.crf_tagger import CrfTagger as CrfTagger
    from stairs.tasks.encode import Encode as Encode
    from stairs.tasks.find_span import FindSpan as FindSpan
    from stairs.tasks.hmm_tagger import HmmTagger as HmmTagger
    from stairs.tasks.label_set_classifier import NGramMultiLabel as NGramMultiLabel
    from stairs.tasks.label_set_classifier import TfidfMultiLabel as TfidfMultiLabel
    from stairs.tasks.masked_token import MaskedToken as MaskedToken
    from stairs.tasks.multilabel import MultiLabel as MultiLabel
    from stairs.tasks.next_token import NextToken as NextToken
    from stairs.tasks.ngram_classifier import NGramClassifier as NGramClassifier
    from stairs.tasks.overlap_spans import OverlapSpans as OverlapSpans
    from stairs.tasks.regress import Regress as Regress
    from stairs.tasks.sense import Sense as Sense
    from stairs.tasks.similar import Similar as Similar
    from stairs.tasks.tag import Tag as Tag
    from stairs.tasks.task import Task as Task
    from stairs.tasks.tfidf_choices import TfidfChoices as TfidfChoices
    from stairs.tasks.tfidf_classifier import TfidfClassifier as TfidfClassifier
    from stairs.tasks.tfidf_pairs import TfidfPairs as TfidfPairs
    from stairs.tasks.tfidf_regressor import TfidfRegressor as TfidfRegressor
    from stairs.tasks.translate import Translate as Translate
    from stairs.tasks.unified_lm import UnifiedLM as UnifiedLM
    from stairs.tasks.vector_classifier import VectorClassifier as VectorClassifier
    from stairs.tasks.vector_targets import VectorMultiLabel as VectorMultiLabel
    from stairs.tasks.vector_targets import VectorRegressor as VectorRegressor
    from stairs.tasks.word_vectors import WordVectors as WordVectors
    from stairs.text.tokenizers.tokenizer import Tokenizer

PATHS = {
    "next-token": "stairs.tasks.next_token:NextToken",
    "bidirectional-lm": "stairs.tasks.bidirectional:BidirectionalLM",
    "masked-token": "stairs.tasks.masked_token:MaskedToken",
    "unified-lm": "stairs.tasks.unified_lm:UnifiedLM",
    "word-vectors": "stairs.tasks.word_vectors:WordVectors",
    "encode": "stairs.tasks.encode:Encode",
    "translate": "stairs.tasks.translate:Translate",
    "classify-ngram": "stairs.tasks.ngram_classifier:NGramClassifier",
    "classify-tfidf": "stairs.tasks.tfidf_classifier:TfidfClassifier",
    "classify-vectors": "stairs.tasks.vector_classifier:VectorClassifier",
    "multilabel-ngram": "stairs.tasks.label_set_classifier:NGramMultiLabel",
    "multilabel-tfidf": "stairs.tasks.label_set_classifier:TfidfMultiLabel",
    "multilabel-vectors": "stairs.tasks.vector_targets:VectorMultiLabel",
    "regress-tfidf": "stairs.tasks.tfidf_regressor:TfidfRegressor",
    "regress-vectors": "stairs.tasks.vector_targets:VectorRegressor",
    "compare-tfidf": "stairs.tasks.tfidf_pairs:TfidfPairs",
    "tag-hmm": "stairs.tasks.hmm_tagger:HmmTagger",
    "tag-crf": "stairs.tasks.crf_tagger:CrfTagger",
    "choose-tfidf": "stairs.tasks.tfidf_choices:TfidfChoices",
    "find-span-overlap": "stairs.tasks.overlap_spans:OverlapSpans",
    "classify": "stairs.tasks.classify:Classify",
    "multilabel": "stairs.tasks.multilabel:MultiLabel",
    "regress": "stairs.tasks.regress:Regress",
    "compare": "stairs.tasks.compare:Compare",
    "bi-encoder": "stairs.tasks.bi_encoder:BiEncoder",
    "choose": "stairs.tasks.choose:Choose",
    "tag": "stairs.tasks.tag:Tag",
    "find-span": "stairs.tasks.find_span:FindSpan",
    "similar": "stairs.tasks.similar:Similar",
    "sense": "stairs.tasks.sense:Sense",
}
SUPERVISED_TASKS = {  # by the kind of their labelled examples
    "classify": "classify", "multilabel": "multilabel", "regress": "regress", "compare": "compare", "tag": "tag", "span": "find-span",
    "choose": "choose",
}  # fmt: skip
TEXT_KINDS = ("classify", "multilabel", "regress")  # examples of one text each
# Models that learn from labelled examples alone, and their tasks, by the kind of the examples: what everything else has to beat.
BASELINE_TASKS = {
    "classify": {"tfidf": "classify-tfidf", "ngram": "classify-ngram"},
    "multilabel": {"tfidf": "multilabel-tfidf", "ngram": "multilabel-ngram"},
    "regress": {"tfidf": "regress-tfidf"},
    "compare": {"tfidf": "compare-tfidf"},
    "tag": {"hmm": "tag-hmm", "crf": "tag-crf"},
    "span": {"overlap": "find-span-overlap"},
    "choose": {"tfidf": "choose-tfidf"},
}
TUNED_TASKS = {**SUPERVISED_TASKS, "sense": "sense", "similar": "similar"}  # by what `stairs tune --task` takes
TunedTask = Literal["classify", "multilabel", "regress", "compare", "tag", "span", "choose", "sense", "similar"]  # the same for type checkers


class Tasks(Mapping[str, "type[Task]"]):
    """The classes of `PATHS`."""

    def __getitem__(self, name: str) -> "type[Task]":
        module, _, class_name = PATHS[name].partition(":")
        found: type[Task] = getattr(import_module(module), class_name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(PATHS)

    def __len__(self) -> int:
        return len(PATHS)


TASKS = Tasks()


def pretraining_task(model: "Model", tokenizer: "Tokenizer") -> "Task":
    """The task by which a model learns from plain text, or from pairs of sentences."""
    return TASKS[model.pretrains_with](model, tokenizer)


def untrained_task(model: str, tokenizer: "Tokenizer", size: str, **settings: Any) -> "Task":
    """The same with a new model of a size, such as "mini", whose weights its training draws; `settings` are of its config."""
    from stairs.models.registry import MODELS
    from stairs.models.settings import SIZES, make_config

    config = make_config(model, tokenizer.vocabulary_settings, **{**SIZES[model][size], **settings})
    return pretraining_task(MODELS[model](config), tokenizer)


def __getattr__(name: str) -> Any:
    """`from stairs.tasks import Classify`."""
    if name == "Task":
        from stairs.tasks.task import Task

        return Task
    for task, path in PATHS.items():
        if path.endswith(f":{name}"):
            return TASKS[task]
    raise AttributeError(name)
