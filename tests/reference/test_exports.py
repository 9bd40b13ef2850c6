"""What `stairs convert` writes opens in the tool it is for, from disk and as it is, and gives there what the run gives here."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from stairs.formats.huggingface import task_heads
from stairs.machine import versions
from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.tasks import TASKS, Encode
from stairs.text.batch import Batch
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import FORMAT, Run
from tests.support.small_world import QUESTION, SENTENCES

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.reference
CONTEXT = 40
TEXTS = [*SENTENCES[::60], "Soup, rain & wind!", "soup", "今天 rain"]
LONG = " ".join(SENTENCES[::9])  # more than can be read


@pytest.fixture(scope="module")
def pieces():
    return Tokenizer.train(TokenizerSpec("wordpiece", vocab_size=160), lambda: [[*SENTENCES, QUESTION]])


@pytest.fixture(scope="module")
def bytes_of():
    return Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=300), lambda: [SENTENCES])


def model_of(step, tokenizer, **settings):
    """Far from the shy beginning, so that a difference would show."""
    model = MODELS[step](CONFIGS[step](vocab_size=tokenizer.vocab_size, context=CONTEXT, width=32, heads=2, layers=2, **settings))
    probability = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=probability) * 0.15)
    return model.eval()


def as_run(task, place="run"):
    with Run(Path(place)).open_for_writing({"format": FORMAT, **task.describe(), "seed": 0, "data": {}, "versions": versions()}):
        Run(Path(place)).save_model(task)
    return task


def bert(tokenizer, example_kind):
    model = model_of("bert", tokenizer)
    if example_kind in ("masked-token", "encode"):
        return TASKS[example_kind](model, tokenizer)
    labels = ["score"] if example_kind in ("score", "choose", "regress") else ["a", "b"] if example_kind == "find-span" else ["B-bad", "B-good", "O"]
    prefix = "qa_outputs" if example_kind == "find-span" else "classifier"
    tensors = {f"{prefix}.weight": torch.randn(len(labels), 32), f"{prefix}.bias": torch.randn(len(labels))}
    return task_heads.task_with_head(model, tokenizer, {"task": "compare" if example_kind == "score" else example_kind, "labels": labels,
        "tensors": tensors, "threshold": 0.4})


def embedded(command, *texts):
    result = command("embed", "run", *texts, "--json")
    assert result.code == 0, result.err
    return np.array([entry["vector"] for entry in json.loads(result.out)])


def convert(command, form, out="out"):
    done = command("convert", "run", form, "--out", out, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def means(folder, texts):
    """The mean over the attention mask, as everybody takes it."""
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(folder), transformers.AutoModel.from_pretrained(folder).eval()
    model = model.encoder if model.config.is_encoder_decoder else model
    given = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**given).last_hidden_state
    mask = given["attention_mask"][..., None]
    return ((hidden * mask).sum(1) / mask.sum(1)).numpy()


@pytest.mark.parametrize("example_kind", ["encode", "masked-token", "classify", "compare", "tag", "find-span"])
def test_vectors_of_a_bert(tmp_path, command, pieces, example_kind):
    peers = pytest.importorskip("sentence_transformers")
    as_run(bert(pieces, example_kind))
    ours = embedded(command, *TEXTS, LONG)
    assert convert(command, "huggingface")["difference"] < 1e-5
    assert np.abs(means(tmp_path / "out", [*TEXTS, LONG]) - ours).max() < 1e-5
    assert convert(command, "sentence-transformers", "sentences")["difference"] < 1e-5
    assert np.abs(peers.SentenceTransformer(str(tmp_path / "sentences")).encode([*TEXTS, LONG]) - ours).max() < 1e-5


def test_vectors_of_a_pooling_of_its_own(tmp_path, command, pieces):
    peers = pytest.importorskip("sentence_transformers")
    as_run(Encode(model_of("bert", pieces), pieces, pooling="cls", normalize=True, max_length=20))
    ours = embedded(command, *TEXTS, LONG)
    convert(command, "sentence-transformers")
    assert np.abs(peers.SentenceTransformer(str(tmp_path / "out")).encode([*TEXTS, LONG]) - ours).max() < 1e-5


@pytest.mark.parametrize("step", ["gpt", "transformer"])
def test_vectors_of_the_others(tmp_path, command, bytes_of, step):
    task = as_run(TASKS[MODELS[step].pretrains_with](model_of(step, bytes_of), bytes_of))
    ours = embedded(command, *TEXTS, LONG)
    assert convert(command, "huggingface")["difference"] < 1e-5 and task.model_name == step
    assert np.abs(means(tmp_path / "out", [*TEXTS, LONG]) - ours).max() < 1e-5


def test_words_in_a_blank(tmp_path, command, pieces):
    task = as_run(bert(pieces, "masked-token"))
    assert convert(command, "huggingface")["words_difference"] < 1e-5
    theirs = transformers.pipeline("fill-mask", model=str(tmp_path / "out"), tokenizer=str(tmp_path / "out"))
    for text in TEXTS[:3]:
        blank = f"{text.partition(' ')[0]} ___ {text.rpartition(' ')[2]}"
        output = theirs(blank.replace("___", theirs.tokenizer.mask_token), top_k=3)
        row = [pieces.begin, *pieces.encode(blank.partition(" ")[0]), pieces.mask, *pieces.encode(blank.rpartition(" ")[2]), pieces.end]
        ids = torch.tensor([row])
        with torch.no_grad():
            probabilities = task.model.predict(Batch(ids, torch.ones_like(ids, dtype=torch.bool)))[0, row.index(pieces.mask)].softmax(-1)
        assert [result["token"] for result in output] == probabilities.topk(3).indices.tolist()
        assert [result["score"] for result in output] == pytest.approx(probabilities.topk(3).values.tolist(), abs=1e-5)


def test_labels(tmp_path, command, pieces):
    task = as_run(bert(pieces, "classify"))
    assert convert(command, "huggingface")["labels_difference"] < 1e-5
    theirs = transformers.pipeline("text-classification", model=str(tmp_path / "out"), tokenizer=str(tmp_path / "out"), top_k=None)
    for text in TEXTS:
        assert {result["label"]: pytest.approx(result["score"], abs=1e-5) for result in theirs([text])[0]} == task.answer(text)["probabilities"]


@pytest.mark.parametrize("example_kind", ["multilabel", "regress"])
def test_any_number_of_labels_and_a_number(tmp_path, command, pieces, example_kind):
    task = bert(pieces, example_kind)
    task.settings |= {"mean": 70.0, "deviation": 9.0} if example_kind == "regress" else {}
    as_run(task)
    assert convert(command, "huggingface")["labels_difference"] < 1e-5
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    peer = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "out")
    with torch.no_grad():
        logits = peer.eval()(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    ours = task.predict_proba(TEXTS) if example_kind == "multilabel" else np.array(task.predict(TEXTS))[:, None]
    np.testing.assert_allclose(logits.sigmoid() if example_kind == "multilabel" else logits, ours, rtol=1e-5, atol=1e-5)
    assert peer.config.problem_type == {"multilabel": "multi_label_classification", "regress": "regression"}[example_kind]
    adopted = command("adopt", "out", "--out", "runs/adopted", "--json")
    assert adopted.code == 0 and json.loads(adopted.out)["task"] == example_kind, adopted.err
    theirs = transformers.pipeline("text-classification", model=str(tmp_path / "out"), tokenizer=str(tmp_path / "out"), top_k=None)
    found = {result["label"]: result["score"] for result in theirs(TEXTS[:1])[0]}
    assert list(found.values()) == pytest.approx(sorted(ours[0], reverse=True), rel=1e-4)


def test_scores_of_two_texts_in_a_cross_encoder(tmp_path, command, pieces):
    peers = pytest.importorskip("sentence_transformers")
    task = as_run(bert(pieces, "score"))
    assert convert(command, "huggingface")["labels_difference"] < 1e-5
    output = peers.CrossEncoder(str(tmp_path / "out")).predict([(TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[2])])
    ours = [task.answer(first, second=second)["score"] for first, second in ((TEXTS[0], TEXTS[1]), (TEXTS[1], TEXTS[2]))]
    assert output.ravel().tolist() == pytest.approx(ours, abs=1e-4)


def test_multiple_choice(tmp_path, command, pieces):
    task = as_run(bert(pieces, "choose"))
    assert convert(command, "huggingface")["labels_difference"] < 1e-5
    tokenizer, peer = (kind.from_pretrained(tmp_path / "out") for kind in (transformers.AutoTokenizer, transformers.BertForMultipleChoice))
    given = tokenizer([TEXTS[0]] * 3, TEXTS[1:4], padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = peer.eval()(**{key: own[None] for key, own in given.items()}).logits[0]
    ours = task.answer(TEXTS[0], choices=TEXTS[1:4])["probabilities"]
    assert [ours[choice.strip()] for choice in TEXTS[1:4]] == pytest.approx(logits.softmax(0).tolist(), abs=1e-5)


def test_a_continuation_in_the_pipeline(tmp_path, command, bytes_of):
    as_run(TASKS["next-token"](model_of("gpt", bytes_of), bytes_of))
    assert convert(command, "huggingface")["continuations"] >= 3
    theirs = transformers.pipeline("text-generation", model=str(tmp_path / "out"), tokenizer=str(tmp_path / "out"))
    for text in (*TEXTS[:3], "rain and"):
        output = theirs(text, do_sample=False, max_new_tokens=8)[0]["generated_text"]
        assert output == command("ask", "run", text, "--length", 8).out.rstrip("\n")


def test_the_gpt2_of_others_continues_as_in_its_own_folder(tmp_path, command, bytes_of):
    """It begins without a mark there, and so it does here."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    config = transformers.GPT2Config(vocab_size=bytes_of.vocab_size, n_positions=CONTEXT, n_embd=24, n_layer=2, n_head=3)
    model = transformers.GPT2LMHeadModel(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.2)
    model.save_pretrained(folder)
    bytes_of.backend.model.save(str(folder))
    marks = {"bos_token": "[SEP]", "eos_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
    transformers.GPT2Tokenizer.from_pretrained(folder, **marks).save_pretrained(folder)
    assert command("adopt", "theirs", "--out", "run").code == 0
    convert(command, "huggingface")
    for place in ("theirs", "out"):
        assert np.abs(means(tmp_path / place, TEXTS) - embedded(command, *TEXTS)).max() < 1e-4
        theirs = transformers.pipeline("text-generation", model=str(tmp_path / place), tokenizer=str(tmp_path / place))
        output = theirs(TEXTS[0], do_sample=False, max_new_tokens=5)[0]["generated_text"]
        assert output == command("ask", "run", TEXTS[0], "--length", 5).out.rstrip("\n")


@pytest.mark.parametrize("norm_first", [False, True], ids=["marian", "pegasus"])
def test_translations(tmp_path, command, bytes_of, norm_first):
    task = as_run(TASKS["translate"](model_of("transformer", bytes_of, norm_first=norm_first), bytes_of))
    assert convert(command, "huggingface")["translations"] >= 2
    ctranslate2 = pytest.importorskip("ctranslate2")
    call = [Path(sys.executable).parent / "ct2-transformers-converter", "--model", tmp_path / "out", "--output_dir", tmp_path / "ct2"]
    done = subprocess.run(list(map(str, call)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    translator = ctranslate2.Translator(str(tmp_path / "ct2"), intra_threads=1)
    tokenizer, model = (kind.from_pretrained(tmp_path / "out") for kind in (transformers.AutoTokenizer, transformers.AutoModelForSeq2SeqLM))
    for text in ("soup", "rain and"):
        most = task.max_output_tokens([bytes_of.encode(text)])  # such a model hardly ever ends
        read = tokenizer(text, return_tensors="pt")
        for beams in (1, 4):
            ours = command("ask", "run", text, "--beam-size", beams).out.rstrip("\n")
            output = model.generate(**read, num_beams=beams, max_length=most + 1)[0]
            assert tokenizer.decode(output, skip_special_tokens=True) == ours
            row = tokenizer.convert_ids_to_tokens(read["input_ids"][0].tolist())
            best = translator.translate_batch([row], beam_size=beams, max_decoding_length=most, patience=beams)[0].hypotheses[0]
            assert tokenizer.decode(tokenizer.convert_tokens_to_ids(best), skip_special_tokens=True) == ours


@pytest.mark.parametrize("kind", ["word2vec", "word2vec-binary", "glove"])
def test_word_vectors_in_gensim(tmp_path, command, kind):
    gensim = pytest.importorskip("gensim.models")
    lines = [f"{word} {number} {number + 1} 0.5" for number, word in enumerate(["soup", "rain", "naïve", "国王"])]
    (tmp_path / "v.txt").write_text("4 3\n" + "\n".join(lines) + "\n", "utf-8")
    assert command("adopt", "v.txt", "--out", "run").code == 0
    assert convert(command, kind, "out.vec")["difference"] == 0
    result = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "out.vec"), binary=kind.endswith("binary"), no_header=kind == "glove")
    assert result.index_to_key == ["soup", "rain", "naïve", "国王"]
    assert np.array_equal(result["国王"], np.array([3, 4, 0.5], np.float32))


def test_sentences_in_kenlm(tmp_path, command):
    kenlm = pytest.importorskip("kenlm")
    (tmp_path / "text.txt").write_text("\n".join(SENTENCES) + "\n")
    assert command("train", "ngram", "text.txt", "--out", "run", "--order", 3, "--quiet").code == 0
    assert convert(command, "arpa", "out.arpa")["log_probability_difference"] < 1e-4
    from stairs.training.run import load

    task, theirs = load(tmp_path / "run"), kenlm.Model(str(tmp_path / "out.arpa"))
    for text in SENTENCES[::50]:
        assert theirs.score(" ".join(task.tokenizer.tokens(text))) * np.log(10) == pytest.approx(task.log_probability(text), abs=1e-3)
