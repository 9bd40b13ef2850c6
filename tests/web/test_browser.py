"""Every page of the explorer, opened in Debian's chromium as a user opens it; skipped where there is none."""

import json
import shutil
import socket
import threading
import time

import pytest

from stairs.comparison.messages import MESSAGES as CLIMB
from stairs.pictures.pages import PAGES
from stairs.web.strings import STRINGS
from tests.web.explorer_runs import TRICK, TRICKS, climb, scored_row

WAIT = 15_000  # milliseconds
TYPED = {"neighbours": "soup", "strips": "soup\nrain", "map": "soup\nrain", "analogy": "soup - rain + wind", "blanks": "soup and ___ in Rome today ."}
SENSES = "hot: soup and rain\nhot: soup and bread\ncold: soup in Rome\ncold: soup today"


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed, so no page is opened in it: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(shelf):
    """The explorer itself, with a socket and a server of its own."""
    import uvicorn

    from stairs.web.app import application
    from stairs.web.server import listen, server_config

    listener: socket.socket = listen(0)
    port = listener.getsockname()[1]
    server = uvicorn.Server(server_config(application(shelf, port)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)
    listener.close()


@pytest.fixture
def visit(browser, address):
    """Open a page; afterwards nothing may have gone wrong in it, and nothing body for elsewhere."""
    opened = []

    def go(path, typed=None, **settings):
        context = browser.new_context(viewport={"width": 1180, "height": 760}, **{"locale": "en-US", **settings})
        if typed:
            context.add_init_script(f"sessionStorage.setItem({', '.join(map(json.dumps, typed))})")
        page = context.new_page()
        page.faults, page.requested_urls = [], []
        page.on("console", lambda message: page.faults.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: (page.faults.append("a script ran"), dialog.dismiss()))
        page.on("request", lambda request: page.requested_urls.append(request.url))
        page.set_default_timeout(WAIT)
        page.goto(address + path)
        opened.append((context, page))
        return page

    yield go
    for context, page in opened:
        assert not page.faults, page.faults
        assert all(url.startswith((address + "/", "data:", "blob:" + address)) for url in page.requested_urls), page.requested_urls
        context.close()


def offering(shelf, name):
    from stairs.pictures.catalogue import PICTURES

    return next((run.name for run in shelf.runs.values() if run.task is not None and PICTURES[name].view.suits(run.task)), None)


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_is_drawn_from_what_is_typed(visit, shelf, name):
    if offering(shelf, name) is None:
        page = visit(f"/picture/{name}")
        page.wait_for_function("() => document.querySelector('.status')?.textContent.length > 10 || document.querySelector('.picture svg')")
        assert page.locator("h1").inner_text() == PAGES[name]["title"]["en"]
        page.faults.clear()  # an example that these runs cannot draw is refused
        return
    text = SENSES if name == "senses" else TYPED.get(name, "soup and rain in Rome")
    page = visit(f"/picture/{name}", typed=(f"text {name}", text))
    if name == "senses":
        page.locator("input[name=word]").fill("soup")
        page.get_by_role("button", name="Draw").click()
    page.wait_for_selector(".picture svg :is(path, text, rect)", state="attached")
    before = page.locator(".picture svg").inner_html()
    if page.locator("#text").is_visible() and name not in ("analogy", "senses"):
        page.locator("#text").fill(text.replace("soup", "bread"))
        page.locator("#text").press("Enter")
        page.wait_for_function("before => document.querySelector('.picture svg')?.innerHTML !== before", arg=before)
    if name == "senses":
        page.faults.clear()  # the word that the page begins with does not stand in these texts


def test_examples_fill_the_text_in_the_language_of_the_page_first(visit):
    page = visit("/picture/attention?run=bert", locale="zh-CN")
    page.wait_for_selector(".picture svg")
    presets = PAGES["attention"]["presets"]
    offered = page.locator("#examples option").evaluate_all("all => all.slice(1).map((option) => option.value)")
    assert offered == list(dict.fromkeys(presets["zh"] + presets["en"])) and page.locator("#text").input_value() == presets["zh"][0]
    for _ in range(2):  # the same one can be chosen again
        before = page.locator(".picture svg").inner_html()
        page.locator("#examples").select_option(presets["zh"][2])
        page.wait_for_function("text => document.querySelector('#text').value === text", arg=presets["zh"][2])
        if _ == 0:
            page.wait_for_function("before => document.querySelector('.picture svg')?.innerHTML !== before", arg=before)
        assert page.locator("#examples").input_value() == ""
    page.goto(page.url.replace("attention?run=bert", "positions"))
    page.wait_for_selector(".picture svg")
    assert page.locator("#examples").is_hidden()  # a picture without a text


def test_a_run_that_the_address_names_is_waited_for(visit, address):
    page = visit("/")
    listed = page.evaluate("async () => (await fetch('/api/runs')).json()")
    later = {**listed, "runs": [{**run, "pictures": None if run["name"] == "nnlm" else run["pictures"]} for run in listed["runs"]]}
    answer = [later]  # until this test says that the model is there
    page.route("**/api/runs", lambda route: route.fulfill(json=answer[0]))
    page.goto(address + "/picture/tokens?run=nnlm")
    page.wait_for_selector(".picture svg")
    assert page.locator("#run").input_value() != "nnlm"
    answer[0] = listed
    page.wait_for_function("() => document.querySelector('#run').value === 'nnlm'")
    page.locator("#run").select_option("gpt")
    assert page.url.endswith("/picture/tokens")


def test_all_tokenizers_below_one_another(visit):
    page = visit("/picture/tokens?run=nnlm", typed=("text tokens", "soup and rain"))
    page.wait_for_selector(".picture svg")
    page.locator("#all").check()
    page.wait_for_function("() => /words, by nnlm.*wordpiece, by .*bert/s.test(document.querySelector('.picture svg').textContent)")


def test_pointing_at_a_mark_tells_what_it_is(visit):
    page = visit("/curves?run=gpt")
    page.locator(".picture svg path[aria-label*='steps of training']").last.hover()
    assert "steps of training" in page.locator("#hint").inner_text()
    page.locator("h1").hover()
    assert page.locator("#hint").is_hidden()


def test_saving(visit):
    page = visit("/picture/tokens")
    page.wait_for_selector(".picture svg")
    for format, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("JSON", b"")):
        with page.expect_download() as download:
            page.get_by_role("button", name=format).click()
        assert download.value.suggested_filename == f"tokens.{format.lower()}"
        with open(download.value.path(), "rb") as file:
            assert file.read().startswith(begins)


def test_the_list_of_runs(visit, shelf):
    page = visit("/")
    page.wait_for_selector("tbody tr")
    names = page.locator("td.name").all_inner_texts()
    assert names == list(shelf.runs) and TRICK in names
    assert page.locator("img").count() == 1  # the sign of the house, and none of a run's name
    assert "bytes where its manifest says" in page.locator("main").inner_text()
    script = "const { formatNumber } = await import('/static/shared.js'); return [100, 0.5, 1234.5, 2e-7].map((number) => formatNumber(number, 3));"
    assert page.evaluate(f"async () => {{ {script} }}") == ["100", "0.5", "1230", "2e-7"]


def test_side_by_side_and_a_word_that_is_clicked(visit, shelf):
    page = visit("/compare")
    page.wait_for_function("() => document.querySelectorAll('.card .bars').length >= 4")
    assert page.locator("#text").input_value() == "The cat sat on the ___."
    page.locator("#text").fill("soup and rain ___ Rome")
    page.get_by_role("button", name="rain").click()
    assert page.locator("#text").input_value() == "soup and ___ ___ Rome"
    assert page.locator(".words button[aria-pressed=true]").all_inner_texts() == ["rain", "___"]
    page.wait_for_function("() => [...document.querySelectorAll('.card')].some(card => card.querySelectorAll('.bars').length === 2)")
    page.keyboard.press("Enter")  # the word has the focus still, and comes back
    assert page.locator("#text").input_value() == "soup and rain ___ Rome"
    assert page.locator(".card").count() == sum(run.task is not None for run in shelf.runs.values())


def test_curves_are_drawn_again_while_training_goes_on(visit, folder, tmp_path):
    import fcntl

    page = visit("/curves?run=unfinished")
    page.wait_for_selector(".picture svg")
    metrics = folder / "nnlm" / "metrics.jsonl"
    with (folder / "nnlm" / "run.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        page.locator("#run").select_option("nnlm")
        page.wait_for_function("() => document.querySelector('.status').textContent.includes('20')")
        with metrics.open("a") as more:
            more.write('{"step": 31, "loss": 0.1}\n')
        page.wait_for_function("() => document.querySelector('.status').textContent.includes('31')")
    assert "in training" in page.locator(".status").inner_text()


def test_the_staircase_grows_while_a_climb_goes_on(visit, climbed):
    page = visit("/staircase")
    page.wait_for_function("() => document.querySelectorAll('.picture svg').length === 2")
    assert page.locator("#menu a").first.inner_text() == CLIMB["staircase"][0] == page.locator("h2", has_text="staircase").inner_text()
    assert "Recommended: tfidf" in page.locator(".advice").inner_text() and TRICK in page.locator(".advice").inner_text()
    assert page.locator("td.name").all_inner_texts() == ["tfidf", TRICK, "bert", "elmo"] and page.locator("main :is(img, script)").count() == 0
    table = page.locator("table").inner_text()
    assert "not tried: its share of the budget was too small" in table and f"failed: it broke on {TRICKS[1]}" in table
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").first.click()
    with open(download.value.path()) as file:
        assert json.load(file)["recommended"] == ["tfidf"] and download.value.suggested_filename == "staircase.json"
    page.locator("#language").click()
    page.wait_for_selector(f"text={CLIMB['recommended'][1]}: tfidf")
    climb(climbed, scored_row("toString", 0.9, 30.0))
    page.wait_for_selector("text=toString")
    (climbed / "report.json").write_text("{")
    page.wait_for_selector("text=report.json is damaged")
    assert page.locator(".picture svg").count() == 2 and page.locator(".picture").first.is_hidden()
    climb(climbed)
    page.wait_for_selector(".picture svg")


def test_without_a_climb_the_staircase_says_so(visit, address):
    page = visit("/")
    page.route("**/api/runs", lambda route: route.fulfill(json={"runs": [], "climbs": []}))
    page.goto(address + "/staircase")
    page.wait_for_selector("text=No climb was opened")
    assert page.locator("#menu a").first.inner_text() == "Runs"


def test_both_languages_and_both_sets_of_colours(visit):
    page = visit("/picture/tokens", locale="zh-CN", color_scheme="dark")
    page.wait_for_selector(".picture svg")
    assert page.locator("h1").inner_text() == PAGES["tokens"]["title"]["zh"] and page.locator("html").get_attribute("lang") == "zh"
    background = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#theme").click()
    light = page.evaluate(background)
    assert sum(map(int, light[4:-1].split(", "))) > 600 > sum(map(int, dark[4:-1].split(", ")))
    page.locator("#language").click()
    assert page.locator("h1").inner_text() == "Tokens" and page.get_by_role("button", name="Draw").is_visible()
    page.reload()
    page.wait_for_selector(".picture svg")
    assert page.locator("h1").inner_text() == "Tokens" and page.evaluate(background) == light
    page.goto(page.url.replace("picture/tokens", "compare"))
    page.locator("#language").click()
    assert page.locator("h1").inner_text() == STRINGS["zh"]["compare"]
    page.faults[:] = [fault for fault in page.faults if "422" not in fault]  # words that these runs have never read


def test_512_tokens_stay_usable(visit):
    page = visit("/picture/tokens?run=nnlm")
    page.wait_for_selector(".picture svg")
    page.locator("#text").fill("soup and rain in Rome today . " * 74)
    began = time.monotonic()
    page.locator("#text").press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.picture svg text').length > 60 && document.querySelector('.status').textContent === ''")
    assert time.monotonic() - began < 10
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


def test_tricks_stay_text(visit):
    page = visit("/picture/tokens?run=nnlm")
    page.wait_for_selector(".picture svg")
    page.locator("#text").fill(" ".join(TRICKS))
    page.locator("#text").press("Enter")
    page.wait_for_function("() => document.querySelector('.picture svg').textContent.includes('script')")
    page.locator("#run").select_option(TRICK)
    page.wait_for_function("() => document.querySelector('.status').textContent === ''")
    page.goto(page.url.split("/picture")[0] + "/compare")
    page.wait_for_selector(".card .bars")
    page.locator("#text").fill(" ".join(TRICKS) + " ___")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_function("() => [...document.querySelectorAll('.card')].every(card => !card.textContent.includes('Waiting'))")
    assert page.locator("main :is(script, iframe, img)").count() == 0
    page.faults[:] = [fault for fault in page.faults if "422" not in fault and "413" not in fault]  # refused with a sentence
