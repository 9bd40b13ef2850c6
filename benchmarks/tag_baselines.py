"""Taggers without an encoder, `hmm` and `crf`, beside python-crfsuite, on the same sentences.

python benchmarks/tag_baselines.py [--sets conll2003 msra] [--sentences 5000] [--test-sentences 3453] [--own-features]

The peer has the features of its tutorial without parts of speech (lower case, last letters, capitals and digits of the word; lower case and capitals
of its neighbours), and two settings: those of its own tutorial (c1 1, c2 0.001) and of sklearn-crfsuite's (0.1 and 0.1), 100 iterations of L-BFGS
each. With --own-features it is also trained on the features of our `crf`. CPU seconds are of this process: features and training, then features and
tagging.
"""

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from side_by_side import conditions, data
from stairs.progress import quiet
from stairs.tasks.crf_tagger import CrfTagger, feature_rows
from stairs.tasks.hmm_tagger import HmmTagger
from stairs.tasks.metrics import PairedBootstrap
from stairs.tasks.outcomes import outcomes, statistic
from stairs.tasks.span_metrics import tag_metrics
from stairs.text.examples import TaggedSentence
from stairs.text.labelled import read_examples

SETS = {"conll2003": ("tags/conll2003/train.bio.tsv", "tags/conll2003/test.bio.tsv"), "msra": ("tags/msra/train.tsv.xz", "tags/msra/test.tsv")}
SETTINGS = {"c1 1, c2 0.001": (1.0, 1e-3), "c1 0.1, c2 0.1": (0.1, 0.1)}
Features = Callable[[Sequence[str]], list[list[str]]]
Train = Callable[[Sequence[TaggedSentence], Path], Callable[[Sequence[TaggedSentence]], list[Any]]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    options.add_argument("--sentences", type=int, default=5000, help="training sentences, the first of the file; 0 for all")
    options.add_argument("--test-sentences", type=int, default=3453)
    options.add_argument("--own-features", action="store_true", help="train the peer on our features, too")
    given = options.parse_args()
    taggers: dict[str, Train] = {"hmm": ours(HmmTagger), "crf": ours(CrfTagger)}
    for settings, strengths in SETTINGS.items():
        taggers[f"crfsuite, {settings}"] = peer(tutorial_features, *strengths)
    if given.own_features:
        taggers["crfsuite, our features"] = peer(own_features, *SETTINGS["c1 0.1, c2 0.1"])
    print(conditions())
    print("set | tagger | F1 | interval | accuracy | CPU s to train | CPU s to tag | crf is better by")
    is_below = [name for name in given.sets if not compare(name, taggers, given)]
    if is_below:
        sys.exit(f"crf is below crfsuite on {', '.join(is_below)}")


def compare(name: str, taggers: dict[str, Train], given: argparse.Namespace) -> bool:
    """One set; whether our `crf` is at or above the peer with the features of its tutorial."""
    with quiet():
        train, test = (list(read_examples(str(data(path)), "tag").examples) for path in SETS[name])
    train, test = train[: given.sentences or None], test[: given.test_sentences]
    predictions, rows = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for tagger, learn in taggers.items():
            began = time.process_time()
            tag = learn(train, Path(folder))
            trained = time.process_time()
            predictions[tagger] = tag(test)
            metrics = tag_metrics([list(example.tags) for example in test], predictions[tagger])
            f1 = metrics["f1"]
            scores = f"{f1['value']:.4f} | {f1['low']:.4f}-{f1['high']:.4f} | {metrics['accuracy']['value']:.4f}"
            rows[tagger] = f"{name} | {tagger} | {scores} | {trained - began:.1f} | {time.process_time() - trained:.1f}"
            rows[tagger] += f" | {difference(test, predictions['crf'], predictions[tagger])}" if tagger not in ("hmm", "crf") else " |"
            print(rows[tagger], flush=True)
    f1 = {tagger: tag_metrics([list(example.tags) for example in test], own)["f1"]["value"] for tagger, own in predictions.items()}
    return all(f1["crf"] >= f1[f"crfsuite, {settings}"] for settings in SETTINGS)


def difference(test: Sequence[TaggedSentence], ours: list[Any], theirs: list[Any]) -> str:
    """In F1, with its paired interval."""
    both = [statistic("f1", "tag", test, outcomes("f1", "tag", test, own)) for own in (ours, theirs)]
    found = PairedBootstrap(both, None).difference(0, 1)
    return f"{found['difference']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f})"


def ours(kind: type[HmmTagger] | type[CrfTagger]) -> Train:
    def learn(train: Sequence[TaggedSentence], folder: Path) -> Callable[[Sequence[TaggedSentence]], list[Any]]:
        return kind.train(train).predict_examples

    return learn


def peer(features: Features, c1: float, c2: float) -> Train:
    def learn(train: Sequence[TaggedSentence], folder: Path) -> Callable[[Sequence[TaggedSentence]], list[Any]]:
        import pycrfsuite

        trainer = pycrfsuite.Trainer(verbose=False)
        for example in train:
            trainer.append(features(example.words), list(example.tags))
        trainer.set_params({"c1": c1, "c2": c2, "max_iterations": 100, "feature.possible_transitions": True})
        trainer.train(str(folder / "crf"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(folder / "crf"))
        return lambda test: [tagger.tag(features(example.words)) for example in test]

    return learn


def tutorial_features(words: Sequence[str]) -> list[list[str]]:
    found = []
    for place, word in enumerate(words):
        own = ["bias", f"lower={word.lower()}", f"end3={word[-3:]}", f"end2={word[-2:]}"]
        own += [f"upper={word.isupper()}", f"title={word.istitle()}", f"digit={word.isdigit()}"]
        for offset, edge in ((-1, "BOS"), (1, "EOS")):
            if not 0 <= place + offset < len(words):
                own.append(edge)
                continue
            other = words[place + offset]
            own += [f"{offset}:lower={other.lower()}", f"{offset}:title={other.istitle()}", f"{offset}:upper={other.isupper()}"]
        found.append(own)
    return found


def own_features(words: Sequence[str]) -> list[list[str]]:
    names: dict[str, int] = {}
    starts, rows = feature_rows([TaggedSentence(tuple(words), ())], names, is_open=True)
    texts = np.array(list(names), object)
    return [texts[rows[start:stop]].tolist() for start, stop in itertools.pairwise(starts)]


if __name__ == "__main__":
    main()
