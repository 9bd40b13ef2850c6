"""A run of every kind, made by the verbs of Python within seconds: what their examples and tests speak of."""

import json
from pathlib import Path

import stairs
from tests.support.tiny import tiny

ANIMALS, FOODS, CITIES = ("cat", "dog", "bird"), ("soup", "bread", "rice"), ("Rome", "Paris", "Kyoto")
SENTENCES = [
    f"the {animal} sat on the mat in {city} . a {other} ran . {food} is good ."
    for animal in ANIMALS for other in ANIMALS for city in CITIES for food in FOODS
]  # fmt: skip
REVIEWS = [
    (f"a {word} {thing} from {city}", label)
    for word, label in (("good", "pos"), ("bad", "neg"), ("fine", "pos"), ("poor", "neg")) for thing in ("film", *FOODS) for city in CITIES
]  # fmt: skip
WORDS = ANIMALS + FOODS
TOPICS = [(f"{word} in {city}", label) for words, label in ((ANIMALS, "animal;place"), (FOODS, "food")) for word in words for city in CITIES]
STARS = [(text, 4.5 if label == "pos" else 1.0 + number % 3 / 2) for number, (text, label) in enumerate(REVIEWS)]
PAIRS = [(f"a {one}", f"the {two}", "same" if (one in ANIMALS) == (two in ANIMALS) else "other") for one in WORDS for two in WORDS]
SCORES = [(first, second, 4.5 if label == "same" else 0.5) for first, second, label in PAIRS]
TAGS = ["O", "O", "O", "O", "B-place", "O"]
TAGGED = [{"tokens": f"the {animal} sat in {city} .".split(), "tags": TAGS} for animal in WORDS for city in CITIES]
QUIZ = [{"context": "what is for dinner ?", "choices": [f"a {animal}", food], "label": 1} for animal in ANIMALS for food in FOODS] + [
    {"context": "what is for dinner ?", "choices": [food, f"a {animal}", f"the {animal}"], "label": 0} for animal in ANIMALS for food in FOODS
]  # fmt: skip
SENSE_LINES = "the\tthe\tdet\t_\nbank\tbank\tnoun\t{sense}\nof\tof\tprep\t_\n{word}\t{word}\tnoun\t_\n{city}\t{city}\tnoun\t_\n"
BANKS = "\n".join(SENSE_LINES.format(sense="shore" if word in ANIMALS else "money", word=word, city=city) for word in WORDS for city in CITIES)
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NUMBERS = [(str(number), " ".join(DIGITS[int(digit)] for digit in str(number))) for number in range(300)]
STEPS = 4


def squad(path: Path) -> Path:
    asked = [
        {"context": text, "qas": [{"id": str(i), "question": "where is it ?", "answers": [{"text": city, "answer_start": text.index(city)}]}]}
        for i, (text, city) in enumerate((f"the {animal} sat in {city} .", city) for animal in ANIMALS for city in CITIES for _ in range(3))
    ]
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "", "paragraphs": asked}]}))
    return path


def every_run(folder: Path) -> "dict[str, stairs.tasks.task.Task]":
    """By the names that the examples use. The current folder is `folder`."""
    small = {"steps": STEPS, "batch_tokens": 256, "precision": "fp32"}
    bert = stairs.train("bert", SENTENCES, **tiny("bert", width=32, context=32), **small, out="runs/bert")
    (folder / "banks.tsv").write_text(BANKS)
    (folder / "corpus.txt").write_text("\n\n".join(SENTENCES))
    (folder / "reviews.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in REVIEWS))
    once = {"epochs": 1, "transfer": "features", "seed": 1}
    return {
        "bert": bert,
        "gpt": stairs.train("gpt", SENTENCES, **tiny("gpt", width=32, context=32), **small, out="runs/gpt"),
        "ngram": stairs.train("ngram", SENTENCES, order=2, out="runs/ngram"),
        "elmo": stairs.train("elmo", SENTENCES, **tiny("elmo"), **small, out="runs/elmo"),
        "vectors": stairs.train("skipgram", SENTENCES, **tiny("skipgram"), epochs=1, min_count=1, out="runs/vectors"),
        "translator": stairs.train("transformer", pairs=NUMBERS, tokenizer="words", **tiny("transformer"), **small, out="runs/translator"),
        "reviews": bert.tune(REVIEWS, out="runs/reviews", **once),
        "pairs": bert.tune(PAIRS, out="runs/pairs", **once),
        "scores": bert.tune(SCORES, out="runs/scores", **once),
        "tagger": bert.tune(TAGGED, out="runs/tagger", **once),
        "reader": bert.tune(squad(folder / "squad.json"), out="runs/reader", **once),
        "quiz": bert.tune(QUIZ, out="runs/quiz", **once),
        "senses": bert.tune(folder / "banks.tsv", task="sense", out="runs/senses"),
        "similar": bert.tune(SENTENCES[:20], task="similar", out="runs/similar"),
        "tfidf": stairs.tune("tfidf", REVIEWS, out="runs/tfidf"),
        "unilm": stairs.train("unilm", SENTENCES, **tiny("unilm"), **small, out="runs/unilm"),
        "tfidf_pairs": stairs.tune("tfidf", PAIRS, out="runs/tfidf-pairs"),
        "hmm": stairs.tune("hmm", TAGGED, out="runs/hmm"),
        "crf": stairs.tune("crf", TAGGED, out="runs/crf"),
        "overlap": stairs.tune("overlap", folder / "squad.json", out="runs/overlap"),
        "ngram_classifier": stairs.tune("ngram", REVIEWS, out="runs/ngram-classifier"),
        "topics": bert.tune(TOPICS, task="multilabel", out="runs/topics", **once),
        "tfidf_topics": stairs.tune("tfidf", TOPICS, task="multilabel", out="runs/tfidf-topics"),
        "ngram_topics": stairs.tune("ngram", TOPICS, task="multilabel", out="runs/ngram-topics"),
        "stars": bert.tune(STARS, task="regress", out="runs/stars", **once),
        "tfidf_stars": stairs.tune("tfidf", STARS, task="regress", out="runs/tfidf-stars"),
        "tfidf_quiz": stairs.tune("tfidf", QUIZ, task="choose", out="runs/tfidf-quiz"),
        "vector_classifier": stairs.tune("runs/vectors", REVIEWS, out="runs/vector-classifier"),
    }
