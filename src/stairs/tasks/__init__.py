"""What one asks of a model. A run names its task by these names."""

from stairs.tasks.by_vectors import ByVectors
from stairs.tasks.encode import Encode
from stairs.tasks.ground import ByNGram, ByWords
from stairs.tasks.masked_token import MaskedToken
from stairs.tasks.next_token import NextToken
from stairs.tasks.task import Task
from stairs.tasks.window import Window

TASKS: dict[str, type[Task]] = {task.name: task for task in (NextToken, MaskedToken, Window, ByNGram, ByWords, ByVectors, Encode)}
