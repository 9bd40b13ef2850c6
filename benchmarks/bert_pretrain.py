"""What BERT mini learns from a Wikipedia in half an hour: trained on a text file, evaluated on held-out text on the way, then asked to fill blanks.

python benchmarks/bert_pretrain.py [--text corpora/wiki_en.txt.xz] [--budget 30m] [--out runs/pretrain] [--ask "Paris is the ___ of France." ...]

A finished run is not trained again, so the same command can ask it more questions.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from side_by_side import conditions, data
from stairs.pictures.climb import curves
from stairs.training.run import load as open_run

ASKED = {
    "en": ["The band released their first ___ in 1999.", "The film was directed ___ Steven Spielberg.", "He was ___ in London in 1950."],
    "zh": ["北京是中国的首___。", "他毕业于北京___学。", "这部电影由张艺谋___演。"],
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", default="corpora/wiki_en.txt.xz")
    parser.add_argument("--budget", default="30m")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/pretrain"))
    parser.add_argument("--ask", nargs="*")
    options = parser.parse_args()
    command = [sys.executable, "-m", "stairs", "train", "bert", data(options.text), "--budget", options.budget, "--threads", options.threads]
    subprocess.run([*map(str, command), "--out", str(options.out)], check=True)
    lines = [json.loads(line) for line in (options.out / "metrics.jsonl").read_text().splitlines()]
    evaluations = [line for line in lines if "masked_accuracy" in line]
    print(f"{'step':>8}{'minutes':>9}{'loss':>9}{'words':>9}{'pairs':>9}   {conditions()}")
    for line in evaluations:
        values = [line[name]["value"] for name in ("loss", "masked_accuracy", "next_sentence_accuracy")]
        print(f"{line['step']:8d}{line['seconds'] / 60:9.1f}" + "".join(f"{value:9.4f}" for value in values))
    points = [{"series": "BERT mini", "minutes": line["seconds"] / 60, "value": line["loss"]["value"]} for line in evaluations]
    curves(points, metric="loss on held-out text, nats", along="minutes").save(options.out / "curve.svg")
    task = open_run(options.out)
    for text in options.ask or ASKED["zh" if "zh" in options.text else "en"]:
        found = task.answer(text, top=5)
        print(f"{text}   " + ", ".join(f"{word['word']} {word['probability']:.1%}" for word in found["blanks"][0]["words"]))


if __name__ == "__main__":
    main()
