"""What one asks of a model. A run names its task by these names."""

from stairs.models.base import Model
from stairs.tasks.baselines import NGramClassifier, TfidfClassifier
from stairs.tasks.bi_encoder import BiEncoder
from stairs.tasks.bidirectional import BidirectionalLM
from stairs.tasks.classify import Classify
from stairs.tasks.compare import Compare
from stairs.tasks.encode import Encode
from stairs.tasks.find_span import FindSpan
from stairs.tasks.masked_token import MaskedToken
from stairs.tasks.next_token import NextToken
from stairs.tasks.sense import Sense
from stairs.tasks.similar import Similar
from stairs.tasks.tag import Tag
from stairs.tasks.task import Task
from stairs.tasks.translate import Translate
from stairs.tasks.vector_classifier import VectorClassifier
from stairs.tasks.word_vectors import WordVectors
from stairs.text.tokenizers.tokenizer import Tokenizer

TEXT_TASKS = (NextToken, BidirectionalLM, MaskedToken, WordVectors, Encode, Translate)
LABEL_TASKS = (NGramClassifier, TfidfClassifier, VectorClassifier, Classify, Compare, BiEncoder, Tag, FindSpan, Similar, Sense)
TASKS: dict[str, type[Task]] = {task.name: task for task in (*TEXT_TASKS, *LABEL_TASKS)}


def pretraining_task(model: Model, tokenizer: Tokenizer) -> Task:
    """The task by which a model learns from plain text, or from pairs of sentences."""
    return TASKS[model.pretrains_with](model, tokenizer)
