"""Folders of transformers: what is written comes back, and what does not fit is refused in one sentence."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from stairs.errors import BadInput, Unsupported
from stairs.formats.huggingface import sentence_transformers, transformers_folder
from stairs.formats.output import new_folder
from stairs.tasks import TASKS, Encode
from tests.formats.folders import TEXTS, bert, change_json, change_tensors, gpt, vocabulary


def test_bert_comes_back(tmp_path):
    task = bert(tmp_path)
    again = transformers_folder.read(tmp_path)
    assert isinstance(again, Encode) and again.model.config == task.model.config and again.tokenizer.hash == task.tokenizer.hash
    assert np.array_equal(again.vectors(TEXTS), task.vectors(TEXTS))
    names = set(load_file(tmp_path / "model.safetensors"))
    assert "encoder.layer.1.attention.self.query.weight" in names and "pooler.dense.bias" in names  # a bare BertModel has no prefix
    assert json.loads((tmp_path / "config.json").read_text())["architectures"] == ["BertModel"]
    assert len((tmp_path / "vocab.txt").read_text("utf-8").splitlines()) == task.tokenizer.vocab_size


def test_the_layer_for_words_is_bert_for_masked_words(tmp_path):
    bert(tmp_path, parts=("words",))
    assert transformers_folder.read(tmp_path).name == "masked-token"
    assert "cls.predictions.transform.dense.weight" in load_file(tmp_path / "model.safetensors")
    assert "cls.predictions.decoder.weight" not in load_file(tmp_path / "model.safetensors")  # it is the table of tokens


def test_gpt_comes_back(tmp_path):
    task = gpt(tmp_path)
    again = transformers_folder.read(tmp_path)
    assert again.name == "next-token" and again.log_probability("the cat") == pytest.approx(task.log_probability("the cat"), abs=1e-4)
    assert load_file(tmp_path / "model.safetensors")["transformer.h.0.attn.c_attn.weight"].shape == (24, 72)  # (in, out)


@pytest.mark.parametrize(("example_kind", "prefix"), [("classify", "classifier"), ("tag", "classifier"), ("find-span", "qa_outputs")])
def test_heads_are_kept_through_a_run(tmp_path, example_kind, prefix):
    labels = ["LABEL_0", "LABEL_1"] if example_kind == "find-span" else ["bad", "good"]
    head = {"task": example_kind, "labels": labels, "tensors": {f"{prefix}.weight": torch.randn(2, 24), f"{prefix}.bias": torch.randn(2)}}
    task = bert(tmp_path / "folder", head=head)
    for_run = transformers_folder.read(tmp_path / "folder")
    (tmp_path / "run").mkdir()
    for_run.save(tmp_path / "run")
    again = TASKS[example_kind].open(tmp_path / "run", json.loads((tmp_path / "run" / "config.json").read_text()))
    assert again.name == task.name == example_kind and again.settings.get("labels", labels) == labels
    assert torch.equal(again.head.linear.weight, head["tensors"][f"{prefix}.weight"])


def test_several_files_of_weights(tmp_path):
    task = bert(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    names = sorted(tensors)
    halves = {"model-1.safetensors": names[:20], "model-2.safetensors": names[20:]}
    for file, held in halves.items():
        save_file({name: tensors[name] for name in held}, tmp_path / file)
    (tmp_path / "model.safetensors").unlink()
    index = {name: file for file, held in halves.items() for name in held}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    assert np.array_equal(transformers_folder.read(tmp_path).vectors(TEXTS), task.vectors(TEXTS))
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../elsewhere.safetensors"}}))
    with pytest.raises(BadInput, match="does not name files of this folder"):
        transformers_folder.read(tmp_path)


def test_old_names_of_norms_and_half_precision(tmp_path):
    task = bert(tmp_path)

    def old(tensors):
        for name in list(tensors):
            tensors[name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = tensors.pop(name).half()
        tensors["embeddings.position_ids"] = torch.arange(40)[None]

    change_tensors(tmp_path, old)
    assert np.abs(transformers_folder.read(tmp_path).vectors(TEXTS) - task.vectors(TEXTS)).max() < 0.05


WRONG = [
    (lambda f: change_tensors(f, lambda t: t.pop("encoder.layer.0.output.dense.bias")), "encoder.layer.0.output.dense.bias is missing"),
    (lambda f: change_tensors(f, lambda t: t.update(stranger=torch.zeros(2))), "'stranger' is unknown"),
    (lambda f: change_tensors(f, lambda t: t.update({"pooler.dense.bias": torch.zeros(3)})), r"pooler.dense.bias is \(3,\) and not \(24,\)"),
    (lambda f: change_tensors(f, lambda t: t.update({"pooler.dense.bias": torch.zeros(24, dtype=torch.int32)})), "int32"),
    (lambda f: change_tensors(f, lambda t: t["pooler.dense.bias"].fill_(torch.nan)), "NaN"),
    (lambda f: (f / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"), "git lfs pull"),
    (lambda f: (f / "model.safetensors").write_bytes(b"<html>404</html>"), "web page"),
    (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 100), "not a safetensors file"),
    (lambda f: (f / "model.safetensors").unlink(), "neither model.safetensors nor"),
    (lambda f: (f / "config.json").unlink(), "no config.json"),
    (lambda f: (f / "config.json").write_text("[" * 10_000), "config.json"),
    (lambda f: change_json(f / "config.json", model_type="llama", architectures=["LlamaForCausalLM"]), "LlamaForCausalLM.*BERT"),
    (lambda f: change_json(f / "config.json", hidden_size="wide"), "hidden_size is 'wide'"),
    (lambda f: change_json(f / "config.json", hidden_size=32), "multiple of"),
    (lambda f: change_json(f / "config.json", intermediate_size=50), r"is \(96, 24\) and not \(50, 24\)"),
    (lambda f: change_json(f / "config.json", layer_norm_eps="small"), "config.json"),
    (lambda f: change_json(f / "config.json", num_hidden_layers=1 << 20), "there are only .* tensors"),
    (lambda f: change_json(f / "config.json", vocab_size=1 << 40), "is .* and not"),
    (lambda f: change_json(f / "config.json", hidden_size=3 << 18, intermediate_size=1 << 20), "is .* and not"),
    (lambda f: change_json(f / "config.json", hidden_act="silu"), "silu"),
    (lambda f: change_json(f / "config.json", position_embedding_type="relative_key"), "relative_key"),
    (lambda f: change_json(f / "config.json", is_decoder=True), "left to right"),
    (lambda f: change_json(f / "config.json", vocab_size=40), "tokenizer .* has .* tokens, .* 40; they belong"),
    (lambda f: (f / "tokenizer.json").unlink(), "tokenizer.json"),
]


@pytest.mark.parametrize(("spoil", "message"), WRONG)
def test_what_does_not_fit_is_refused(tmp_path, spoil, message):
    bert(tmp_path)
    spoil(tmp_path)
    with pytest.raises(BadInput, match=message) as refused:
        transformers_folder.read(tmp_path)
    assert "\n" not in str(refused.value) and str(tmp_path) in str(refused.value) and ";" in str(refused.value)


@pytest.mark.parametrize("change", [{"activation_function": "relu"}, {"n_inner": 7}, {"scale_attn_by_inverse_layer_idx": True}])
def test_other_kinds_of_gpt2_are_refused(tmp_path, change):
    gpt(tmp_path)
    change_json(tmp_path / "config.json", **change)
    with pytest.raises(Unsupported, match=next(iter(change))):
        transformers_folder.read(tmp_path)


def test_an_output_layer_of_its_own_is_refused(tmp_path):
    bert(tmp_path, parts=("words",))
    change_tensors(tmp_path, lambda t: t.update({"cls.predictions.decoder.weight": t["bert.embeddings.word_embeddings.weight"] + 1}))
    with pytest.raises(Unsupported, match="tie the two"):
        transformers_folder.read(tmp_path)


def test_labels_that_do_not_fit_the_head(tmp_path):
    head = {"task": "classify", "labels": ["bad", "good"], "tensors": {"classifier.weight": torch.randn(2, 24),
        "classifier.bias": torch.randn(2)}}
    bert(tmp_path, head=head)
    change_json(tmp_path / "config.json", id2label={"0": "only"})
    with pytest.raises(BadInput, match="1 labels, and the output layer has 2"):
        transformers_folder.read(tmp_path)


def test_a_gpt_that_is_no_gpt2_is_not_written(tmp_path):
    from stairs.models.gpt import GPT
    from stairs.models.settings import GPTConfig
    from stairs.tasks import NextToken

    task = gpt(tmp_path / "a")
    refused = [
        ({"positions": "rotary"}, "rotary positions"),
        ({"positions": "relative"}, "relative positions"),
        ({"attention_pattern": "window", "radius": 4}, "the attention pattern window"),
        ({"score": "bilinear"}, "the attention score bilinear"),
        ({"residual": False}, "no residual connections"),
        ({"activation": "none"}, "the activation none"),
        ({"norm_first": False}, "norms after the sums"),
    ]
    for settings, reason in refused:
        other = NextToken(GPT(GPTConfig(task.tokenizer.vocab_size, context=32, width=24, heads=3, layers=2, **settings)), task.tokenizer)
        with pytest.raises(Unsupported, match=f"a gpt with {reason} has no counterpart in transformers"):
            transformers_folder.write(other, tmp_path)
    with pytest.raises(Unsupported, match="bert runs"):
        sentence_transformers.write(task, tmp_path)


def test_sentence_model_comes_back(tmp_path):
    task = bert(tmp_path / "first", parts=("pooler", "words"))
    meant = Encode(task.model, task.tokenizer, pooling="cls", normalize=True, max_length=9)
    (tmp_path / "second").mkdir()
    sentence_transformers.write(meant, tmp_path / "second")
    again = sentence_transformers.read(tmp_path / "second")
    assert (again.pooling, again.normalize, again.max_length) == ("cls", True, 9)
    assert np.allclose(again.vectors(TEXTS), meant.vectors(TEXTS), atol=1e-6)
    assert json.loads((tmp_path / "second/modules.json").read_text())[1]["type"] == "sentence_transformers.models.Pooling"


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("modules.json", [{"idx": 0, "path": "", "type": "x.Transformer"}, {"idx": 1, "path": "1_Pooling", "type": "x.LSTM"}], "LSTM"),
        ("modules.json", [{"idx": 0, "path": "../..", "type": "x.Transformer"}], "leaves the folder"),
        ("modules.json", {"no": "list"}, "not a list of modules"),
        ("1_Pooling/config.json", {"pooling_mode": "max"}, "pools by 'max'"),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "pools by"),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "prompt"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "lowercases texts"),
    ],
)
def test_other_sentence_models_are_refused(tmp_path, file, change, message):
    task = bert(tmp_path / "first")
    (tmp_path / "second").mkdir()
    sentence_transformers.write(task, tmp_path / "second")
    (tmp_path / "second" / file).write_text(json.dumps(change))
    with pytest.raises(BadInput, match=message) as refused:
        sentence_transformers.read(tmp_path / "second")
    assert "\n" not in str(refused.value)


def test_a_folder_is_written_whole_or_not_at_all(tmp_path):
    with pytest.raises(ZeroDivisionError), new_folder(str(tmp_path / "out")) as aside:
        (aside / "half").write_text("")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(BadInput, match="new folder"), new_folder(str(tmp_path / "full")):
        pass


def test_the_journey_from_the_command_line(tmp_path, command):
    folder = tmp_path / "minibert"
    folder.mkdir()
    size = vocabulary(folder)
    task = bert(tmp_path / "ours")
    config = json.loads((tmp_path / "ours/config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": size + 2}))  # two rows more than there are tokens
    tensors = load_file(tmp_path / "ours/model.safetensors")
    tensors["embeddings.word_embeddings.weight"] = torch.randn(size + 2, task.model.config.width)
    save_file(tensors, folder / "model.safetensors")
    adopted = command("adopt", "minibert", "--json")
    assert adopted.code == 0, adopted.err
    assert json.loads(adopted.out)["task"] == "encode"
    plain, rounded = (json.loads(command("embed", "runs/minibert", "the cat", "--json", *more).out) for more in ((), ("--precision", "bf16")))
    assert np.allclose(plain[0]["vector"], rounded[0]["vector"], atol=0.1) and plain != rounded
    near = command("ask", "runs/minibert", "the cat", "--second", "the cat")
    assert near.out.strip() == "cosine 1.0000" and len(command("ask", "runs/minibert", "the cat").out.split()) == task.model.config.width
    assert command("score", "runs/minibert", "minibert/vocab.txt").code == 2
    for form in ("huggingface", "sentence-transformers"):
        done = command("convert", "runs/minibert", form, "--out", f"out/{form}", "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["difference"] < 1e-5
    refused = command("adopt", "out/nowhere", "--out", "runs/other")
    assert refused.code == 2 and not (tmp_path / "runs/other").exists()
    assert command("convert", "runs/minibert", "arpa", "--out", "x").code == 2
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    refused = command("adopt", "minibert", "--out", "runs/other")
    assert refused.code == 2 and "git lfs pull" in refused.err and not (tmp_path / "runs/other").exists()
