"""stairs draw RUN PICTURE [TEXT ...]: a run from inside, as a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from stairs import api
from stairs.commands.flags import CommonFlags, check_top, parse, show
from stairs.errors import BadInput
from stairs.progress import say

if TYPE_CHECKING:
    from stairs.pictures.drawing import Drawing

ABOUT = """A picture of a run and a text, as SVG, PNG or HTML, or its data as JSON. tokens: any run; mask: most; backoff: n-grams; surprise, next:
language models; distribution: those and translation; blanks, surprise, training-row: bert; neighbours, strips, map, analogy, update, windows: word
vectors; onehot: those and tables of tokens; alignment, tree: translation; attention, lines, heads, embeddings, arithmetic, patterns, positions,
waves: models with attention; receptive-field: models that read context; layers: models with several; look-alikes: elmo --softmax cnn; senses: the
senses of a word; reasons, nearest, confusion, mix: tuned runs. Several texts are separate lines: words to look up, or for senses examples as in
"river: the bank of the river"."""
ENDINGS = (".svg", ".png", ".html", ".json")


@dataclass(frozen=True)
class Draw(CommonFlags):
    run: Positional[str]  # a run folder
    picture: Positional[str]  # name of a picture, one of those above
    text: Positional[tuple[str, ...]] = ()  # text to draw; - is stdin; if not given, an example whose words the run knows
    layer: int | None = None  # attention, lines, arithmetic, alignment: layer, counted from 0, -1 for the last; 0 if not given
    head: int | None = None  # attention, lines, arithmetic, alignment: attention head, counted from 0; the mean of all if not given
    word: str | None = None  # senses, and lines, arithmetic and receptive-field by spelling or position: the word; all, or the last, if not given
    second: str | None = None  # attention, lines, heads, arithmetic, layers: second text of a pair; none if not given
    top: int | None = None  # next, blanks, distribution, nearest, neighbours: how many to show; the picture's own number if not given
    seed: int | None = None  # training-row, update: seed of what is drawn at random, such as masked words or negative samples; 0 if not given
    beside: tuple[str, ...] = ()  # tokens: other runs, whose tokens are shown below
    dimensions: str | None = None  # waves: dimensions of the position encoding, such as 4-7 or 0,2,8; 4-7 if not given
    labels: str | None = None  # nearest: the labelled examples that the run was trained on; needed for nearest only
    out: str | None = None  # file that ends in .svg, .png, .html or .json; PICTURE.svg if not given


def main(arguments: list[str]) -> int:
    options = parse(Draw, arguments, "draw", ABOUT)
    if options.out is not None and Path(options.out).suffix not in ENDINGS:
        raise BadInput(f"{options.out} is not the name of a picture; it must end in {', '.join(ENDINGS)}")
    if options.top is not None:
        check_top(options.top)
    given: dict[str, Any] = {name: getattr(options, name) for name in ("layer", "head", "word", "second", "top", "seed", "dimensions", "labels")}
    drawing = api.draw(api.load(options.run), options.picture, text_from(options.text), beside=options.beside, **given)
    if drawing.data.get("truncation"):
        say(str(drawing.data["truncation"]))
    if options.json:
        show(drawing.data)
    if options.out is not None or not options.json:
        write(drawing, options.out or f"{options.picture}.svg")
    return 0


def text_from(texts: tuple[str, ...]) -> str:
    if texts != ("-",):
        return "\n".join(texts)
    from stairs.commands.flags import texts_from

    return "\n".join(texts_from(texts, None))


def write(drawing: "Drawing", out: str) -> None:
    if out.endswith(".json"):
        from stairs.files import write_json

        if Path(out).exists() and not Path(out).is_file():
            raise BadInput(f"{out} is not a file; give the name of a file")
        write_json(Path(out), drawing.data)
    else:
        drawing.save(out)
    say(f"drawn: {out}")
