"""Words that look alike, in the softmax of an ELMo that makes its output vectors from characters (`--softmax cnn`; Jozefowicz et al. 2016,
"Exploring the Limits of Language Modeling"):

    p(w | h) = softmax(h tokens^T + b),   tokens_w = CNN(characters of w) + M c_w

CNN is a smooth function of the characters, so words that differ in one of them get almost the same vector whatever they mean, and h can hardly tell
them apart: the more frequent of the two wins. The correction M c_w is a short vector for each word, which moves them apart again.

Vectors are compared without their mean over all words: it adds the same to every logit, and the softmax does not see it.
"""

from typing import NamedTuple, TypedDict

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from stairs.errors import BadInput
from stairs.inspection.one_hot import cosines
from stairs.inspection.tokens import encode
from stairs.inspection.views import view
from stairs.inspection.words import Spellings
from stairs.kernels.edit_distance import FAR
from stairs.models.elmo import ELMo
from stairs.tasks import BidirectionalLM, Task
from stairs.text.chinese import has_han
from stairs.text.special import SPECIAL_TOKENS

PAIRS_SHOWN = 12
MIN_LENGTH, MIN_LENGTH_CHINESE = 3, 2  # characters of a word that has look-alikes
CHARACTERS_PER_EDIT = 3  # a longer word may differ in more of them


class LookAlike(TypedDict):
    word: str
    look_alike: str  # the word of the output vocabulary that is spelled most similarly
    edits: int  # characters in which they differ
    cosine_from_characters: float  # of their output vectors, without the correction
    cosine: float
    share_from_characters: float  # P(look-alike) / (P(word) + P(look-alike)) where the word stands in the text: above 1/2 it is mistaken
    share: float


class LookAlikesData(TypedDict):
    text: str
    correction_width: int
    pairs: list[LookAlike]
    mean_cosine_from_characters: float  # of words that do not look alike
    mean_cosine: float


class NearestSpelling(NamedTuple):
    id: int
    edits: int


class OutputSpellings:
    """The words that a model can predict, by their spelling."""

    def __init__(self, task: BidirectionalLM) -> None:
        self.words = task.tokenizer.vocabulary[len(SPECIAL_TOKENS) : task.model.output_vocab]
        self.spellings = Spellings(self.words)

    def look_alike(self, number: int) -> NearestSpelling | None:
        """The word with the smallest edit distance, and of equals the most frequent; a word that differs only in case does not count."""
        index = number - len(SPECIAL_TOKENS)
        word = self.words[index] if 0 <= index < len(self.words) else ""
        if len(word) < (MIN_LENGTH_CHINESE if has_han(word) else MIN_LENGTH) or not word.isalpha():
            return None
        distances = self.spellings.distances(word, max(1, len(word) // CHARACTERS_PER_EDIT))
        distances[distances == 0] = FAR
        nearest = int(distances.argmin())
        return NearestSpelling(nearest + len(SPECIAL_TOKENS), int(distances[nearest])) if distances[nearest] < FAR else None


def has_words_from_characters(task: Task) -> bool:
    return isinstance(task, BidirectionalLM) and task.model.config.softmax == "cnn"


@view(has_words_from_characters)
def look_alikes(task: BidirectionalLM, text: str) -> LookAlikesData:
    """Each word of a text and the word that looks most like it: how similar their output vectors are, and how much of the probability of both the
    wrong one gets; from the characters alone, and with the correction."""
    ids, output = encode(task, text), OutputSpellings(task)
    found = {number: similar for number in dict.fromkeys(ids) if (similar := output.look_alike(number)) is not None}
    pairs = dict(list(found.items())[:PAIRS_SHOWN])
    if not pairs:
        raise BadInput("no word of the text looks like another word that the run can predict; give a text with words such as from, form and farm")
    weights = weight_from_characters(task.model), task.model.output_weight.detach()
    words, others = list(pairs), [pair.id for pair in pairs.values()]
    of_pairs, of_others = zip(*(split_cosines(weight, words, others) for weight in weights), strict=True)
    shares = [share_of_look_alikes(task, ids, pairs, weight) for weight in weights]
    token = task.tokenizer.token
    entries: list[LookAlike] = [
        {
            "word": token(number), "look_alike": token(pair.id), "edits": pair.edits,
            "cosine_from_characters": of_pairs[0][i], "cosine": of_pairs[1][i],
            "share_from_characters": shares[0][number], "share": shares[1][number],
        }
        for i, (number, pair) in enumerate(pairs.items())
    ]  # fmt: skip
    return {
        "text": text, "correction_width": task.model.config.correction_width, "pairs": entries,
        "mean_cosine_from_characters": of_others[0], "mean_cosine": of_others[1],
    }  # fmt: skip


@torch.no_grad()
def weight_from_characters(model: ELMo) -> Tensor:
    """CNN(characters) of the whole output vocabulary, (V, D)."""
    return torch.cat([model.vectors_from_characters(part) for part in torch.arange(model.output_vocab).split(1 << 12)])


def split_cosines(weight: Tensor, words: list[int], similar: list[int]) -> tuple[list[float], float]:
    """The cosine of each word with its look-alike, and the mean cosine of the words with one another's; 0 if there is only one."""
    both = cosines((weight[[*words, *similar]] - weight.mean(0)).double().numpy())[: len(words), len(words) :]
    is_same = (np.array(words)[:, None] == np.array(similar)) | np.eye(len(words), dtype=bool)
    return np.diag(both).round(4).tolist(), round(float(both[~is_same].mean()), 4) if not is_same.all() else 0.0


@torch.no_grad()
def share_of_look_alikes(task: BidirectionalLM, ids: list[int], pairs: dict[int, NearestSpelling], weight: Tensor) -> dict[int, float]:
    """P(look-alike) / (P(word) + P(look-alike)), the mean over the places of each word in the text."""
    model, batch = task.model, task.batch([ids])
    hidden = model.run_lstms(model.forwards, model.words(batch))[0][-1][0]
    logits = linear(hidden, weight, model.output_bias)
    shares: dict[int, list[float]] = {number: [] for number in pairs}
    for position, number in enumerate(ids):
        if number in pairs:
            shares[number].append(float((logits[position, pairs[number].id] - logits[position, number]).sigmoid()))
    return {number: round(float(np.mean(own)), 4) for number, own in shares.items()}
