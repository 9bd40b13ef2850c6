"""What others get from the written files beside what the run gives: texts in; vectors, labels or words out.

The files are read back from disk. Ids come from the written tokenizer.json with the marks it puts around a text, cut where tokenizer_config.json
says, and what is never said from generation_config.json: none of it from the run. Weights and layers come from our own readers of the format.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer as Library

from stairs.errors import Unsupported, preview
from stairs.formats.huggingface import sentence_transformers, transformers_folder
from stairs.progress import quiet, say
from stairs.randomness import generator
from stairs.tasks import Encode, NextToken, Task
from stairs.tasks.classify import Classify, softmax
from stairs.tasks.find_span import FindSpan
from stairs.tasks.masked_token import MaskedToken
from stairs.tasks.parts.decoding import generate
from stairs.tasks.parts.rows import EncodedInput, InputFormat, collate
from stairs.tasks.parts.supervised import Supervised
from stairs.tasks.tag import Tag
from stairs.tasks.translate import Translate
from stairs.text.batch import Batch
from stairs.text.tokenizers.spec import CONFIG_FILE, TOKENIZER_FILE, read_json
from stairs.text.tokenizers.tokenizer import Tokenizer

TOLERANCE = 1e-3  # of a number; words must be the same
SENTENCES = ("The cat sat on the mat, didn't it?", "In 2019 she paid €3.50 for two naïve books.", "我来到北京清华大学，今天天气很好。")
RANDOM_LENGTHS = (2, 9, 24)  # tokens of the vocabulary, drawn, that a text is made of
CONTINUATION_TOKENS = 20  # tokens of a continuation
BEAM_SIZES = (1, 4)


def test_texts(tokenizer: Tokenizer, longest: int | None) -> tuple[list[str], list[str]]:
    """Real sentences and words of the vocabulary; those that can be read at once, and one that cannot."""
    ids = [number for number in range(tokenizer.vocab_size) if number not in tokenizer.special_ids]
    drawn = [torch.randint(len(ids), (size,), generator=generator(0, "texts", size)).tolist() for size in RANDOM_LENGTHS]
    texts = [*SENTENCES, *(tokenizer.decode([ids[place] for place in places]) for places in drawn)]
    sizes = {text: len(tokenizer.encode(text)) for text in texts}
    short = [text for text, size in sizes.items() if size and (longest is None or size <= longest - 2)]
    if longest is None or not short:
        return short, []
    return short, [" ".join(short * (longest // sum(sizes[text] for text in short) + 2))]


class WrittenFolder:
    """A written folder as another tool sees it."""

    def __init__(self, folder: Path, task: Task) -> None:
        self.folder, self.given = folder, task.tokenizer.preprocess  # Chinese must be cut into words before, where the run's tokenizer does
        self.library = Library.from_file(str(folder / TOKENIZER_FILE))
        self.longest = int(read_json(folder / CONFIG_FILE)["model_max_length"])
        self.library.enable_truncation(self.longest)

    def row(self, first: str, second: str | None = None) -> EncodedInput:
        found = self.library.encode(self.given(first), None if second is None else self.given(second))
        return EncodedInput(found.ids, found.type_ids, 0)

    def generation(self) -> dict[str, Any]:
        return read_json(self.folder / transformers_folder.GENERATION)


def compare_folder(task: Task, folder: Path, format: str) -> dict[str, Any]:
    """How far off the written folder is, by what is asked of it."""
    task.trained_module.eval(), task.model.eval()
    theirs = WrittenFolder(folder, task)
    again = sentence_transformers.read(folder) if format == "sentence-transformers" else transformers_folder.read(folder)
    short, long = test_texts(task.tokenizer, theirs.longest)
    read = [*short, *long] if reads_head(task) else short
    with quiet():  # nobody asked for these texts
        found: dict[str, Any] = {"texts": len(read), "difference": vector_difference(task, again, theirs, read, format)}
    if format == "sentence-transformers":
        return found
    if isinstance(task, Supervised):
        found["labels_difference"] = label_difference(task, again, theirs, short)
        warn_about_long_texts(task, again, theirs, long)
    elif isinstance(task, MaskedToken):
        found["words_difference"] = word_difference(task, again, theirs, short)
        if task.model.config.objective != "none":
            found["pairs_difference"] = pair_difference(task, again, theirs, short)
    elif isinstance(task, NextToken):
        found["continuations"] = check_continuations(task, again, theirs, short)
    elif isinstance(task, Translate):
        found["translations"] = check_translations(task, again, theirs, short)
    return found


def reads_head(task: Task) -> bool:
    """Whether `embed` reads the head of a text that is too long, as other tools do."""
    return not isinstance(task, Encode) or task.long_text == "head"


def vector_difference(task: Task, again: Any, theirs: WrittenFolder, texts: list[str], format: str) -> float:
    """The largest difference between the vectors of `stairs embed` and those of the folder. A folder of transformers has no pooling of its own:
    there it is the mean."""
    plain = format == "huggingface"
    ours = Encode(task.model, task.tokenizer, max_length=theirs.longest).vectors(texts) if plain else task.vectors(texts)
    reader = Encode(again.model, again.tokenizer) if plain else again
    found = []
    for text in texts:
        batch = collate([theirs.row(text)], again.tokenizer.pad)
        with torch.inference_mode():
            vector = reader.pooled(again.model.encode(batch).float(), batch.real)[0].numpy()
        found.append(vector / max(np.linalg.norm(vector), 1e-12) if reader.normalize else vector)
    return largest_difference(ours, found, texts, "vectors")


def label_difference(task: Supervised, again: Any, theirs: WrittenFolder, texts: list[str]) -> float:
    """Of what the layer on top says: chances of labels, scores, or how well each token begins and ends a span."""
    form, encode = task.input_format, task.tokenizer.encode
    ours, read, asked = [], [], []
    for first, second in zip(texts, [None] * len(texts) if takes_single_texts(task) else texts[1:] + texts[:1], strict=True):
        if second is not None and not fits(task, theirs, first, second):
            continue
        asked.append(first)
        ours.append(head_outputs(task, form.encode_one(encode(first)) if second is None else form.encode_pair(encode(first), encode(second))))
        read.append(head_outputs(again, theirs.row(first, second)))
    return largest_difference(ours, read, asked, "labels")


def takes_single_texts(task: Task) -> bool:
    return isinstance(task, Tag) or type(task) is Classify


@torch.inference_mode()
def head_outputs(task: Any, row: EncodedInput) -> np.ndarray:
    said = task.head(task.features(collate([row], task.tokenizer.pad)))[0].float().numpy()
    if isinstance(task, FindSpan):
        return said
    if isinstance(task, Classify) and not task.labels:
        return task.settings["low"] + (task.settings["high"] - task.settings["low"]) * said
    return softmax(said)


def warn_about_long_texts(task: Supervised, again: Any, theirs: WrittenFolder, texts: list[str]) -> None:
    """Of a text that is too long other tools read the head, whatever this run reads."""
    if type(task) is not Classify or task.long_text == "head":
        return
    for text in texts:
        off = np.abs(head_outputs(task, task.input_format.encode_one(task.tokenizer.encode(text))) - head_outputs(again, theirs.row(text))).max()
        if off > TOLERANCE:
            say(f"of a text of more than {theirs.longest - 2} tokens others read the head, this run {task.long_text}: its labels differ by {off:.2g}")


def word_difference(task: MaskedToken, again: Any, theirs: WrittenFolder, texts: list[str]) -> float:
    """Of the chances of every word in the place of the last one of each text."""
    tokenizer, mask = task.tokenizer, task.tokenizer.mask
    ours, read = [], []
    for text in texts:
        before = text[: text.rfind(" ") + 1]  # with the space, which some tokenizers read
        row = tokenizer.with_special_ids([*tokenizer.encode(before), mask], adds_end_token=True)[0]
        given = theirs.row(f"{before}{tokenizer.token(mask)}")
        if mask not in given.ids:
            raise mismatch("words", text, f"{tokenizer.token(mask)} is not read as a blank")
        ours.append(probabilities_at(task.model, row, mask))
        read.append(probabilities_at(again.model, given.ids, mask))
    return largest_difference(ours, read, texts, "words")


def pair_difference(task: MaskedToken, again: Any, theirs: WrittenFolder, texts: list[str]) -> float:
    """Of what the layer for pairs of sentences says, which transformers calls next sentence."""
    form, encode = InputFormat(task.tokenizer, theirs.longest), task.tokenizer.encode
    pairs = [(first, second) for first, second in zip(texts, texts[1:] + texts[:1], strict=True) if fits(task, theirs, first, second)]
    ours = [next_sentence_probabilities(task, form.encode_pair(encode(first), encode(second))) for first, second in pairs]
    return largest_difference(ours, [next_sentence_probabilities(again, theirs.row(*pair)) for pair in pairs], [first for first, _ in pairs], "pairs")


@torch.inference_mode()
def next_sentence_probabilities(task: Any, row: EncodedInput) -> np.ndarray:
    return task.model.next_sentence_logits(task.model.encode(collate([row], task.tokenizer.pad)))[0].float().softmax(-1).numpy()


def fits(task: Task, theirs: WrittenFolder, first: str, second: str) -> bool:
    """Whether two texts can be read at once; which of their tokens are left out otherwise is up to each tool."""
    return len(task.tokenizer.encode(first)) + len(task.tokenizer.encode(second)) <= theirs.longest - 3


@torch.inference_mode()
def probabilities_at(model: Any, ids: list[int], mask: int) -> np.ndarray:
    row = torch.tensor([ids])
    return model.predict(Batch(row, torch.ones_like(row, dtype=torch.bool)))[0, ids.index(mask)].float().softmax(-1).numpy()


def check_continuations(task: NextToken, again: Any, theirs: WrittenFolder, texts: list[str]) -> int:
    """How many texts are continued, greedily, with the same words: all of them."""
    settings, said = theirs.generation(), list[int]()
    rules: dict[str, Any] = {"length": CONTINUATION_TOKENS, "stop": settings["eos_token_id"], "forbidden": settings.get("suppress_tokens", ())}
    for text in texts:
        said = generate(again.model, theirs.row(text).ids, **rules)
        ours = task.answer(text, length=CONTINUATION_TOKENS, top=1)["new"]
        if task.tokenizer.decode(said) != ours:
            raise mismatch("words", text, f"it goes on with {preview(task.tokenizer.decode(said))} in place of {preview(ours)}")
    warn_about_spaces(task, theirs, said)
    return len(texts)


def check_translations(task: Translate, again: Any, theirs: WrittenFolder, texts: list[str]) -> int:
    """How many texts are translated into the same words, greedily and with a beam: all of them."""
    said: list[int] = []
    for text in texts:
        row = theirs.row(text).ids
        marked, first = task.tokenizer.with_special_ids(task.tokenizer.encode(text), adds_end_token=True)
        if row != marked:
            raise mismatch("words", text, "other ids are read")
        for beams in BEAM_SIZES:
            said, ours = (one.search([row[first:-1]], beams)[0].hypotheses[0].ids for one in (again, task))
            if said != ours:
                came = f"{preview(task.tokenizer.decode(said))} in place of {preview(task.tokenizer.decode(ours))}"
                raise mismatch("words", text, f"with a beam of {beams} it becomes {came}")
    warn_about_spaces(task, theirs, said)
    return len(texts)


def warn_about_spaces(task: Task, theirs: WrittenFolder, ids: list[int]) -> None:
    """The same tokens may be put together otherwise."""
    ours, read = task.tokenizer.decode(ids), theirs.library.decode(ids)
    if ours != read:
        say(f"other tools put the tokens of a {task.tokenizer.spec.kind} tokenizer together otherwise: {preview(read)} for {preview(ours)}")


def largest_difference(ours: Sequence[np.ndarray] | np.ndarray, read: Sequence[np.ndarray] | np.ndarray, texts: list[str], what: str) -> float:
    """The largest difference of two numbers; refuse one that is too large."""
    worst = 0.0
    for text, own, other in zip(texts, ours, read, strict=True):
        if own.shape != other.shape:
            raise mismatch(what, text, f"{own.shape} numbers became {other.shape}")
        off = float(np.abs(own - other).max())
        if not off <= TOLERANCE:
            raise mismatch(what, text, f"they differ by {off:.2g}")
        worst = max(worst, off)
    return worst


def mismatch(what: str, text: str, how: str) -> Unsupported:
    return Unsupported(f"read back, the {what} of {preview(text)} are not those of the run: {how}; nothing was written, choose another format")
