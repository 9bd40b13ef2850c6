"""A picture is a whole file of the kind its name says, or none."""

import altair as alt
import pytest

from stairs.errors import BadInput, EnvironmentFault
from stairs.pictures.charts import render, save

CHART = alt.Chart(alt.Data(values=[{"x": 1, "word": "国王"}])).mark_text().encode(x="x:Q", text="word:N")


@pytest.mark.parametrize(("name", "begin"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!DOCTYPE html>")])
def test_each_ending(tmp_path, name, begin):
    save(CHART, tmp_path / "new" / name)
    content = (tmp_path / "new" / name).read_bytes()
    assert content.lstrip().startswith(begin)
    assert b'src="http' not in content  # nothing is fetched when it is looked at
    assert [path.name for path in (tmp_path / "new").iterdir()] == [name]


def test_where_no_picture_can_be(tmp_path):
    (tmp_path / "folder.png").mkdir()
    for name, words in (("a.pdf", "let it end in .svg"), ("folder.png", "is a folder")):
        with pytest.raises(BadInput, match=words):
            save(CHART, tmp_path / name)
    with pytest.raises(EnvironmentFault, match=r"cannot write /proc/a\.svg"):
        save(CHART, "/proc/a.svg")


def test_control_characters_are_drawn_as_signs_of_themselves():
    """Vega's renderer would end the whole process."""
    text = "".join(map(chr, range(0x20))) + "\x7f\x85\ufffe\uffff\ud800 soup <b> & ]]> \u202e"
    chart = alt.Chart(alt.Data(values=[{"text": text, "x": 1}])).mark_text().encode(text="text:N", x="x:Q", y=alt.Y("text:N"))
    assert "␇".encode() in render(chart, ".svg") and b"<b>" not in render(chart, ".svg")
    assert render(chart, ".png").startswith(b"\x89PNG")
