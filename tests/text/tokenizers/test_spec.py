import json

import pytest

from stairs.errors import BadInput, EnvironmentFault
from stairs.text.tokenizers.tokenizer import KINDS, Tokenizer, TokenizerSpec

DOCUMENTS = [["The cat sat on the mat, didn't it?", "我来到北京清华大学。"], ["[MASK] [PAD][UNK] [CLS]x[SEP] </s>"] * 9]


@pytest.fixture(scope="module")
def trained():
    return {kind: Tokenizer.train(TokenizerSpec(kind), lambda: DOCUMENTS) for kind in KINDS}


@pytest.mark.parametrize(
    "fault_text",
    [
        {"kind": "syllables"},
        {"kind": "bpe", "vocab_size": 3},
        {"vocab_size": 0},
        {"vocab_size": True},
        {"min_count": 0},
        {"chinese": "radicals"},
        {"kind": "byte-bpe", "chinese": "words"},
        {"lowercase": "no"},
    ],
)
def test_a_spec_that_does_not_fit_is_refused(fault_text):
    with pytest.raises(BadInput):
        TokenizerSpec(**fault_text)


def test_defaults_depend_on_the_kind():
    assert (TokenizerSpec().vocab_size, TokenizerSpec().chinese) == (None, "words")
    assert (TokenizerSpec("bpe").vocab_size, TokenizerSpec("bpe").chinese) == (8192, "characters")


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(trained, kind, tmp_path):
    trained[kind].save(tmp_path / "t")
    again = Tokenizer.load(tmp_path / "t")
    assert again.spec == trained[kind].spec and again.hash == trained[kind].hash and again.vocabulary == trained[kind].vocabulary
    assert again.encode_batch([s for d in DOCUMENTS for s in d]) == trained[kind].encode_batch([s for d in DOCUMENTS for s in d])
    config = json.loads((tmp_path / "t/tokenizer_config.json").read_text())
    assert (config["pad_token"], config["mask_token"], config["stairs"]["kind"]) == ("[PAD]", "[MASK]", kind)


def test_hashes_differ(trained):
    assert len({tokenizer.hash for tokenizer in trained.values()}) == len(KINDS)


def crafted(change):
    def write(folder):
        path = folder / "tokenizer.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return write


def truncate(folder):
    path = folder / "tokenizer.json"
    path.write_bytes(path.read_bytes()[:-50])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spoil", [
    truncate,
    lambda folder: (folder / "tokenizer.json").write_text("<html>404</html>"),
    lambda folder: (folder / "tokenizer.json").write_text("[" * 100_000),
    lambda folder: (folder / "tokenizer.json").write_text("[]"),
    lambda folder: (folder / "tokenizer.json").unlink(),
    lambda folder: (folder / "tokenizer_config.json").write_text("{}"),
    lambda folder: (folder / "tokenizer_config.json").write_text('{"stairs": {"version": 99}}'),
    lambda folder: (folder / "tokenizer_config.json").write_text('{"stairs": {"version": 1, "kind": ["x"]}}'),
    crafted(lambda content: content.pop("model")),
    crafted(lambda content: content["model"].update(type="Other")),
    crafted(lambda content: content["model"].update(vocab={})),
    crafted(lambda content: content["model"].update(vocab={"a": -1, "b": 2**40})),
    crafted(lambda content: content["model"].update(vocab=[["a", "b"], 3])),
    crafted(lambda content: content["model"].update(vocab={"\ud800": 0, "b": 1, "c": 2, "d": 3, "e": 4})),
    crafted(lambda content: content["model"].update(vocab=[["", 0.0]] * 9)),
    crafted(lambda content: content["model"].update(vocab={letter: at for at, letter in enumerate("abcdefg")}, merges=[])),
])  # fmt: skip
def test_a_damaged_file_is_refused_in_one_sentence(trained, kind, spoil, tmp_path):
    trained[kind].save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(BadInput) as error_of:
        Tokenizer.load(tmp_path)
    assert "tokenizer" in str(error_of.value) and "\n" not in str(error_of.value)


@pytest.mark.parametrize("merge", [["q q", "z"], "a", ["no", "such"], 7, ["[MAS", "K]"]])
def test_merges_of_unknown_tokens_are_refused(trained, merge, tmp_path):
    trained["byte-bpe"].save(tmp_path)
    crafted(lambda content: content["model"]["merges"].append(merge))(tmp_path)
    with pytest.raises(BadInput, match="merge"):
        Tokenizer.load(tmp_path)


def test_a_pattern_in_a_file_is_not_used(trained, tmp_path):
    trained["words"].save(tmp_path)
    crafted(
        lambda content: content.update(
            pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
        )
    )(tmp_path)
    assert Tokenizer.load(tmp_path).encode("The cat") == trained["words"].encode("The cat")


def test_an_unwritable_folder_is_the_environments_fault(trained, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match=r"cannot write .*tokenizer\.json"):
        trained["words"].save(tmp_path / "file" / "t")
