"""Trainings in processes of their own, which can be killed, and what a finished one leaves behind."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

TRAIN_PROCESS = Path(__file__).with_name("train_process.py")


class TrainingServer:
    """Starts processes that train. Torch is imported once, in a server that forks."""

    def __init__(self, folder: Path, text: Path) -> None:
        self.folder, self.text = folder, text
        self.process = subprocess.Popen([sys.executable, str(TRAIN_PROCESS), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def request(self, **order) -> int:
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, out: Path, model: str, *, stopped: bool = False, text: Path | None = None, **settings) -> int:
        arguments = [str(out), str(text or self.text), model, *(f"{name}={json.dumps(value)}" for name, value in settings.items())]
        return self.request(arguments=arguments, log=str(self.log(out)), stopped=stopped)

    def wait(self, process: int) -> int:
        return self.request(wait=process)

    def train(self, out: Path, model: str, **settings) -> int:
        return self.wait(self.start(out, model, **settings))

    def log(self, out: Path) -> Path:
        return out.with_name(out.name + ".log")

    def messages(self, out: Path) -> str:
        return self.log(out).read_text()


def outcome(out: Path) -> dict:
    """The bits of a finished run: of the loss at every step, of every evaluation, and of the weights."""
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        for time in ("seconds", "cpu_seconds", "seconds_by_phase", "words_per_second"):
            row.pop(time, None)
    return {"rows": rows, "weights": hashlib.sha256((out / "model" / "model.safetensors").read_bytes()).hexdigest()}
