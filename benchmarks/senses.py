"""Word senses: learnt from SemCor by `stairs tune --task sense`, evaluated on the five standard sets, beside the most frequent sense.

python benchmarks/senses.py RUN [--limit 37000]
"""

import argparse
import json
import tempfile
from pathlib import Path

from side_by_side import conditions, data, stairs

SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--limit", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out, dev = Path(folder) / "senses", data("senses/semeval2007.tsv")
        flags = ["--task", "sense", "--dev", dev, "--limit", options.limit, "--out", out, "--quiet"]
        stairs("tune", options.run, data("senses/semcor3.tsv.xz"), *flags, cache=Path(folder))
        print(f"{'set':14}{'F1':>9}{'most frequent':>15}{'words':>8}   {conditions()}")
        for name in SETS:
            report = json.loads(stairs("score", out, data(f"senses/{name}.tsv"), "--json", "--quiet", cache=Path(folder)))
            print(f"{name:14}{report['f1']['value']:9.4f}{report['most_frequent_f1']['value']:15.4f}{report['words']:8d}", flush=True)


if __name__ == "__main__":
    main()
