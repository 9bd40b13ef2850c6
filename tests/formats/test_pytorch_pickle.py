"""Old weights of PyTorch: read in a child process after a look through the zip, and nothing in them is ever run."""

import pickle
import time
import zipfile

import pytest
import torch

from stairs.errors import BadInput
from stairs.formats.huggingface import pytorch_pickle


class Canary:
    """What a crafted file does when it is unpickled: here it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("zipped", [True, False])
def test_weights_come_back(tmp_path, zipped):
    shared = torch.randn(3, 4)
    held = {"a": shared, "b": torch.nn.Parameter(torch.randn(2)), "c": shared, "n": torch.arange(3)}
    torch.save(held, tmp_path / "w.bin", _use_new_zipfile_serialization=zipped)
    result = pytorch_pickle.read(tmp_path / "w.bin")
    assert torch.equal(result["a"], shared) and torch.equal(result["c"], shared) and result["n"].tolist() == [0, 1, 2] and result["b"].shape == (2,)


def repacked(source, target, change=lambda name, content: content, compression=zipfile.ZIP_STORED, more=()):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", compression) as new:
        for member in old.infolist():
            new.writestr(member.filename, change(member.filename, old.read(member)))
        for name, content in more:
            new.writestr(name, content)


@pytest.fixture
def sound(tmp_path):
    torch.save({"a": torch.zeros(10)}, tmp_path / "sound.bin")
    return tmp_path / "sound.bin"


def test_code_in_a_pickle_is_not_run(tmp_path, sound):
    for protocol in (0, 2, 4):
        crafted = pickle.dumps({"a": Canary(tmp_path / "canary")}, protocol)
        repacked(sound, tmp_path / "w.bin", lambda name, content, crafted=crafted: crafted if name.endswith("data.pkl") else content)
        with pytest.raises(BadInput, match=r"would call|damaged"):
            pytorch_pickle.read(tmp_path / "w.bin")
    (tmp_path / "raw.bin").write_bytes(pickle.dumps(Canary(tmp_path / "canary")))
    with pytest.raises(BadInput, match=r"would call|damaged"):
        pytorch_pickle.read(tmp_path / "raw.bin")
    torch.save({"a": Canary(tmp_path / "canary")}, tmp_path / "old.bin", _use_new_zipfile_serialization=False)
    with pytest.raises(BadInput, match="would call"):
        pytorch_pickle.read(tmp_path / "old.bin")
    assert not (tmp_path / "canary").exists()


def test_what_looks_like_a_bomb_is_refused_at_once(tmp_path, sound):
    repacked(sound, tmp_path / "packed.bin", compression=zipfile.ZIP_DEFLATED, more=[("sound/data/9", b"\0" * (1 << 26))])
    began = time.process_time()
    with pytest.raises(BadInput, match="compressed"):
        pytorch_pickle.read(tmp_path / "packed.bin")
    assert time.process_time() - began < 1
    repacked(sound, tmp_path / "nested.bin", more=[("sound/data/9", sound.read_bytes())])
    with pytest.raises(BadInput, match="another zip"):
        pytorch_pickle.read(tmp_path / "nested.bin")
    repacked(sound, tmp_path / "two.bin", more=[("other/data.pkl", b"")])
    with pytest.raises(BadInput, match="2 pickles"):
        pytorch_pickle.read(tmp_path / "two.bin")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"\x80\x02}q\0."])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "w.bin").write_bytes(content)
    with pytest.raises(BadInput, match="safetensors"):
        pytorch_pickle.read(tmp_path / "w.bin")


def test_other_things_than_tensors_are_refused(tmp_path):
    torch.save({"state_dict": {"a": torch.zeros(1)}}, tmp_path / "w.bin")
    with pytest.raises(BadInput, match="not hold a dict of tensors"):
        pytorch_pickle.read(tmp_path / "w.bin")


def test_truncated(tmp_path, sound):
    (tmp_path / "w.bin").write_bytes(sound.read_bytes()[:-40])
    with pytest.raises(BadInput):
        pytorch_pickle.read(tmp_path / "w.bin")
