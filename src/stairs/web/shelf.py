"""All runs and climbs that were opened, under unique names."""

import os
import threading
from collections.abc import Container, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from stairs.errors import BadInput, EnvironmentFault
from stairs.files import os_error_reason
from stairs.training.run_file import is_run_file, open_run_file
from stairs.web.opened_climb import REPORT, OpenedClimb
from stairs.web.opened_run import METRICS_FILE, MODEL_FOLDER, RUN_FILE, OpenedRun, as_utf8
from stairs.web.requests import RequestError

SHUTDOWN_SECONDS = 5  # for what is under way when the server stops


class Shelf:
    """Runs and climbs by unique names, and the file of labelled examples that nearest examples are taken from."""

    def __init__(self, folders: Sequence[Path], climbs: Sequence[Path] = (), labels: str = "") -> None:
        self.labels = labels
        self.runs: dict[str, OpenedRun] = {}
        self.climbs: dict[str, OpenedClimb] = {}
        self.adding = threading.Lock()
        self.closing = False
        for folder in folders:
            self.add(folder)
        for folder in climbs:
            name = unique_name(folder, self.climbs)
            self.climbs[name] = OpenedClimb(folder, name)

    def add(self, folder: Path) -> OpenedRun:
        run = OpenedRun(folder, unique_name(folder, self.runs))
        self.runs = {**self.runs, run.name: run}  # a new dict, since other threads may be iterating over the old one
        return run

    def __getitem__(self, name: str) -> OpenedRun:
        if name not in self.runs:
            raise RequestError(404, "no_run", f"there is no run {name[:80]!r}; choose one from the list", "run")
        return self.runs[name]

    def climb(self, name: str) -> OpenedClimb:
        if name not in self.climbs:
            raise RequestError(404, "no_climb", f"there is no climb {name[:80]!r}; choose one from the list")
        return self.climbs[name]

    def climb_summary(self, name: str) -> dict[str, Any]:
        """The summary of a climb, with the names that its runs have on this shelf."""
        climb = self.climb(name)
        names = {run.folder: run.name for run in self.runs.values()}
        summary = climb.summary()
        for row in summary["rows"]:
            row["runs"] = [names[climb.folder / run] for run in row["runs"] if climb.folder / run in names]
        return summary

    def refresh(self) -> None:
        """Add the runs that climbs have started in the meantime."""
        with self.adding:
            known = {run.folder for run in self.runs.values()}
            new = [folder for climb in self.climbs.values() for folder in climb.runs() if folder not in known]
            added = [self.add(folder) for folder in new]
        if added:
            self.load(added)

    def load_all(self) -> None:
        self.load(list(self.runs.values()))

    def load(self, runs: Sequence[OpenedRun]) -> None:
        """In the background, so that the pages soon know which pictures each run has."""

        def work() -> None:
            for run in runs:
                if (run.folder / MODEL_FOLDER).is_dir() and not self.closing:
                    run.load()

        threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """Wait for a model that is being loaded: a process that ends in the middle would abort."""
        self.closing = True
        for run in list(self.runs.values()):
            if run.loading.acquire(timeout=SHUTDOWN_SECONDS):
                run.loading.release()


def unique_name(folder: Path, taken: Container[str]) -> str:
    """The name of the folder, with a number if it is taken."""
    name = as_utf8(os.path.basename(os.path.abspath(folder)))
    return name if name not in taken else next(copy for copy in (f"{name} ({number})" for number in count(2)) if copy not in taken)


class FoundFolders(NamedTuple):
    runs: list[Path]
    climbs: list[Path]


def find_folders(paths: Sequence[str]) -> FoundFolders:
    """Each place is a run, the folder of a climb, a folder of runs and climbs, or a .stairs file."""
    folders, climbs = [], []
    for place in map(Path, paths):
        place = open_run_file(place) if is_run_file(place) else place
        try:
            if not place.is_dir():
                raise BadInput(f"{place} is {'a file' if place.exists() else 'not there'}; give a run folder, or a folder of runs")
            own = any((place / name).exists() for name in (RUN_FILE, MODEL_FOLDER, METRICS_FILE))
            climbed = [] if own else [place] if (place / REPORT).is_file() else climbs_in(place)
            inside = [place] if own else [run for folder in dict.fromkeys([*climbed, place]) for run in OpenedClimb(folder, folder.name).runs()]
        except OSError as error:
            raise EnvironmentFault(f"cannot read {place}: {os_error_reason(error)}; check the folder") from None
        if not inside and not climbed:
            raise BadInput(f"{place} is not a run and holds none; make one with stairs train")
        folders += inside
        climbs += climbed
    return FoundFolders(list(dict.fromkeys(folders)), list(dict.fromkeys(climbs)))


def climbs_in(place: Path) -> list[Path]:
    """The folders of climbs in a folder; a run that holds a file of that name is none."""
    return [path.parent for path in sorted(place.glob(f"*/{REPORT}")) if not (path.parent / RUN_FILE).exists()]
