"""WordTagger: a tag for every word of a sentence, learnt from the tagged words alone; `hmm_tagger.py` and `crf_tagger.py` are such."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

from stairs.errors import BadInput
from stairs.tasks.answers import Answer, TagsAnswer
from stairs.tasks.config_file import TaskConfig
from stairs.tasks.from_examples import FromExamples
from stairs.tasks.parts.tag_sequences import check_tags, tags_answer
from stairs.text.examples import TaggedSentence
from stairs.text.segmentation import Segmentation
from stairs.text.tokenizers.tokenizer import Tokenizer


class WordTagger(FromExamples):
    example_kind = "tag"

    def __init__(self, tokenizer: Tokenizer, labels: list[str], segmentation: Segmentation) -> None:
        self.tokenizer, self.labels, self.segmentation = tokenizer, labels, segmentation

    @abstractmethod
    def tag_words(self, words: Sequence[str]) -> list[str]:
        """The tags of a sentence, at least a word long."""

    def check_examples(self, examples: Sequence[TaggedSentence]) -> None:
        for example in examples:
            check_tags(example, self.labels)

    def predict_examples(self, examples: Sequence[TaggedSentence]) -> list[Any]:
        return [self.tag_words(example.words) if example.words else [] for example in examples]

    def answer(self, text: str) -> TagsAnswer:
        """The words of a text with their tags, as `tag` gives them."""
        words, positions, source = self.segmentation.segment(text)
        if not words:
            raise BadInput("there are no words in the text; give a text with words")
        return tags_answer(text, words, self.tag_words(words), positions, source, self.labels)

    def summary(self, answer: Answer) -> str:
        tagged = cast(TagsAnswer, answer)
        return " ".join(f"{word}/{tag}" for word, tag in zip(tagged["words"], tagged["tags"], strict=True))

    def describe(self) -> TaskConfig:
        return {**super().describe(), "settings": {"segmentation": asdict(self.segmentation)}}
