"""Which of four sentences continues this description? Multiple choice made of the documentation of the running Python.

As in SWAG (Zellers et al. 2018), the context is a beginning and one of the choices is what follows it. The wrong ones follow other beginnings in the
same module, so that they are about the same things: names of modules and packages alone do not tell. Guessing is right in a quarter.

Departures: the wrong choices are sentences that people wrote elsewhere, not ones that a language model wrote and another model could not reject.
"""

from collections import defaultdict
from hashlib import blake2b
from itertools import pairwise

from stairs.text.embedded.docstrings import Docstring
from stairs.text.embedded.python_prose import docstring_paragraphs, shuffle_by_content, strip_markup
from stairs.text.embedded.reflow import DEFINITION, ITEM
from stairs.text.examples import MultipleChoice
from stairs.text.sentences import split_sentences

CHOICES = 4
MIN_WORDS, MAX_WORDS = 5, 40  # of a sentence


def continuation_examples() -> list[MultipleChoice]:
    """A sentence, and which of four comes after it; at most one from each docstring."""
    by_module: dict[str, dict[str, tuple[str, Docstring]]] = defaultdict(dict)
    for docstring, parts in docstring_paragraphs():
        prose = [part.text for part in parts if part.kind == "prose" and not DEFINITION.match(part.text) and not ITEM.match(part.text)]
        sentences = [" ".join(strip_markup(sentence).split()) for text in prose for sentence in split_sentences(text)]
        pair = next(((one, two) for one, two in pairwise(sentences) if fits(one) and fits(two) and one != two), None)
        if pair is not None:
            by_module[docstring.module].setdefault(pair[1], (pair[0], docstring))
    examples = []
    for following in by_module.values():
        ordered = shuffle_by_content(following.items(), key=lambda item: item[0])
        for start in range(0, len(ordered) - CHOICES + 1, CHOICES):
            group = ordered[start : start + CHOICES]
            texts = tuple(text for text, _ in group)
            # Each of the four is right for one context: no choice gives itself away.
            if len({context for _, (context, _) in group}) == CHOICES and not {context for _, (context, _) in group} & set(texts):
                examples += [rotate(context, texts, own, docstring) for own, (_, (context, docstring)) in enumerate(group)]
    return shuffle_by_content(examples, key=lambda example: example.context + example.right_choice)


def fits(sentence: str) -> bool:
    return MIN_WORDS <= len(sentence.split()) <= MAX_WORDS


def rotate(context: str, texts: tuple[str, ...], right: int, docstring: Docstring) -> MultipleChoice:
    """The choices in an order that follows from the context, so that no place is more often right."""
    turn = blake2b(context.encode(), digest_size=2).digest()[0] % CHOICES
    return MultipleChoice(context, texts[turn:] + texts[:turn], (right - turn) % CHOICES, docstring.where, docstring.module)
