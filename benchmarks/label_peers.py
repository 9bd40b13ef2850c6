"""Other tools as `peers_on_labels.py` compares them, used as their documentation does; what can be chosen is chosen by validation score."""

import itertools
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from label_models import Fit, Predict, Sources, Splits, minilm_folder
from stairs.tasks.classifier import word_tokenizer
from stairs.text.chinese import has_han

C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
FASTTEXT_GRID = [{"wordNgrams": n, "lr": rate, "epoch": epochs} for n in (1, 2) for rate in (0.1, 0.5) for epochs in (5, 25)]
FASTTEXT_SEEDS = 5  # that are tried: it meets a NaN now and then
EPOCHS, RATE, BATCH = 3, 5e-5, 16  # of the notebooks of transformers


def spaced(data: Splits) -> Callable[[Sequence[Any]], list[str]]:
    """Texts with a space between any two of the words that ours has, too: the peers cannot cut Chinese."""
    tokenizer = word_tokenizer(data.train)
    return lambda examples: [" ".join(tokenizer.words(example.text)) for example in examples]


def fasttext_default(data: Splits, sources: Sources) -> Predict:
    return fit_fasttext(data, [{}])


def fasttext_bigrams(data: Splits, sources: Sources) -> Predict:
    return fit_fasttext(data, [{"wordNgrams": 2}])


def fasttext_grid(data: Splits, sources: Sources) -> Predict:
    sizes = {"minn": 1, "maxn": 2} if has_han(data.train[0].text) else {"minn": 3, "maxn": 5}  # of its n-grams of characters
    return fit_fasttext(data, [{**options, **own} for own in ({}, sizes) for options in FASTTEXT_GRID])


def fit_fasttext(data: Splits, settings: list[dict[str, Any]]) -> Predict:
    import fasttext

    cut = spaced(data)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.txt"
        labelled = zip(cut(data.train), data.train, strict=True)
        file.write_text("\n".join(f"__label__{example.label} {text}" for text, example in labelled), "utf-8")

        def fit(options: dict[str, Any]) -> Predict:
            for seed in range(FASTTEXT_SEEDS):
                with suppress(RuntimeError):
                    model = fasttext.train_supervised(str(file), thread=1, verbose=0, seed=seed, **options)
                    break
            else:
                raise RuntimeError("fastText met a NaN with every seed")
            return lambda examples: [found[0].removeprefix("__label__") for found in model.predict(cut(examples))[0]]

        return best([lambda options=options: fit(options) for options in settings], data)  # type: ignore[misc]


def best(fits: Sequence[Callable[[], Predict]], data: Splits) -> Predict:
    """That with the highest accuracy on the validation examples; one that fails is none."""
    found: list[tuple[float, int, Predict]] = []
    for number, fit in enumerate(fits):
        try:
            predict = fit()
        except RuntimeError:
            continue
        gold = [example.label for example in data.dev]
        found.append((float(np.mean([a == b for a, b in zip(predict(data.dev), gold, strict=True)])) if len(fits) > 1 else 0.0, -number, predict))
    if not found:
        raise RuntimeError("every fit failed")
    return max(found)[2]


def sklearn_svm(data: Splits, sources: Sources) -> Predict:
    from sklearn.svm import LinearSVC

    return fit_sklearn(data, LinearSVC)


def sklearn_logistic(data: Splits, sources: Sources) -> Predict:
    from sklearn.linear_model import LogisticRegression

    return fit_sklearn(data, lambda C: LogisticRegression(C=C, max_iter=1000))


def fit_sklearn(data: Splits, linear: Callable[..., Any]) -> Predict:
    """Words up to one, two or three in a row, alone and with n-grams of characters, for each C: 36 fits."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    cut = spaced(data)
    texts, dev_texts = cut(data.train), cut(data.dev)
    characters = {"analyzer": "char", "ngram_range": (1, 3)} if any(map(has_han, texts)) else {"analyzer": "char_wb", "ngram_range": (3, 5)}
    found: list[tuple[float, int, Any, Any]] = []
    for order, with_characters in itertools.product((1, 2, 3), (False, True)):
        words = TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, order), sublinear_tf=True)
        vectorizer = make_union(words, *([TfidfVectorizer(**characters, sublinear_tf=True)] if with_characters else []))
        features, dev_features = vectorizer.fit_transform(texts), None
        for strength in C_GRID:
            model = linear(C=strength).fit(features, [example.label for example in data.train])
            dev_features = vectorizer.transform(dev_texts) if dev_features is None else dev_features
            right = model.predict(dev_features) == np.array([example.label for example in data.dev])
            found.append((float(right.mean()), -len(found), vectorizer, model))
    _, _, vectorizer, model = max(found, key=lambda own: own[:2])
    return lambda test: model.predict(vectorizer.transform(cut(test))).tolist()


def sklearn_pairs(data: Splits, sources: Sources) -> Predict:
    """Logistic regression over the cosine, the difference and the product of the TF-IDF of the two texts; 18 fits."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    def features(vectorizer: Any, examples: Sequence[Any]) -> Any:
        u, v = (vectorizer.transform([getattr(example, side) for example in examples]) for side in ("first", "second"))
        return hstack([csr_matrix(u.multiply(v).sum(1)) * 5, abs(u - v), u.multiply(v)]).tocsr()

    def fit(order: int, strength: float) -> Predict:
        vectorizer = TfidfVectorizer(ngram_range=(1, order), sublinear_tf=True)
        vectorizer.fit([text for example in data.train for text in (example.first, example.second)])
        model = LogisticRegression(C=strength, max_iter=1000).fit(features(vectorizer, data.train), [example.label for example in data.train])
        return lambda test: model.predict(features(vectorizer, test)).tolist()

    grid = itertools.product((1, 2, 3), C_GRID)
    return best([lambda order=order, strength=strength: fit(order, strength) for order, strength in grid], data)  # type: ignore[misc]


def transformers_features(data: Splits, sources: Sources) -> Predict:
    """The mean of MiniLM's vectors, of length 1, and logistic regression, as SetFit does without tuning; of two texts |u - v| and u v."""
    import torch
    from sklearn.linear_model import LogisticRegression
    from transformers import AutoModel, AutoTokenizer

    weights = minilm_folder(sources)
    tokenizer, model = AutoTokenizer.from_pretrained(weights), AutoModel.from_pretrained(weights).eval()

    def embed(texts: list[str]) -> np.ndarray:
        order, rows = np.argsort([len(text) for text in texts], kind="stable"), np.zeros((len(texts), model.config.hidden_size), np.float32)
        for start in range(0, len(texts), 32):
            own = order[start : start + 32]
            batch = tokenizer([texts[i] for i in own], padding=True, truncation=True, max_length=256, return_tensors="pt")
            with torch.no_grad():
                hidden, mask = model(**batch).last_hidden_state, batch["attention_mask"][..., None]
            rows[own] = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1).numpy()
        return rows

    def features(examples: Sequence[Any]) -> np.ndarray:
        if not hasattr(examples[0], "first"):
            return embed([example.text for example in examples])
        u, v = (embed([getattr(example, side) for example in examples]) for side in ("first", "second"))
        return np.concatenate([abs(u - v), u * v], 1)

    train, dev = features(data.train), features(data.dev)
    models = [LogisticRegression(C=C, max_iter=1000).fit(train, [example.label for example in data.train]) for C in (0.3, 1, 3, 10, 30, 100)]
    chosen = max(models, key=lambda own: own.score(dev, [example.label for example in data.dev]))
    return lambda test: chosen.predict(features(test)).tolist()


def transformers_tuned(data: Splits, sources: Sources) -> Predict:
    """All weights of MiniLM, by AdamW with a rate that falls to zero, in float32."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    labels = sorted({example.label for example in data.train})
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder(sources))
    model = AutoModelForSequenceClassification.from_pretrained(sources.minilm, num_labels=len(labels))

    def batches(examples: Sequence[Any], rows: Iterable[int], size: int) -> Iterable[tuple[Any, list[int]]]:
        rows = list(rows)
        for start in range(0, len(rows), size):
            own = [examples[i] for i in rows[start : start + size]]
            texts = [[getattr(example, side) for example in own] for side in (("first", "second") if hasattr(own[0], "first") else ("text",))]
            yield tokenizer(*texts, padding=True, truncation=True, max_length=256, return_tensors="pt"), rows[start : start + size]

    steps = EPOCHS * -(-len(data.train) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    model.train()
    for _ in range(EPOCHS):
        for batch, rows in batches(data.train, torch.randperm(len(data.train)).tolist(), BATCH):
            model(**batch, labels=torch.tensor([labels.index(data.train[i].label) for i in rows])).loss.backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval()

    def predict(test: Sequence[Any]) -> list[Any]:
        with torch.no_grad():
            return [labels[i] for batch, _ in batches(test, range(len(test)), 32) for i in model(**batch).logits.argmax(1).tolist()]

    return predict


def crfsuite(data: Splits, sources: Sources) -> Predict:
    """The features of its tutorial without parts of speech, and the strengths of sklearn-crfsuite's."""
    from tag_baselines import peer, tutorial_features

    return peer(tutorial_features, 0.1, 0.1)(data.train, Path(tempfile.mkdtemp()))


PEERS: dict[str, dict[str, Fit]] = {
    "classify": {"fastText": fasttext_default, "fastText, wordNgrams 2": fasttext_bigrams, "fastText, grid": fasttext_grid,
                 "scikit-learn LinearSVC, grid": sklearn_svm, "scikit-learn LogisticRegression, grid": sklearn_logistic,
                 "transformers MiniLM features": transformers_features, "transformers MiniLM tuned": transformers_tuned},
    "compare": {"scikit-learn LogisticRegression, grid": sklearn_pairs, "transformers MiniLM features": transformers_features,
                "transformers MiniLM tuned": transformers_tuned},
    "tag": {"crfsuite": crfsuite},
}  # fmt: skip
