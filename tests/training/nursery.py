"""Trainings in processes of their own, which can be killed, and what a finished one leaves."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

TRAINEE = Path(__file__).with_name("trainee.py")


class Nursery:
    """Processes that train. Torch is imported once, in a server that forks."""

    def __init__(self, folder: Path, text: Path) -> None:
        self.folder, self.text = folder, text
        self.server = subprocess.Popen([sys.executable, str(TRAINEE), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **order) -> int:
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())

    def start(self, out: Path, step: str, *, stopped: bool = False, text: Path | None = None, **given) -> int:
        words = [str(out), str(text or self.text), step, *(f"{name}={json.dumps(value)}" for name, value in given.items())]
        return self.ask(words=words, log=str(self.log(out)), stopped=stopped)

    def wait(self, number: int) -> int:
        return self.ask(wait=number)

    def train(self, out: Path, step: str, **given) -> int:
        return self.wait(self.start(out, step, **given))

    def log(self, out: Path) -> Path:
        return out.with_name(out.name + ".log")

    def said(self, out: Path) -> str:
        return self.log(out).read_text()


def outcome(out: Path) -> dict:
    """The bits of a finished run: of the loss at every step, of every evaluation, and of the weights."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        for clock in ("seconds", "cpu_seconds", "seconds_by_phase", "words_per_second"):
            line.pop(clock, None)
    return {"lines": lines, "weights": hashlib.sha256((out / "model" / "model.safetensors").read_bytes()).hexdigest()}
