"""stairs draw RUN PICTURE [TEXT ...]: a run from inside, as a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from stairs.commands.flags import Common, parse, show
from stairs.errors import BadInput
from stairs.progress import say

ABOUT = """A picture of what a run makes of a text, as SVG, PNG or HTML, or as JSON what it would show. There are tokens of any run and mask of most;
backoff of n-grams; surprise and next of language models; blanks and surprise of bert; neighbours, strips, map and analogy of word vectors; alignment
and tree of translations; attention, lines, heads and positions of steps with attention; layers of those that have several; senses of a word; reasons,
nearest, confusion and mix of a tuned run. Several texts are so many lines: words to ask for, or for senses as in "river: the bank of the river"."""
ENDINGS = (".svg", ".png", ".html", ".json")
MOST = 1 << 24


@dataclass(frozen=True)
class Draw(Common):
    run: Positional[str]  # a run folder
    picture: Positional[str]  # the name of a picture, one of those above
    text: Positional[tuple[str, ...]] = ()  # what to draw it of; - reads stdin
    layer: int | None = None  # attention, lines, alignment: counted from 0; -1 is the last; 0 if not given
    head: int | None = None  # attention, lines, alignment: counted from 0
    word: str | None = None  # lines: from this word only, by its spelling or its place; senses: the word
    second: str | None = None  # attention, lines, heads, layers: another text, read behind the first
    top: int | None = None  # next, blanks, nearest, and words: how many to show
    beside: tuple[str, ...] = ()  # tokens: other runs, whose cuts of the text stand below
    labels: str | None = None  # nearest: the file of labelled examples that the run learnt from
    out: str | None = None  # a file that ends in .svg, .png, .html or .json; PICTURE.svg here if not given


def main(arguments: list[str]) -> int:
    options = parse(Draw, arguments, "draw", ABOUT)
    if options.out is not None and Path(options.out).suffix not in ENDINGS:
        raise BadInput(f"{options.out} is not the name of a picture; let it end in {', '.join(ENDINGS)}")
    if options.top is not None and not 1 <= options.top <= MOST:
        raise BadInput(f"--top {options.top} is not between 1 and {MOST}")
    if options.beside and options.picture != "tokens":
        raise BadInput(f"--beside is not for {options.picture} but for tokens; leave it out")
    from stairs.inspection.tokens import side_by_side
    from stairs.pictures.catalogue import find_picture, picture_data
    from stairs.training.run import load

    given: dict[str, Any] = {name: getattr(options, name) for name in ("layer", "head", "word", "second", "top", "labels")}
    given = {name: value for name, value in given.items() if value is not None}
    if "run" in find_picture(options.picture).view.options:
        given["run"] = options.run
    text = text_from(options.text)
    data = picture_data(load(options.run), options.picture, text, **given)
    if options.beside:
        data = side_by_side({options.run: data, **{run: picture_data(load(run), options.picture, text) for run in options.beside}})
    if data.get("truncation"):
        say(data["truncation"])
    if options.json:
        show(data)
    if options.out is not None or not options.json:
        write(data, options.picture, options.out or f"{options.picture}.svg")
    return 0


def text_from(texts: tuple[str, ...]) -> str:
    if texts != ("-",):
        return "\n".join(texts)
    from stairs.commands.flags import texts_from

    return "\n".join(texts_from(texts, None))


def write(data: dict[str, Any], picture: str, out: str) -> None:
    if out.endswith(".json"):
        from stairs.files import write_json

        if Path(out).exists() and not Path(out).is_file():
            raise BadInput(f"{out} is no file that could be written over; give the name of a file")
        write_json(Path(out), data)
    else:
        from stairs.pictures.catalogue import PICTURES
        from stairs.pictures.charts import save

        save(PICTURES[picture].draw(data), out)
    say(f"drawn: {out}")
