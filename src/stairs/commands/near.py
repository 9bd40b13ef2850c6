"""stairs near RUN WORD ...: the words nearest to a word, a sum of words or a text."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from stairs import api
from stairs.commands.flags import CommonFlags, check_top, parse, show
from stairs.errors import BadInput

if TYPE_CHECKING:
    from stairs.inspection.words import Neighbours
    from stairs.tasks import Task

ABOUT = """The words whose vectors are nearest, by cosine, to a word, to a sum such as "king - man + woman", or to a text of several words. Needs
a run of word vectors: cbow, skipgram, glove, or adopted ones."""
PICTURES = (".svg", ".png", ".html")


@dataclass(frozen=True)
class Near(CommonFlags):
    run: Positional[str]  # a run folder
    word: Positional[tuple[str, ...]] = ()  # words, sums or texts, each a query
    top: int = 10  # number of neighbours
    analogy: tuple[str, str, str] | None = None  # analogy, as in man king woman: king is to man as what is to woman? none if not given
    among: str | None = None  # run in which to look for the neighbours; the run itself if not given
    map: str | None = None  # write a map of words and neighbours in two dimensions here, as .svg, .png or .html; none if not given
    tsne: bool = False  # map by t-SNE, which keeps neighbourhoods, instead of principal components
    strips: str | None = None  # write a picture of the vectors as coloured strips here, as .svg, .png or .html; none if not given


def main(arguments: list[str]) -> int:
    options = parse(Near, arguments, "near", ABOUT)
    check_top(options.top)
    for file in filter(None, (options.map, options.strips)):
        if Path(file).suffix not in PICTURES:
            raise BadInput(f"{file} is no name of a picture; it must end in {', '.join(PICTURES)}")
    from stairs.inspection.words import analogy_query

    asked = [*options.word, *([analogy_query(*options.analogy)] if options.analogy else [])]
    if options.among and (options.map or options.strips):
        raise BadInput("pictures are of one run; leave out --among, or --map and --strips")
    if not all(map(str.strip, asked or [""])):
        raise BadInput('no word given; give one, as in stairs near RUN king, or a sum: "king - man + woman"')
    task = api.load(options.run)
    among = api.load(options.among) if options.among else None
    found = [api.neighbours(task, text, options.top, among) for text in asked]
    draw(task, found, options)
    if options.json:
        show(found)
        return 0
    for i, answer in enumerate(found):
        if len(found) > 1:
            print(f"{chr(10) if i else ''}{answer['query']}")
        for near in answer["near"]:
            print(f"{near['cosine']:.4f}  {near['word']}")
    return 0


def draw(task: "Task", found: "list[Neighbours]", options: Near) -> None:
    """The pictures that were asked for: the words of each question and their neighbours, and what a sum of words comes to."""
    if not (options.map or options.strips):
        return
    from stairs.inspection.words import analogy_data, check_word_vectors, map_data, strips_data
    from stairs.pictures.catalogue import PICTURES
    from stairs.pictures.charts import save

    vectors = check_word_vectors(task)
    if options.map and len(found) == 1 and options.analogy and not options.tsne:
        save(PICTURES["analogy"].draw(analogy_data(vectors, found)), options.map)
    elif options.map:
        save(PICTURES["map"].draw(map_data(vectors, found, options.tsne)), options.map)
    if options.strips:
        save(PICTURES["strips"].draw(strips_data(vectors, found)), options.strips)
