"""What `climb_peers.py` trains for others: gensim's word vectors, Kim's CNN, and the BERT and GPT-2 of transformers, within so many CPU seconds."""

import argparse
import itertools
import lzma
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from label_models import Predict, Splits
from label_peers import best, spaced
from stairs import machine
from stairs.text.examples import LabelledText

VOCABULARY, CONTEXT, ROWS = 8192, 128, 32  # rows of so many tokens in a batch
READ_LINES = 60_000  # of the text, at most, that an encoder of minutes gets to see
READING_SHARE = 0.7  # of a row's seconds; the rest is for the labels
EPOCHS, RATES, WARM_UP = 4, (3e-4, 1e-4), 0.1
WORD_WIDTH, WINDOW, MAPS, WIDTHS, MIN_EPOCHS = 100, 5, 100, (3, 4, 5), 5
C_GRID = (0.3, 1.0, 3.0, 10.0, 30.0)


def read_lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        yield from (line.strip() for line in lines if line.strip())


def gensim_vectors(given: argparse.Namespace, data: Splits, seconds: float) -> Callable[[str], list[np.ndarray]]:
    """The vectors of the words of a text that it knows, after one epoch over as much text as there is time for."""
    from gensim.models import Word2Vec

    cut = spaced(data)

    def words_of(lines: Iterable[str]) -> list[list[str]]:
        return [line.split() for line in cut([LabelledText(line, "") for line in lines])]

    sample = words_of(itertools.islice(read_lines(given.text), 3000))
    settings = {"vector_size": WORD_WIDTH, "window": WINDOW, "sg": 1, "negative": 5, "sample": 1e-3, "min_count": 5, "workers": 1, "seed": 0}
    began = time.process_time()
    Word2Vec(sample, epochs=1, **settings)
    words = int(sum(map(len, sample)) / (time.process_time() - began) * seconds)  # in the time there is
    lines, count = [], 0
    for line in read_lines(given.text):
        lines.append(line)
        count += len(line.split())
        if count >= words:
            break
    began = time.process_time()
    cut_lines = words_of(lines)
    given.began += time.process_time() - began  # which is not counted
    vectors = Word2Vec(cut_lines, epochs=1, **settings).wv
    return lambda text: [vectors[word] for word in words_of([text])[0] if word in vectors]


def gensim_mean(given: argparse.Namespace, data: Splits, seconds: float) -> Predict:
    from sklearn.linear_model import LogisticRegression

    look_up = gensim_vectors(given, data, seconds * READING_SHARE)

    def features(examples: Sequence[Any]) -> np.ndarray:
        means = np.stack([np.mean(look_up(example.text) or [np.zeros(WORD_WIDTH)], 0) for example in examples])
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)

    train, labels = features(data.train), [example.label for example in data.train]

    def fit(strength: float) -> Predict:
        model = LogisticRegression(C=strength, max_iter=1000).fit(train, labels)
        return lambda examples: model.predict(features(examples)).tolist()

    return best([lambda strength=strength: fit(strength) for strength in C_GRID], data)  # type: ignore[misc]


class KimCNN(nn.Module):
    """Windows of three, four and five words, the maximum of each map, dropout and a linear layer."""

    def __init__(self, table: np.ndarray, labels: int) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(torch.from_numpy(table), freeze=False, padding_idx=0)
        self.windows = nn.ModuleList(nn.Conv1d(table.shape[1], MAPS, width, padding=width - 1) for width in WIDTHS)
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(MAPS * len(WIDTHS), labels))

    def forward(self, ids: Tensor) -> Tensor:
        vectors = self.words(ids).transpose(1, 2)
        return self.head(torch.cat([torch.relu(window(vectors)).amax(2) for window in self.windows], 1))


def kim_cnn(given: argparse.Namespace, data: Splits, seconds: float) -> Predict:
    cut, labels = spaced(data), sorted({example.label for example in data.train})
    look_up = gensim_vectors(given, data, seconds / 2)
    known = {word: number for number, word in enumerate(dict.fromkeys(word for text in cut(data.train) for word in text.split()), 1)}
    own = {word: (look_up(word) or [np.random.default_rng(number).normal(0, 0.1, WORD_WIDTH)])[0] for word, number in known.items()}
    table = np.stack([np.zeros(WORD_WIDTH), *own.values()]).astype(np.float32)
    torch.manual_seed(0)
    model = KimCNN(table, len(labels))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def ids(examples: Sequence[Any]) -> Tensor:
        rows = [torch.tensor([known.get(word, 0) for word in text.split()][:256] or [0]) for text in cut(examples)]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True)

    def predict(examples: Sequence[Any]) -> list[Any]:
        model.eval()
        with torch.no_grad():
            parts = [model(ids(examples[start : start + 64])).argmax(1).tolist() for start in range(0, len(examples), 64)]
        return [labels[number] for part in parts for number in part]

    gold, top, kept, epochs = [example.label for example in data.dev], -1.0, model.state_dict(), 0
    while time.process_time() - given.began < seconds or epochs < MIN_EPOCHS:
        epochs += 1
        model.train()
        for part in np.array_split(torch.randperm(len(data.train)).numpy(), len(data.train) // 50):
            batch = [data.train[i] for i in part]
            nn.functional.cross_entropy(model(ids(batch)), torch.tensor([labels.index(example.label) for example in batch])).backward()
            optimizer.step()
            optimizer.zero_grad()
        right = float(np.mean([a == b for a, b in zip(predict(data.dev), gold, strict=True)]))
        if right > top:
            top, kept = right, {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(kept)
    return predict


def pretrain(model: nn.Module, batches: Iterator[dict[str, Tensor]], rate: float, seconds: float, **adam: Any) -> None:
    """By AdamW, with a rate that rises and falls to zero by the clock of the processor."""
    optimizer = torch.optim.AdamW(model.parameters(), rate, fused=True, **adam)
    began = time.process_time()
    model.train()
    while (done := (time.process_time() - began) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = rate * min(done / WARM_UP, (1 - done) / (1 - WARM_UP))
        with torch.autocast("cpu", torch.bfloat16) if machine.has_bf16() else nullcontext():
            loss = model(**next(batches)).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def token_rows(given: argparse.Namespace, tokenizer: Any) -> np.ndarray:
    """As much text as could be read, in rows."""
    lines = list(itertools.islice(read_lines(given.text), READ_LINES))
    ids = [number for start in range(0, len(lines), 1000) for own in tokenizer(lines[start : start + 1000])["input_ids"] for number in own]
    return np.array(ids[: len(ids) // CONTEXT * CONTEXT], np.int64).reshape(-1, CONTEXT)


def batches_of(rows: np.ndarray, collate: Callable[[list[Tensor]], dict[str, Tensor]]) -> Iterator[dict[str, Tensor]]:
    for epoch in itertools.count():
        for part in np.array_split(np.random.default_rng(epoch).permutation(len(rows)), len(rows) // ROWS):
            yield collate([torch.from_numpy(rows[i]) for i in part])


def tune(folder: Path, data: Splits, labels: list[str], tokenizer: Any) -> Predict:
    """All weights, at each of the rates; the better one on the validation examples."""
    from transformers import AutoModelForSequenceClassification

    def encode(examples: Sequence[Any]) -> dict[str, Tensor]:
        return dict(tokenizer([example.text for example in examples], padding=True, truncation=True, max_length=CONTEXT, return_tensors="pt"))

    def fit(rate: float) -> Predict:
        torch.manual_seed(0)
        model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=len(labels), pad_token_id=tokenizer.pad_token_id)
        optimizer, steps, step = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01), EPOCHS * -(-len(data.train) // ROWS), 0
        model.train()
        for _ in range(EPOCHS):
            for part in np.array_split(torch.randperm(len(data.train)).numpy(), -(-len(data.train) // ROWS)):
                optimizer.param_groups[0]["lr"] = rate * min(step / (WARM_UP * steps), (1 - step / steps) / (1 - WARM_UP))
                batch = [data.train[i] for i in part]
                model(**encode(batch), labels=torch.tensor([labels.index(example.label) for example in batch])).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                step += 1
        model.eval()

        def predict(examples: Sequence[Any]) -> list[Any]:
            with torch.no_grad():
                parts = [model(**encode(examples[start : start + 64])).logits.argmax(1).tolist() for start in range(0, len(examples), 64)]
            return [labels[number] for part in parts for number in part]

        return predict

    return best([lambda rate=rate: fit(rate) for rate in RATES], data)  # type: ignore[misc]


def transformers_bert(given: argparse.Namespace, data: Splits, seconds: float) -> Predict:
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast, DataCollatorForLanguageModeling

    words = BertWordPieceTokenizer()
    words.train_from_iterator(itertools.islice(read_lines(given.text), READ_LINES), VOCABULARY, show_progress=False)
    words.save(str(given.out / "wordpiece.json"))
    tokenizer = BertTokenizerFast(tokenizer_file=str(given.out / "wordpiece.json"))
    rows, collator = token_rows(given, tokenizer), DataCollatorForLanguageModeling(tokenizer, seed=0)
    torch.manual_seed(0)
    size = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512, "max_position_embeddings": 512}
    model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **size))
    return read_then_learn(given, data, seconds, model, tokenizer, batches_of(rows, lambda own: dict(collator(own))), 5e-4, weight_decay=0.01)


def transformers_gpt(given: argparse.Namespace, data: Splits, seconds: float) -> Predict:
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    pairs = ByteLevelBPETokenizer()
    pairs.train_from_iterator(itertools.islice(read_lines(given.text), READ_LINES), VOCABULARY, special_tokens=["<|endoftext|>"], show_progress=False)
    pairs.save(str(given.out / "byte-bpe.json"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(given.out / "byte-bpe.json"), eos_token="<|endoftext|>", pad_token="<|endoftext|>")
    rows = token_rows(given, tokenizer)
    torch.manual_seed(0)
    drops = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_positions=2 * CONTEXT, n_embd=128, n_layer=4, n_head=4, **drops))
    batches = batches_of(rows, lambda own: {"input_ids": torch.stack(own), "labels": torch.stack(own)})
    return read_then_learn(given, data, seconds, model, tokenizer, batches, 1e-3, betas=(0.9, 0.95), weight_decay=0.1)


def read_then_learn(
    given: argparse.Namespace, data: Splits, seconds: float, model: Any, tokenizer: Any, batches: Iterator[dict[str, Tensor]], rate: float,
    **adam: Any,
) -> Predict:  # fmt: skip
    given.began = time.process_time()  # the text is cut
    pretrain(model, batches, rate, seconds * READING_SHARE, **adam)
    folder = given.out / type(model).__name__
    model.save_pretrained(folder)
    return tune(folder, data, sorted({example.label for example in data.train}), tokenizer)
