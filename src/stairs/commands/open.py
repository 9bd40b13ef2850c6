"""stairs open RUN [RUN ...]: the explorer, in a browser."""

import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from stairs.commands.flags import Common, parse, show
from stairs.errors import BadInput
from stairs.progress import say

ABOUT = """Pages that show runs from inside: how they cut text, what they expect, where they look, which words are near; answers side by side; the
curves of a training while it goes on. Each RUN is a run folder, a folder of runs, or that of a climb, which opens all of its runs and shows what
they are worth. Only this machine can open the pages, and nothing is sent anywhere. Ctrl-C ends it."""
SOON = 0.5  # seconds until the browser is told: by then the server answers


@dataclass(frozen=True)
class Open(Common):
    run: Positional[tuple[str, ...]]  # run folders, folders of runs, or folders of climbs
    labels: str | None = None  # the file of labelled examples that classifiers learnt from, to find the nearest in
    port: int = 0  # 0 is any that is free
    no_browser: bool = False  # only print the address


def main(arguments: list[str]) -> int:
    options = parse(Open, arguments, "open", ABOUT)
    if not 0 <= options.port <= 65535:
        raise BadInput(f"--port {options.port} is not between 0 and 65535")
    if not options.run:
        raise BadInput("no run came; give a run folder, or a folder of runs")
    if options.labels is not None and not Path(options.labels).is_file():
        raise BadInput(f"--labels {options.labels} is no file; give one of labelled examples")
    from stairs.web.server import address, listen, serve
    from stairs.web.shelf import Shelf, find_folders

    places = find_folders(options.run)
    with listen(options.port) as listener:
        where = address(listener)
        if options.json:
            show({"url": where, **{kind: [str(folder) for folder in folders] for kind, folders in places._asdict().items()}})
        else:
            print(where)
        sys.stdout.flush()  # whoever waits for the address gets it now
        say("open this address in a browser; Ctrl-C ends it")
        if not options.no_browser:
            import webbrowser

            threading.Timer(SOON, webbrowser.open, [where]).start()
        serve(Shelf(*places, options.labels or ""), listener)
    return 0
