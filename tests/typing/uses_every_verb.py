"""Every public verb, as a user would write it: mypy --strict has nothing to say about it. It is checked, and never run."""

from pathlib import Path

import numpy as np

import stairs

CORPUS, ROWS = ["the cat sat .", "a dog ran ."], [("a good film", "pos"), ("a bad film", "neg")]


def make() -> None:
    bert = stairs.train("bert", "corpus.txt", budget="10m")
    stairs.train("gpt", CORPUS, size="nano", steps=10, width=64, out=Path("runs/gpt"))
    stairs.train("transformer", pairs=[("1", "one")], epochs=2.0, learning_rate=1e-3, seed=1)
    loaded = stairs.load("runs/corpus-bert")
    tuned = stairs.tune(loaded, ROWS, task="classify", epochs=3, transfer="features")
    stairs.tune("tfidf", CORPUS, ["x", "y"], limit=100, out="runs/tfidf")
    bert.tune("reviews.csv", text="review", label="stars", group="author", dev="dev.csv", test=ROWS, metric="macro_f1")
    adopted = stairs.adopt("folder", out="runs/adopted", encoder_only=True)
    name: str = adopted.model_name + tuned.name
    folder: Path | None = tuned.folder
    print(name, folder, stairs.__version__, list(stairs.MODELS), list(stairs.TASKS), list(stairs.TOKENIZERS))


def use(run: str) -> None:
    task = stairs.load(run)
    filled: str = task.fill("a ___", top=3, long_text="head")["blanks"][0]["words"][0]["word"]
    follows: float = task.next_sentence("a", "b")["next_sentence_probability"]
    likelihood: float = task.pseudo_log_likelihood("a b")["pseudo_log_likelihood"]
    text: str = task.generate("a", length=5, temperature=0.7, top_k=10, top_p=0.9, seed=1)
    probability: float = task.log_probability("a b")
    vectors: np.ndarray = task.embed(["a", "b"], layer=-1, precision="int8")
    tokens: list[tuple[list[str], np.ndarray]] = task.embed_tokens("a b")
    cosine: float = task.similarity("a", "b")
    near = task.nearest("king - man + woman", top=3)[0]["cosine"]
    label: str | float | list[str] = task.predict("a")
    labels: list[str | float | list[str]] = task.predict(["a", "b"], ["c", "d"])
    probabilities: np.ndarray = task.predict_proba(iter(["a"]))
    tags: list[str] = task.tag("a b")["tags"]
    span: str = task.find_span("who?", "a passage")["answer"]
    choice: str = task.choose("what?", ["this", "that"])["answer"]
    sense: str = task.find_sense("the *bank*")["label"]
    translation: str = task.translate("a", beam_size=4)
    translations: list[str] = task.translate(["a", "b"], length_penalty=0.6)
    row_count: int = task.predict_file("new.csv", "predictions.xlsx", text="review", unsure_below=0.7)["rows"]
    accuracy = task.evaluate("test.csv", text="review", label="stars")["accuracy"]
    drawing = task.draw("attention", "a b", layer=1, head=2)
    drawing.save("attention.svg")
    svg: str = drawing.svg
    facts: dict[str, object] = task.convert("huggingface", "folder")
    print(filled, follows, likelihood, text, probability, vectors, tokens, cosine, near, label, labels, probabilities, tags, span, choice, sense)
    print(translation, translations, row_count, accuracy, svg, facts, task.answer("a"))


def compare() -> None:
    report = stairs.climb(ROWS, corpus="corpus.txt", text="review", label="stars", budget="5m", models=["tfidf", "bert"], cost="latency")
    sentence: str = report.recommendation
    models: list[str] = [row["model"] for row in report.rows]
    report.recommended.predict(["a"])
    report.load("bert").embed("a")
    print(sentence, models, report.table, report.folder, report.to_json())
    report.open()


def vectors_for_others() -> np.ndarray:
    return stairs.Embeddings("runs/corpus-bert").encode(["a", "b"], normalize_embeddings=True)


def refuse() -> str:
    try:
        stairs.load("nowhere")
    except stairs.BadInput as error:
        return str(error)
    except stairs.StairsError:
        raise
    return ""
