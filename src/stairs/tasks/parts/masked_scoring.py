"""Two scores of a BERT besides the words for a blank: whether one text follows another, and how well each token of a text fits."""

from typing import TYPE_CHECKING

import torch

from stairs.errors import BadInput, preview
from stairs.tasks.answers import PseudoLikelihoodAnswer, SentencePairAnswer
from stairs.tasks.parts.sentence_pairs import NEXT
from stairs.text.batch import IGNORE_INDEX, Batch

if TYPE_CHECKING:
    from stairs.tasks.parts.blanks import BlankFilling

POSITIONS = 8192  # in a batch
MEASURE = "a pseudo-likelihood, not the probability of the text"


@torch.no_grad()
def sentence_pair(task: "BlankFilling", first: str, second: str) -> SentencePairAnswer:
    """Whether the second text follows the first; for a model of sentence order, whether the two are exchanged."""
    model, tokenizer = task.model, task.tokenizer
    a, b = task.ids_of(first), task.ids_of(second)
    limit, truncation = model.config.context - 3, None
    if len(a) + len(b) > limit:
        half = max(limit // 2, limit - len(b))
        truncation = task.note_truncation(len(a) + len(b), limit, "the end of the first and the beginning of the second text")
        a, b = a[-half:], b[: limit - min(len(a), half)]
    ids = torch.tensor([[tokenizer.begin, *a, tokenizer.end, *b, tokenizer.end]])
    segments = torch.tensor([[0] * (len(a) + 2) + [1] * (len(b) + 1)])
    hidden = model.encode(Batch(ids, torch.ones_like(ids, dtype=torch.bool), segments=segments))
    probability = float(model.next_sentence_logits(hidden).float().softmax(-1)[0, NEXT])
    no = "exchanged" if model.config.objective == "sentence-order" else "does not follow"
    verdict = "follows" if probability >= 0.5 else no
    answer: SentencePairAnswer = {"first": first, "second": second, "verdict": verdict, "next_sentence_probability": probability}
    if truncation is not None:
        answer["truncation"] = truncation
    return answer


@torch.no_grad()
def pseudo_log_likelihood(task: "BlankFilling", text: str) -> PseudoLikelihoodAnswer:
    """The log-probability of each token when it alone is masked, and their sum (Salazar et al. 2020). It is not the probability of the text, since
    every token is predicted from all the others: it cannot be compared with that of a model that reads from left to right."""
    tokenizer, ids = task.tokenizer, task.ids_of(text)
    if len(ids) > task.max_tokens:
        raise BadInput(f"{preview(text)} has {len(ids)} tokens and this bert reads {task.max_tokens}; give a shorter text")
    row = torch.tensor([tokenizer.begin, *ids, tokenizer.end])
    log_probabilities: list[float] = []
    for positions in torch.split(torch.arange(1, len(ids) + 1), max(POSITIONS // len(row), 1)):
        rows = row.repeat(len(positions), 1)
        targets = torch.full_like(rows, IGNORE_INDEX)
        numbers = torch.arange(len(positions))
        targets[numbers, positions] = rows[numbers, positions]
        rows[numbers, positions] = tokenizer.mask
        log_probabilities += task.model.log_likelihood(Batch(rows, torch.ones_like(rows, dtype=torch.bool), targets)).sum(1).tolist()
    return {
        "text": text,
        "pseudo_log_likelihood": sum(log_probabilities),
        "tokens": [{"token": tokenizer.token(i), "log_probability": value} for i, value in zip(ids, log_probabilities, strict=True)],
        "measure": MEASURE,
    }
