"""Sentences whose tags follow from their dependency trees alone: a word is tagged by whether it hangs on the marked word, or that on it."""

import numpy as np

from stairs.text.examples import ParsedSentence

MARK, WORDS = "soup", ("rice", "rain", "Rome")


def parsed_sentences(count, seed=0):
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        order = random.permutation(int(random.integers(3, 8)))
        heads = np.zeros(len(order), int)
        for place, word in enumerate(order[1:], 1):
            heads[word] = order[random.integers(0, place)] + 1
        marked = int(random.integers(len(order)))
        words = [str(word) for word in random.choice(WORDS, len(order))]
        words[marked] = MARK
        is_near = [heads[word] == marked + 1 or heads[marked] == word + 1 for word in range(len(order))]
        tags = tuple("NEAR" if near else "FAR" for near in is_near)
        made.append(ParsedSentence(tuple(words), tags, f"file:{number}", heads=tuple(heads.tolist())))
    return made


def as_conllu(sentences):
    """The text of a CoNLL-U file."""
    lines = []
    for sentence in sentences:
        for number, (word, tag, head) in enumerate(zip(sentence.words, sentence.tags, sentence.heads, strict=True), 1):
            lines.append(f"{number}\t{word}\t_\t{tag}\t_\t_\t{head}\t{'dep' if head else 'root'}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"
