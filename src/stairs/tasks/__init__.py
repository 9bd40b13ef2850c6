"""What one asks of a model. A run names its task by these names."""

from stairs.tasks.ground import ByNGram, ByWords
from stairs.tasks.next_token import NextToken
from stairs.tasks.task import Task

TASKS: dict[str, type[Task]] = {task.name: task for task in (NextToken, ByNGram, ByWords)}
