"""Executes notebooks, and keeps of their outputs what is small: no progress, no times, no folders of a machine.

    python -m tests.support.notebooks notebooks/tour.ipynb      executes it in an empty folder, and writes its outputs into it
"""

import re
import sys
import tempfile
import time
from html import escape
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PICTURES = ("image/svg+xml", "text/html")  # what a page shows of an output, the first that it has
MACHINE = re.compile(r"(?<![\w/.])/(?:home|root|tmp|work|usr|Users|var)/")
STYLE = "body{font:16px sans-serif;max-width:60em;margin:2em auto}pre{background:#f4f4f4;padding:8px}div{white-space:pre-wrap}"
TIMEOUT = 300  # seconds for a cell, on a machine that is busy with other tests


def execute(path: Path, folder: Path) -> NotebookNode:
    """The notebook with the outputs that it has when it is run in `folder`; an error in a cell is an error here."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return tidy(notebook)


def tidy(notebook: NotebookNode) -> NotebookNode:
    """Without progress and messages, and without what tells when and where it was run."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr" and output.output_type != "display_data"]
            for output in cell.outputs:
                output.get("metadata", {}).clear()
                data = output.get("data", {})
                if PICTURES[0] in data:
                    data.pop(PICTURES[1], None)  # the same picture once more
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    return notebook


def pictures(notebook: NotebookNode) -> list[str]:
    """The SVG of every picture among the outputs."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [data for output in outputs if (data := next((output["data"][kind] for kind in PICTURES if kind in output.get("data", {})), None))]
    return [data for data in shown if "<svg" in data]


def as_page(notebook: NotebookNode) -> str:
    """The notebook as a page of HTML, as far as a test needs one."""
    parts = [f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"]
    for cell in notebook.cells:
        kind = "pre" if cell.cell_type == "code" else "div"
        parts.append(f"<{kind}>{escape(cell.source)}</{kind}>")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            rich = next((data[kind] for kind in PICTURES if kind in data), None)
            parts.append(rich if rich is not None else f"<pre>{escape(output.get('text') or data.get('text/plain', ''))}</pre>")
    return "\n".join(parts)


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            notebook = execute(path, Path(folder))
        nbformat.write(notebook, path)
        print(f"{path}: {time.monotonic() - started:.0f} s, {path.stat().st_size:,} bytes, {len(pictures(notebook))} pictures")


if __name__ == "__main__":
    main(sys.argv[1:])
