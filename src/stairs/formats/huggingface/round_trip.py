"""Checks a written folder: read back from disk, it must give the same vectors, labels or words for some texts as the run.

Ids come from the written tokenizer.json with its special tokens, truncated as tokenizer_config.json says, and suppressed ids from
generation_config.json: none of it from the run. Weights and layers come from our own readers of the format.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer as Library

from stairs.errors import Unsupported, preview
from stairs.formats.huggingface import sentence_transformers, transformers_folder
from stairs.models.base import Model
from stairs.models.bert import BERT
from stairs.progress import quiet, say
from stairs.randomness import generator
from stairs.tasks import TEXT_KINDS, Encode, NextToken, Task
from stairs.tasks.choose import Choose
from stairs.tasks.classifier import softmax
from stairs.tasks.classify import Classify
from stairs.tasks.find_span import FindSpan
from stairs.tasks.label_sets import sigmoid
from stairs.tasks.masked_token import MaskedToken
from stairs.tasks.multilabel import MultiLabel
from stairs.tasks.parts.decoding import generate
from stairs.tasks.parts.encoder_features import EncodedInput, InputFormat, collate
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.regress import Regress
from stairs.tasks.tag import Tag
from stairs.tasks.translate import Translate
from stairs.text.batch import Batch
from stairs.text.tokenizers.spec import CONFIG_FILE, TOKENIZER_FILE, read_json
from stairs.text.tokenizers.tokenizer import Tokenizer

TOLERANCE = 1e-3  # of a number; words must be equal
SENTENCES = ("The cat sat on the mat, didn't it?", "In 2019 she paid €3.50 for two naïve books.", "我来到北京清华大学，今天天气很好。")
RANDOM_LENGTHS = (2, 9, 24)  # of texts made of random tokens
CONTINUATION_TOKENS = 20
BEAM_SIZES = (1, 4)
Differences = dict[str, float]  # the largest difference of each kind of number, and how many texts agree


def test_texts(tokenizer: Tokenizer, max_length: int | None) -> tuple[list[str], list[str]]:
    """Sentences and random tokens: texts that fit the model, and one that does not."""
    ids = [number for number in range(tokenizer.vocab_size) if number not in tokenizer.special_ids]
    random_texts = [torch.randint(len(ids), (size,), generator=generator(0, "texts", size)).tolist() for size in RANDOM_LENGTHS]
    texts = [*SENTENCES, *(tokenizer.decode([ids[number] for number in numbers]) for numbers in random_texts)]
    sizes = {text: len(tokenizer.encode(text)) for text in texts}
    short = [text for text, size in sizes.items() if size and (max_length is None or size <= max_length - 2)]
    if max_length is None or not short:
        return short, []
    return short, [" ".join(short * (max_length // sum(sizes[text] for text in short) + 2))]


class WrittenFolder:
    """A written folder as another tool sees it."""

    def __init__(self, folder: Path, task: Task) -> None:
        self.folder, self.preprocess = folder, task.tokenizer.preprocess  # which segments Chinese, where the tokenizer of the run does
        self.library = Library.from_file(str(folder / TOKENIZER_FILE))
        self.max_length = int(read_json(folder / CONFIG_FILE)["model_max_length"])
        self.library.enable_truncation(self.max_length)

    def row(self, first: str, second: str | None = None) -> EncodedInput:
        encoding = self.library.encode(self.preprocess(first), None if second is None else self.preprocess(second))
        return EncodedInput(encoding.ids, encoding.type_ids, 0)

    def generation(self) -> dict[str, Any]:
        return read_json(self.folder / transformers_folder.GENERATION)


def compare_folder(task: Task, folder: Path, format: str) -> Differences:
    task.trained_module.eval(), task.model.eval()
    written = WrittenFolder(folder, task)
    again: Task = sentence_transformers.read(folder) if format == "sentence-transformers" else transformers_folder.read(folder)
    short, long = test_texts(task.tokenizer, written.max_length)
    texts = [*short, *long] if reads_head(task) else short
    with quiet():  # messages about these texts would not concern the user
        differences: Differences = {"texts": len(texts), "difference": vector_difference(task, again, written, texts, format)}
    if format == "sentence-transformers":
        return differences
    if isinstance(task, Supervised) and isinstance(again, Supervised):
        differences["labels_difference"] = label_difference(task, again, written, short)
        warn_about_long_texts(task, again, written, long)
    elif isinstance(task, MaskedToken) and isinstance(again, MaskedToken):
        differences["words_difference"] = word_difference(task, again, written, short)
        if task.model.next_head is not None:
            differences["pairs_difference"] = pair_difference(task, again, written, short)
    elif isinstance(task, NextToken) and isinstance(again, NextToken):
        differences["continuations"] = check_continuations(task, again, written, short)
    elif isinstance(task, Translate) and isinstance(again, Translate):
        differences["translations"] = check_translations(task, again, written, short)
    return differences


def reads_head(task: Task) -> bool:
    """Whether `stairs embed` reads the head of a text that is too long, as other tools do."""
    return not isinstance(task, Encode) or task.long_text == "head"


def vector_difference(task: Task, again: Task, written: WrittenFolder, texts: list[str], format: str) -> float:
    """Of the vectors of `stairs embed`. A folder of transformers has no pooling of its own: there it is the mean."""
    uses_mean = format == "huggingface"
    ours = Encode(task.model, task.tokenizer, max_length=written.max_length).vectors(texts) if uses_mean else task.vectors(texts)
    reader = again if isinstance(again, Encode) and not uses_mean else Encode(again.model, again.tokenizer)
    theirs = []
    for text in texts:
        batch = collate([written.row(text)], again.tokenizer.pad)
        with torch.inference_mode():
            vector = reader.pool(again.model.encode(batch).float(), batch.real)[0].numpy()
        theirs.append(vector / max(np.linalg.norm(vector), 1e-12) if reader.normalize else vector)
    return largest_difference(ours, theirs, texts, "vectors")


def label_difference(task: Supervised, again: Supervised, written: WrittenFolder, texts: list[str]) -> float:
    """Of the outputs of the output layer: probabilities of labels, scores, or the logits of each token as start and end of a span."""
    input_format, encode = task.input_format, task.tokenizer.encode
    ours, theirs, compared = [], [], []
    for first, second in zip(texts, [None] * len(texts) if takes_single_texts(task) else texts[1:] + texts[:1], strict=True):
        if second is not None and not fits(task, written, first, second):
            continue
        compared.append(first)
        row = input_format.encode_one(encode(first)) if second is None else input_format.encode_pair(encode(first), encode(second))
        unit = task.settings["deviation"] if isinstance(task, Regress) else 1.0  # numbers come in any scale
        ours.append(head_outputs(task, row) / unit)
        theirs.append(head_outputs(again, written.row(first, second)) / unit)
    return largest_difference(ours, theirs, compared, "labels")


def takes_single_texts(task: Task) -> bool:
    return isinstance(task, Tag) or task.example_kind in TEXT_KINDS


@torch.inference_mode()
def head_outputs(task: Supervised, row: EncodedInput) -> np.ndarray:
    outputs = task.head(task.features(collate([row], task.tokenizer.pad)))[0].float().numpy()
    if isinstance(task, FindSpan | Choose):
        return outputs
    if isinstance(task, MultiLabel):
        return sigmoid(outputs)
    if isinstance(task, Regress):
        return np.asarray(task.settings["mean"] + task.settings["deviation"] * outputs)
    if isinstance(task, Classify) and not task.labels:
        return task.settings["low"] + (task.settings["high"] - task.settings["low"]) * outputs
    return softmax(outputs)


def warn_about_long_texts(task: Supervised, again: Supervised, written: WrittenFolder, texts: list[str]) -> None:
    """Other tools read the head of a text that is too long, whatever this run reads."""
    if task.example_kind not in TEXT_KINDS or task.long_text == "head":
        return
    for text in texts:
        ours = head_outputs(task, task.input_format.encode_one(task.tokenizer.encode(text)))
        difference = np.abs(ours - head_outputs(again, written.row(text))).max()
        if difference > TOLERANCE:
            length = f"a text of more than {written.max_length - 2} tokens"
            say(f"other tools read the head of {length}, this run reads {task.long_text}: the label probabilities differ by {difference:.2g}")


def word_difference(task: MaskedToken, again: MaskedToken, written: WrittenFolder, texts: list[str]) -> float:
    """Of the probabilities of every token in place of the last word of each text."""
    tokenizer, mask = task.tokenizer, task.tokenizer.mask
    ours, theirs = [], []
    for text in texts:
        before = text[: text.rfind(" ") + 1]  # with the space, which some tokenizers encode
        row = tokenizer.with_special_ids([*tokenizer.encode(before), mask], adds_end_token=True)[0]
        encoded = written.row(f"{before}{tokenizer.token(mask)}")
        if mask not in encoded.ids:
            raise mismatch("words", text, f"{tokenizer.token(mask)} is not read as a mask")
        ours.append(probabilities_at(task.model, row, mask))
        theirs.append(probabilities_at(again.model, encoded.ids, mask))
    return largest_difference(ours, theirs, texts, "words")


def pair_difference(task: MaskedToken, again: MaskedToken, written: WrittenFolder, texts: list[str]) -> float:
    """Of the probabilities of the next sentence."""
    input_format, encode = InputFormat(task.tokenizer, written.max_length), task.tokenizer.encode
    pairs = [(first, second) for first, second in zip(texts, texts[1:] + texts[:1], strict=True) if fits(task, written, first, second)]
    ours = [next_sentence_probabilities(task, input_format.encode_pair(encode(first), encode(second))) for first, second in pairs]
    theirs = [next_sentence_probabilities(again, written.row(*pair)) for pair in pairs]
    return largest_difference(ours, theirs, [first for first, _ in pairs], "pairs")


@torch.inference_mode()
def next_sentence_probabilities(task: MaskedToken, row: EncodedInput) -> np.ndarray:
    assert isinstance(task.model, BERT)
    return task.model.next_sentence_logits(task.model.encode(collate([row], task.tokenizer.pad)))[0].float().softmax(-1).numpy()


def fits(task: Task, written: WrittenFolder, first: str, second: str) -> bool:
    """Whether two texts fit into one row; each tool truncates longer ones in its own way."""
    return len(task.tokenizer.encode(first)) + len(task.tokenizer.encode(second)) <= written.max_length - 3


@torch.inference_mode()
def probabilities_at(model: Model, ids: list[int], mask: int) -> np.ndarray:
    row = torch.tensor([ids])
    return model.predict(Batch(row, torch.ones_like(row, dtype=torch.bool)))[0, ids.index(mask)].float().softmax(-1).numpy()


def check_continuations(task: NextToken, again: NextToken, written: WrittenFolder, texts: list[str]) -> int:
    """How many texts get the same greedy continuation: all of them."""
    settings, output_ids = written.generation(), list[int]()
    rules: dict[str, Any] = {"length": CONTINUATION_TOKENS, "stop": settings["eos_token_id"], "suppressed_ids": settings.get("suppress_tokens", ())}
    for text in texts:
        output_ids = generate(again.model, written.row(text).ids, **rules)
        ours = task.answer(text, length=CONTINUATION_TOKENS, top=1)["new"]
        continuation = task.tokenizer.decode(output_ids)
        if continuation != ours:
            raise mismatch("words", text, f"it continues with {preview(continuation)} instead of {preview(ours)}")
    warn_about_spaces(task, written, output_ids)
    return len(texts)


def check_translations(task: Translate, again: Translate, written: WrittenFolder, texts: list[str]) -> int:
    """How many texts get the same translation, greedily and with a beam: all of them."""
    output_ids: list[int] = []
    for text in texts:
        row = written.row(text).ids
        expected, first = task.tokenizer.with_special_ids(task.tokenizer.encode(text), adds_end_token=True)
        if row != expected:
            raise mismatch("words", text, "the tokenizer gives other ids")
        for beam_size in BEAM_SIZES:
            output_ids, ours = (one.search([row[first:-1]], beam_size)[0].hypotheses[0].ids for one in (again, task))
            if output_ids != ours:
                translations = f"{preview(task.tokenizer.decode(output_ids))} instead of {preview(task.tokenizer.decode(ours))}"
                raise mismatch("words", text, f"with a beam size of {beam_size} it becomes {translations}")
    warn_about_spaces(task, written, output_ids)
    return len(texts)


def warn_about_spaces(task: Task, written: WrittenFolder, ids: list[int]) -> None:
    """Other tools may join the same tokens differently."""
    ours, theirs = task.tokenizer.decode(ids), written.library.decode(ids)
    if ours != theirs:
        say(f"other tools join the tokens of a {task.tokenizer.spec.kind} tokenizer differently: {preview(theirs)} for {preview(ours)}")


def largest_difference(ours: Sequence[np.ndarray] | np.ndarray, theirs: Sequence[np.ndarray] | np.ndarray, texts: list[str], what: str) -> float:
    """The largest difference of two numbers; an error if it is too large."""
    worst = 0.0
    for text, own, other in zip(texts, ours, theirs, strict=True):
        if own.shape != other.shape:
            raise mismatch(what, text, f"{own.shape} numbers became {other.shape}")
        difference = float(np.abs(own - other).max())
        if not difference <= TOLERANCE:
            raise mismatch(what, text, f"they differ by {difference:.2g}")
        worst = max(worst, difference)
    return worst


def mismatch(what: str, text: str, how: str) -> Unsupported:
    return Unsupported(f"the written files give other {what} for {preview(text)} than the run: {how}; nothing was written, choose another format")
