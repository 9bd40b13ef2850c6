"""A run as one file to ship: a zip with `manifest.json` first, then run.json, the measurements and the finished model.

    model.stairs
      manifest.json       format, version, and the bytes and sha256 of every other member
      run.json            as in the run folder, and metrics.jsonl and evaluation.json, where there are some
      model/...           config.json, model.safetensors, the tokenizer, and their own manifest

There are safetensors and JSON in it, and no pickle. Somebody else's file is read as an enemy's: every member must be of a known name and no larger
than it claims, claims that no disk or patience could take are refused before anything is inflated, and what was unpacked must have the sha256 that
the manifest gives. It is unpacked once, into the cache, under the sha256 of the whole file.
"""

import hashlib
import json
import os
import re
import shutil
import zipfile
import zlib
from pathlib import Path
from typing import Any

from stairs.cache import cache_folder
from stairs.errors import BadInput, preview
from stairs.files import MANIFEST, check_free_space, os_error_reason, os_errors_as_sentences, remove_leftovers, sha256
from stairs.tasks.measurements import EVALUATION_FILE
from stairs.version import __version__

FORMAT = 1
SUFFIX = ".stairs"
RUN_FILES = ("run.json", "metrics.jsonl", EVALUATION_FILE)
MODEL_FILE = re.compile(r"model/[A-Za-z0-9][A-Za-z0-9_.-]{0,80}\.(json|jsonl|safetensors|txt|model)")
MAX_MEMBERS = 64
MAX_MANIFEST = 1 << 20  # bytes
MAX_RATIO = 200  # bytes that a byte of the zip may inflate to
BLOCK = 1 << 20
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the time of every member: the same run is the same file


def is_run_file(path: str | Path) -> bool:
    return str(path).endswith(SUFFIX) and os.path.isfile(path)


def write_run_file(run: Path, out: Path) -> dict[str, int]:
    """The file of a finished run; the bytes of each member."""
    members = {name: run / name for name in RUN_FILES if (run / name).is_file()}
    members |= {f"model/{path.name}": path for path in sorted((run / "model").iterdir())}
    sizes = {name: path.stat().st_size for name, path in members.items()}
    described = {name: {"bytes": sizes[name], "sha256": sha256(path)} for name, path in members.items()}
    manifest = {"format": FORMAT, "stairs": __version__, "files": described}
    with zipfile.ZipFile(out, "w") as archive:
        write_member(archive, MANIFEST, json.dumps(manifest, indent=2).encode())
        for name, path in members.items():
            write_member(archive, name, path.read_bytes())
    return sizes


def write_member(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Weights do not get smaller, JSON does."""
    member = zipfile.ZipInfo(name, EARLIEST)
    member.external_attr = 0o644 << 16
    is_text = not name.endswith(".safetensors") and len(content) < MAX_RATIO * len(zlib.compress(content))
    archive.writestr(member, content, zipfile.ZIP_DEFLATED if is_text else zipfile.ZIP_STORED)


def open_run_file(path: str | Path) -> Path:
    """The run folder that a file holds, unpacked and verified."""
    path = Path(path)
    try:
        digest = sha256(path)
        folder = cache_folder() / "run-files" / digest[:32] / path.stem
        if folder.is_dir():
            return folder
        with zipfile.ZipFile(path) as archive:
            unpack(archive, path, folder)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise BadInput(f"{path} is damaged or no {SUFFIX} file ({preview(str(error))}); get it again, or write it with stairs convert") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {os_error_reason(error)}; check the file") from None
    return folder


def unpack(archive: zipfile.ZipFile, path: Path, folder: Path) -> None:
    """All members, whole or not at all."""
    members = check_members(archive, path)
    described = read_manifest(archive, members.pop(MANIFEST), path)
    if members.keys() != described.keys():
        odd = min(members.keys() ^ described.keys())
        raise BadInput(f"{path} holds {preview(odd)} only in its manifest or only beside it; it was changed after it was written: get it again")
    check_free_space(folder, sum(member.file_size for member in members.values()), f"unpacking {path}")
    aside = folder.parent / f".tmp-{path.stem}"
    with os_errors_as_sentences(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
        shutil.rmtree(aside, ignore_errors=True)
        try:
            for name, member in members.items():
                if extract(archive, member, aside / name) != described[name].get("sha256"):
                    raise BadInput(f"{path}: {name} is not what its manifest says; the file is damaged or was changed: get it again")
            aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def check_members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The members by name; a name that leads elsewhere, a member that inflates without end, or one that is hidden behind another is refused."""
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(names) > MAX_MEMBERS or len(set(names)) < len(names):
        several = f"{len(names):,} members under {len(set(names)):,} names"
        raise BadInput(f"{path} holds {several}; no run is like that: get it from somebody you trust")
    for member in members:
        if member.filename not in (MANIFEST, *RUN_FILES) and not MODEL_FILE.fullmatch(member.filename):
            raise BadInput(f"{path} holds {preview(member.filename)}, which is no file of a run; get it from somebody you trust")
        if member.flag_bits & 1:
            raise BadInput(f"{path} is encrypted; write it with stairs convert")
        if member.file_size > MAX_RATIO * max(member.compress_size, 1):
            claimed = f"{member.compress_size:,} bytes of {preview(member.filename)} claim to hold {member.file_size:,}"
            raise BadInput(f"{path}: {claimed}; no run is like that: get it from somebody you trust")
    if sum(member.compress_size for member in members) > path.stat().st_size:
        raise BadInput(f"{path}: its members overlap; no run is like that: get it from somebody you trust")
    if MANIFEST not in names or "run.json" not in names:
        raise BadInput(f"{path} holds no run; write one with stairs convert RUN file --out {path.name}")
    return dict(zip(names, members, strict=True))


def read_manifest(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> dict[str, dict[str, Any]]:
    """What each file should be."""
    try:
        if member.file_size > MAX_MANIFEST:
            raise ValueError
        manifest = json.loads(archive.read(member))
        number, files = int(manifest["format"]), {str(name): dict(own) for name, own in manifest["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{path} has a damaged {MANIFEST}; get it again, or write it with stairs convert") from None
    if number > FORMAT:
        raise BadInput(f"{path} was written by stairs {preview(str(manifest.get('stairs')))}, newer than this {__version__}; update stairs")
    return files


def extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> str:
    """Write a member, at most as many bytes as it claims, and return its sha256."""
    target.parent.mkdir(parents=True, exist_ok=True)
    found, left = hashlib.sha256(), member.file_size
    with archive.open(member) as source, target.open("wb") as file:
        while left and (block := source.read(min(BLOCK, left))):
            found.update(block)
            file.write(block)
            left -= len(block)
    return found.hexdigest()
