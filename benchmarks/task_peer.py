"""Fine-tuning as the documentation of `transformers` does it: AutoModelFor..., float32, padded batches, AdamW, a learning rate that falls to zero.

python benchmarks/task_peer.py JOB.json    prints what it measured, as JSON
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from transformers import AutoTokenizer

from stairs.tasks.find_span import best_span
from stairs.tasks.metrics import label_metrics, linear_correlation, rank_correlation
from stairs.tasks.span_metrics import answer_metrics, tag_metrics
from stairs.text.labelled import read_examples

KINDS = {"classify": "SequenceClassification", "compare": "SequenceClassification", "tag": "TokenClassification", "span": "QuestionAnswering"}
STRIDE = 128
ASKED = ("labels", "start_positions", "end_positions")


class Peer:
    """One model, one task."""

    def __init__(self, job: dict[str, Any], train: list[Any]) -> None:
        self.job, self.example_kind = job, job["task"]
        self.tokenizer = AutoTokenizer.from_pretrained(job["weights"])
        self.scores = self.example_kind == "compare" and train[0].score is not None
        self.labels = [] if self.example_kind == "span" or self.scores else sorted({label for example in train for label in self.labels_of(example)})
        count = {} if self.example_kind == "span" else {"num_labels": max(len(self.labels), 1)}
        torch.manual_seed(job["seed"])
        self.model = getattr(transformers, f"AutoModelFor{KINDS[self.example_kind]}").from_pretrained(job["weights"], **count)

    def labels_of(self, example: Any) -> Any:
        return example.tags if self.example_kind == "tag" else [example.label]

    def encode_texts(self, examples: list[Any], targets: bool) -> list[dict[str, Any]]:
        """One entry for each row that is read."""
        cut: dict[str, Any] = {"truncation": True, "max_length": self.job["longest"]}
        if self.example_kind == "classify":
            found = [dict(self.tokenizer(example.text, **cut)) for example in examples]
        elif self.example_kind == "compare":
            found = [dict(self.tokenizer(example.first, example.second, **cut)) for example in examples]
        elif self.example_kind == "tag":
            return [self.tag_rows(example, cut) for example in examples]
        else:
            return [row for number, example in enumerate(examples) for row in self.windows(number, example, cut)]
        for entry, example in zip(found, examples, strict=True):
            if targets:
                entry["labels"] = float(example.score) if self.scores else self.labels.index(example.label)
        return found

    def tag_rows(self, example: Any, cut: dict[str, Any]) -> dict[str, Any]:
        given = self.tokenizer(list(example.words), is_split_into_words=True, **cut)
        words = given.word_ids()
        first = [word is not None and (place == 0 or words[place - 1] != word) for place, word in enumerate(words)]
        known = {label: number for number, label in enumerate(self.labels)}
        labels = [known.get(example.tags[word], -100) if stands else -100 for word, stands in zip(words, first, strict=True)]
        return {**dict(given), "labels": labels, "about": [(place, word) for place, word in enumerate(words) if first[place]]}

    def windows(self, number: int, example: Any, cut: dict[str, Any]) -> list[dict[str, Any]]:
        settings = {**cut, "truncation": "only_second", "stride": STRIDE}
        given = self.tokenizer(example.question, example.passage, return_overflowing_tokens=True, return_offsets_mapping=True, **settings)
        found = []
        for row, offsets in enumerate(given["offset_mapping"]):
            inside = [place for place, side in enumerate(given.sequence_ids(row)) if side == 1]
            start, end = 0, 0
            if example.answers:
                a, b = example.answers[0][0], example.answers[0][0] + len(example.answers[0][1])
                inside_answer = [place for place in inside if offsets[place][0] < b and offsets[place][1] > a]
                if inside_answer and offsets[inside_answer[0]][0] <= a and offsets[inside_answer[-1]][1] >= b:
                    start, end = inside_answer[0], inside_answer[-1]
            entry = {name: given[name][row] for name in ("input_ids", "attention_mask", "token_type_ids")}
            found.append({**entry, "start_positions": start, "end_positions": end, "about": (number, inside, offsets)})
        return found

    def batch(self, entries: list[dict[str, Any]]) -> dict[str, Tensor]:
        width = max(len(entry["input_ids"]) for entry in entries)
        found = {}
        for name in entries[0]:
            if name == "about":
                continue
            if isinstance(entries[0][name], list):
                filler = {"input_ids": self.tokenizer.pad_token_id, "labels": -100}.get(name, 0)
                found[name] = torch.tensor([entry[name] + [filler] * (width - len(entry[name])) for entry in entries])
            else:
                found[name] = torch.tensor([entry[name] for entry in entries])
        return found

    def train(self, examples: list[Any]) -> None:
        entries, job = self.encode_texts(examples, targets=True), self.job
        steps = -(-len(entries) // job["batch"]) * job["epochs"]
        optimizer = torch.optim.AdamW(self.model.parameters(), job["rate"], weight_decay=0.01)
        self.model.train()
        step = 0
        for epoch in range(job["epochs"]):
            order = np.random.default_rng(epoch).permutation(len(entries))
            for start in range(0, len(entries), job["batch"]):
                rising = max(round(0.05 * steps), 1)
                rate = job["rate"] * ((step + 1) / rising if step < rising else 1 - (step - rising + 1) / max(steps - rising + 1, 1))
                for group in optimizer.param_groups:
                    group["lr"] = rate
                loss = self.model(**self.batch([entries[i] for i in order[start : start + job["batch"]]])).loss
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimizer.step()
                step += 1

    @torch.no_grad()
    def evaluate(self, examples: list[Any]) -> dict[str, Any]:
        self.model.eval()
        entries = self.encode_texts(examples, targets=False)
        order = sorted(range(len(entries)), key=lambda i: len(entries[i]["input_ids"]))
        outputs: list[Any] = [None] * len(entries)
        for start in range(0, len(order), 32):
            numbers = order[start : start + 32]
            given = self.batch([entries[i] for i in numbers])
            output = self.model(**{name: value for name, value in given.items() if name not in ASKED})
            logits = torch.stack([output.start_logits, output.end_logits], -1) if self.example_kind == "span" else output.logits
            for i, own in zip(numbers, logits.numpy(), strict=True):
                outputs[i] = own
        if self.example_kind == "tag":
            guesses = []
            for example, entry, own in zip(examples, entries, outputs, strict=True):
                tags = ["O" if "O" in self.labels else self.labels[0]] * len(example.words)
                for place, word in entry["about"]:
                    tags[word] = self.labels[int(own[place].argmax())]
                guesses.append(tags)
            return tag_metrics([list(example.tags) for example in examples], guesses)
        if self.example_kind == "span":
            return self.span_scores(examples, entries, outputs)
        values = np.stack(outputs)
        if self.scores:
            truth = np.array([example.score for example in examples])
            guessed = values[:, 0].astype(np.float64)
            return {"spearman": rank_correlation(truth, guessed), "pearson": linear_correlation(truth, guessed)}
        return label_metrics([example.label for example in examples], [self.labels[i] for i in values.argmax(1)])

    def span_scores(self, examples: list[Any], entries: list[dict[str, Any]], outputs: list[Any]) -> dict[str, Any]:
        best = [(-np.inf, "")] * len(examples)
        for entry, own in zip(entries, outputs, strict=True):
            number, inside, offsets = entry["about"]
            score, i, j = best_span(own[inside, 0], own[inside, 1])
            if score > best[number][0]:
                best[number] = (score, examples[number].passage[offsets[inside[i]][0] : offsets[inside[j]][1]])
        return answer_metrics([[text for _, text in example.answers] for example in examples], [answer for _, answer in best])


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    torch.set_num_threads(job["threads"])
    train, test = (list(read_examples(job[part], job["task"]).examples) for part in ("train", "test"))
    peer = Peer(job, train)
    began = time.perf_counter()
    peer.train(train)
    trained = time.perf_counter() - began
    measured = peer.evaluate(test)
    print(json.dumps({"seconds": trained, "judging": time.perf_counter() - began - trained, "measured": measured}))


if __name__ == "__main__":
    main()
