"""What convert says of the written files: it reads them back from disk, asks them texts, and refuses what is not the run."""

import json
import math

import numpy as np
import pytest
import torch

from stairs.errors import BadInput
from stairs.formats import file_round_trip, word_vectors
from stairs.formats.huggingface import round_trip, sentence_transformers, transformers_folder
from stairs.formats.word_vectors import WordVectorFile
from stairs.machine import versions
from stairs.models.bert import BERT
from stairs.models.settings import BERTConfig, TransformerConfig
from stairs.models.transfer_options import TransferOptions
from stairs.models.transformer import Transformer
from stairs.tasks import BiEncoder, Classify, Encode, MaskedToken, NextToken, Similar, Translate, WordVectors
from stairs.tasks.tfidf_classifier import TfidfClassifier
from stairs.text.examples import LabelledText
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training.run import FORMAT, Run
from tests.formats.folders import TEXTS, bert, change_json, change_tensors, far, gpt, with_classifier


def words(folder, parts=("words",)):
    bert(folder, parts=parts)
    return transformers_folder.read(folder)


def classifier(folder, **settings):
    with_classifier(folder, 2, **settings)
    task = transformers_folder.read(folder)
    transformers_folder.write(task, folder)
    return task


def translator(folder, norm_first=False):
    folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=270), lambda: [TEXTS * 9])
    model = far(Transformer(TransformerConfig(tokenizer.vocab_size, context=64, width=24, heads=3, layers=1, norm_first=norm_first)))
    task = Translate(model, tokenizer)
    transformers_folder.write(task, folder)
    return task


def as_sentences(folder):
    task = bert(folder / "first")
    sentence_transformers.write(task, folder)
    return task


def pairs(folder):
    return classifier(folder, stairs={"task": "compare"})


def scores(folder):
    with_classifier(folder, 1, sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity"})
    return transformers_folder.read(folder)


def tags(folder):
    return classifier(folder, architectures=["BertForTokenClassification"])


def pegasus(folder):
    return translator(folder, norm_first=True)


EXPORTS = [bert, words, classifier, pairs, scores, tags, gpt, translator, pegasus, as_sentences]
KEYS = {words: "words_difference", classifier: "labels_difference", gpt: "continuations", translator: "translations"}


def form_of(make):
    return "sentence-transformers" if make is as_sentences else "huggingface"


@pytest.mark.parametrize("make", EXPORTS)
def test_every_export_gives_what_the_run_gives(tmp_path, make):
    result = round_trip.compare_folder(make(tmp_path), tmp_path, form_of(make))
    assert result["difference"] < 1e-5 and result["texts"] >= 3
    assert make not in KEYS or KEYS[make] in result


@pytest.mark.parametrize(("kind", "settings"), [("words", {}), ("bpe", {"vocab_size": 90, "chinese": "words"}), ("unigram", {"vocab_size": 128})])
def test_every_kind_of_tokenizer(tmp_path, kind, settings):
    tokenizer = Tokenizer.train(TokenizerSpec(kind, **settings), lambda: [TEXTS * 9])
    task = MaskedToken(far(BERT(BERTConfig(tokenizer.vocab_size, context=48, width=24, heads=3, layers=1))), tokenizer)
    transformers_folder.write(task, tmp_path)
    result = round_trip.compare_folder(task, tmp_path, "huggingface")
    assert result["texts"] >= 6 and max(result["difference"], result["words_difference"], result["pairs_difference"]) < 1e-5


def without_marks(folder):
    change_json(folder / "tokenizer.json", post_processor=None)


def other_weights(folder):
    name = "bert.embeddings.LayerNorm.bias" if (folder / "vocab.txt").is_file() else "transformer.ln_f.bias"
    change_tensors(folder, lambda tensors: tensors.update({key: tensors[key] + 0.5 for key in tensors if key.endswith(name.rpartition("bert.")[2])}))


def other_layer(folder):
    change_tensors(folder, lambda tensors: tensors["classifier.bias"].copy_(torch.tensor([5.0, -5.0])))


def never_the_end(folder):
    change_json(folder / "generation_config.json", suppress_tokens=list(range(4, 269)))


def other_pooling(folder):
    change_json(folder / "1_Pooling/config.json", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)


SPOILT = [(make, without_marks) for make in EXPORTS if make is not as_sentences]
SPOILT += [(bert, other_weights), (gpt, other_weights), (classifier, other_layer), (pairs, other_layer), (tags, other_layer)]
SPOILT += [(gpt, never_the_end), (as_sentences, other_pooling), (as_sentences, without_marks)]


@pytest.mark.parametrize(("make", "spoil"), SPOILT)
def test_what_gives_something_else_is_refused(tmp_path, make, spoil):
    task = make(tmp_path)
    spoil(tmp_path)
    with pytest.raises(BadInput, match="the written files give other") as refused:
        round_trip.compare_folder(task, tmp_path, form_of(make))
    assert "\n" not in str(refused.value)


def test_nothing_is_written_when_the_comparison_fails(tmp_path, command, monkeypatch):
    bert(tmp_path / "folder")
    assert command("adopt", "folder", "--out", "runs/a").code == 0
    write = transformers_folder.write

    def spoilt(task, folder):
        about = write(task, folder)
        without_marks(folder)
        return about

    monkeypatch.setattr(transformers_folder, "write", spoilt)
    for form in ("huggingface", "sentence-transformers"):
        refused = command("convert", "runs/a", form, "--out", "out")
        assert refused.code == 2 and "nothing was written" in refused.err and not (tmp_path / "out").exists()


def test_every_task_of_a_bert_gives_the_same_vector(tmp_path):
    encode = bert(tmp_path / "a", parts=("pooler", "words"))
    long = " ".join(TEXTS * 9)
    expected = Encode(encode.model, encode.tokenizer).vectors([*TEXTS, long])
    ids = encode.rows(TEXTS[:1])[0]
    assert ids[0] == encode.tokenizer.begin and ids[-1] == encode.tokenizer.end
    batch = torch.tensor([ids])
    by_hand = encode.model.encode(round_trip.Batch(batch, torch.ones_like(batch, dtype=torch.bool)))[0].mean(0).detach().numpy()
    assert np.allclose(expected[0], by_hand, atol=1e-6)
    with_classifier(tmp_path / "b", 2)
    tuned = transformers_folder.read(tmp_path / "b")
    for task in (transformers_folder.read(tmp_path / "a"), tuned):
        plain = Encode(task.model, task.tokenizer).vectors([*TEXTS, long])
        assert np.allclose(task.vectors([*TEXTS, long]), plain, atol=1e-6)
    assert np.allclose(transformers_folder.read(tmp_path / "a").vectors([*TEXTS, long]), expected, atol=1e-6)


def test_long_texts_are_told_of(tmp_path, monkeypatch):
    task, seen = classifier(tmp_path), []
    monkeypatch.setattr(round_trip, "say", seen.append)
    monkeypatch.setattr(round_trip, "TOLERANCE", 1e-7)
    short, long = round_trip.test_texts(task.tokenizer, task.model.config.context)
    assert all(len(task.tokenizer.encode(text)) > task.model.config.context for text in long) and short
    round_trip.warn_about_long_texts(task, transformers_folder.read(tmp_path), round_trip.WrittenFolder(tmp_path, task), long)
    assert len(seen) == 1 and "head+tail" in seen[0]


@pytest.mark.parametrize("kind", word_vectors.KINDS)
def test_word_vectors_are_compared_with_the_file(tmp_path, kind):
    vectors = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    task = WordVectors(*word_vectors.to_model(WordVectorFile(["a", "b", "naïve", "国王", "d"], vectors, "")))
    path = str(tmp_path / "v")
    word_vectors.write(task.tokenizer.vocabulary, task.model.all_vectors(), path, kind)
    assert file_round_trip.compare_vectors(task, path) == {"difference": 0}
    word_vectors.write(task.tokenizer.vocabulary, task.model.all_vectors() + 0.1, path, kind)
    with pytest.raises(BadInput, match=r"other vectors for .* differ by 0\.1"):
        file_round_trip.compare_vectors(task, path)
    word_vectors.write([*task.tokenizer.vocabulary[:-1], "other"], task.model.all_vectors(), path, kind)
    with pytest.raises(BadInput, match="other words for 'd'"):
        file_round_trip.compare_vectors(task, path)


def test_sentences_are_compared_with_the_arpa_file(tmp_path, command):
    (tmp_path / "text.txt").write_text("the cat sat on the mat .\nthe dog sat on the cat .\n" * 20)
    assert command("train", "ngram", "text.txt", "--out", "runs/n", "--order", "3").code == 0
    done = command("convert", "runs/n", "arpa", "--out", "n.arpa", "--json")
    assert done.code == 0 and json.loads(done.out)["log_probability_difference"] < 1e-4, done.err
    from stairs.training.run import load

    task = load(tmp_path / "runs/n")
    assert isinstance(task, NextToken)
    lines = (tmp_path / "n.arpa").read_text().splitlines()
    spoilt = [f"{float(line.split(chr(9))[0]) + math.log10(0.5):.6g}\t{line.split(chr(9), 1)[1]}" if "\tcat\t" in line else line for line in lines]
    (tmp_path / "n.arpa").write_text("\n".join(spoilt) + "\n")
    with pytest.raises(BadInput, match="log-probabilities"):
        file_round_trip.compare_arpa(task, str(tmp_path / "n.arpa"))


def test_a_bi_encoder_is_a_sentence_encoder_and_no_layer(tmp_path):
    encode = bert(tmp_path / "first")
    task = BiEncoder(encode.model, encode.tokenizer, TransferOptions(max_length=12), labels=[], low=0.0, high=5.0)
    (tmp_path / "second").mkdir()
    sentence_transformers.write(task, tmp_path / "second")
    assert round_trip.compare_folder(task, tmp_path / "second", "sentence-transformers")["difference"] < 1e-5
    with pytest.raises(BadInput, match="convert it to sentence-transformers"):
        transformers_folder.write(task, tmp_path / "first")


def test_what_a_gpt_learnt_on_top_is_not_left_out_without_a_word(tmp_path):
    task = gpt(tmp_path)
    tuned = Classify(task.model, task.tokenizer, labels=["a", "b"], counts=[1, 1])
    with pytest.raises(BadInput, match="classify on gpt has no counterpart in transformers"):
        transformers_folder.write(tuned, tmp_path)


def test_a_run_of_texts_is_written_as_its_encoder_and_one_without_a_model_is_not(tmp_path, command):
    encode = bert(tmp_path / "first")
    sentences = Encode(encode.model, encode.tokenizer, pooling="cls", normalize=True)
    as_run(Similar(sentences, TEXTS), tmp_path / "runs/a")
    done = command("convert", "runs/a", "sentence-transformers", "--out", "out", "--json")
    assert done.code == 0 and json.loads(done.out)["pooling"] == "cls" and "only the encoder" in done.err, done.err
    as_run(TfidfClassifier.train([LabelledText("good soup", "good"), LabelledText("bad rain", "bad")] * 3, encode.tokenizer), tmp_path / "runs/b")
    refused = command("convert", "runs/b", "huggingface", "--out", "other")
    assert refused.code == 2 and "only bert, gpt and transformer runs" in refused.err, refused.err


def as_run(task, place):
    with Run(place).open_for_writing({"format": FORMAT, **task.describe(), "seed": 0, "data": {}, "versions": versions()}):
        Run(place).save_model(task)
