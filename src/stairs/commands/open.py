"""stairs open RUN [RUN ...]: the explorer, in a browser."""

import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from stairs.commands.flags import CommonFlags, parse, show
from stairs.errors import BadInput
from stairs.progress import say

ABOUT = """Pages that show the inside of runs: tokens, probabilities, attention and nearest words; answers side by side; learning curves while a
training goes on. Each RUN is a run folder, the folder of a climb, which opens all of its runs and shows the comparison, or a folder of both. Only
this machine can open the pages, and nothing is sent anywhere. Ctrl-C ends it."""
BROWSER_DELAY = 0.5  # seconds until the browser is opened: by then the server answers


@dataclass(frozen=True)
class Open(CommonFlags):
    run: Positional[tuple[str, ...]]  # run folders, folders of climbs, or folders of both
    labels: str | None = None  # labelled examples that classifiers were trained on, for the picture of the nearest; none if not given
    port: int = 0  # port; 0 takes any that is free
    no_browser: bool = False  # print the address only


def main(arguments: list[str]) -> int:
    options = parse(Open, arguments, "open", ABOUT)
    if not 0 <= options.port <= 65535:
        raise BadInput(f"--port {options.port} is not between 0 and 65535")
    if not options.run:
        raise BadInput("no run given; give a run folder, or a folder of runs")
    if options.labels is not None and not Path(options.labels).is_file():
        raise BadInput(f"--labels {options.labels} is not a file; give one of labelled examples")
    from stairs.web.server import address, listen, serve
    from stairs.web.shelf import Shelf, find_folders

    found = find_folders(options.run)
    with listen(options.port) as listener:
        where = address(listener)
        if options.json:
            show({"url": where, **{kind: [str(folder) for folder in folders] for kind, folders in found._asdict().items()}})
        else:
            print(where)
        sys.stdout.flush()  # whoever waits for the address gets it now
        say("open this address in a browser; Ctrl-C ends it")
        if not options.no_browser:
            import webbrowser

            threading.Timer(BROWSER_DELAY, webbrowser.open, [where]).start()
        serve(Shelf(*found, options.labels or ""), listener)
    return 0
