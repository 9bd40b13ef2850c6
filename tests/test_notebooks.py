"""The notebooks run, keep small outputs that tell nothing of a machine, and show their pictures without the network."""

import shutil

import nbformat
import pytest

from tests.support.notebooks import MACHINE, NOTEBOOKS, as_page, execute, pictures

MAX_BYTES = 150_000
PICTURES = {"tour": 5, "tour.zh": 5, "analyst": 2, "engineer": 0, "teacher": 6, "attention": 4, "training": 7}
MEASURE = "all => all.map(svg => [svg.getBoundingClientRect().width, svg.querySelectorAll('path, rect, line').length])"
QUICK = "teacher"  # executed by every run of the tests


def named(name):
    return next(path for path in NOTEBOOKS if path.stem == name)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    return execute(named(QUICK), tmp_path_factory.mktemp("notebook"))


def check(path, notebook):
    """Every cell that shows something in the file shows something of the same kind."""
    stored = nbformat.read(path, as_version=4)
    for before, now in zip(stored.cells, notebook.cells, strict=True):
        if before.cell_type == "code":
            kinds = [[(output.output_type, sorted(output.get("data", ()))) for output in cell.outputs] for cell in (before, now)]
            assert kinds[0] == kinds[1], before.source
    assert len(pictures(notebook)) == PICTURES[path.stem]


def test_there_is_a_tour_in_two_languages_one_for_each_reader_and_lessons():
    assert {path.stem for path in NOTEBOOKS} == PICTURES.keys()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_kept_small_and_tell_nothing_of_a_machine(path):
    content, notebook = path.read_text("utf-8"), nbformat.read(path, as_version=4)
    assert len(content) < MAX_BYTES and not MACHINE.search(content)
    for cell in notebook.cells:
        assert cell.metadata == {}
        assert all(output.output_type in ("execute_result", "stream") and output.get("name") != "stderr" for output in cell.get("outputs", ()))
    assert len(pictures(notebook)) == PICTURES[path.stem]
    assert any(cell.get("outputs") for cell in notebook.cells)


def test_both_tours_run_the_same_code():
    tours = [nbformat.read(named(name), as_version=4) for name in ("tour", "tour.zh")]
    assert [cell.cell_type for cell in tours[0].cells] == [cell.cell_type for cell in tours[1].cells]
    codes = [[cell.source for cell in tour.cells if cell.cell_type == "code"] for tour in tours]
    assert codes[0] == codes[1]


def test_the_quick_one_runs(executed):
    check(named(QUICK), executed)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PICTURES.keys() - {QUICK}))
def test_the_others_run(name, tmp_path):
    check(named(name), execute(named(name), tmp_path))


def test_its_pictures_are_drawn_without_the_network(executed, tmp_path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed, so no notebook is opened in it: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "notebook.html").write_text(as_page(executed), "utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(offline=True, viewport={"width": 1000, "height": 900})
        page, requested, faults = context.new_page(), [], []
        page.on("request", lambda request: requested.append(request.url))
        page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto((tmp_path / "notebook.html").as_uri())
        page.wait_for_load_state("load")
        boxes = page.eval_on_selector_all("svg", MEASURE)
        page.screenshot(path=str(tmp_path / "notebook.png"), full_page=True)
        browser.close()
    assert len(boxes) == PICTURES[QUICK] and all(width > 100 and shapes >= 5 for width, shapes in boxes), boxes
    assert len(requested) == 1 and requested[0].startswith("file://") and not faults, (requested, faults)
    assert (tmp_path / "notebook.png").stat().st_size > 10_000
