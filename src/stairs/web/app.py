"""The pages and their API. A page is one HTML file and a few ES modules of our own; its content comes as JSON, and pictures come as SVG.

GET  /api/runs               the runs with the pictures that each has, once its model is loaded; and the names of the climbs
GET  /api/climb/NAME         the rows of a climb, and the model it recommends
GET  /api/climb/NAME/PICTURE staircase or frontier; ?format=svg | png | json, ?language=en | zh
POST /api/picture/NAME       {"run", "text", "options", "format": svg | png | json, "side_by_side": other runs, for tokens}
POST /api/answer             {"run", "text", "second"}
GET  /api/curves/RUN         the learning curves; ?format=svg is the picture
"""

import json
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from anyio.to_thread import run_sync
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from stairs.comparison.messages import LANGUAGES
from stairs.errors import StairsError
from stairs.pictures.pages import PAGES
from stairs.web import studio as drawing
from stairs.web.learning_curves import draw_curves, learning_curves
from stairs.web.opened_climb import PICTURES as CLIMB_PICTURES
from stairs.web.requests import Guard, RequestError, choice_field, json_safe, names_field, options_field, parse_body, text_field
from stairs.web.shelf import Shelf
from stairs.web.strings import STRINGS

MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FORMATS = {"svg": "image/svg+xml", "png": "image/png", "json": "application/json"}
MESSAGES = {404: "there is nothing at this address", 405: "this address does not answer that method"}
MAX_RUN_NAME = 1000


def application(shelf: Shelf, port: int) -> Guard:
    """The explorer as an ASGI application that answers at 127.0.0.1:port only."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    studio = drawing.Studio(shelf.labels)
    app.add_exception_handler(HTTPException, not_found)
    app.add_exception_handler(Exception, internal_error)

    @app.get("/api/runs")
    async def runs() -> Response:
        def work() -> Response:
            shelf.refresh()
            listed = [{**run.summary(), "pictures": drawing.available_pictures(run)} for run in shelf.runs.values()]
            names = dict.fromkeys(name for run in listed for name in run["pictures"] or ())
            return json_response({"runs": listed, "climbs": list(shelf.climbs), "more_pages": drawing.default_pages([*names])})

        return await respond(work)

    @app.get("/api/climb/{name}")
    async def climb(name: str) -> Response:
        return await respond(lambda: json_response(shelf.climb_summary(name)))

    @app.get("/api/climb/{name}/{picture}")
    async def climb_picture(name: str, picture: str, format: str = "svg", language: str = "en") -> Response:
        def work() -> Response:
            fields = {"picture": picture, "format": format, "language": language}
            kind, chosen_format = choice_field(fields, "picture", CLIMB_PICTURES), choice_field(fields, "format", tuple(FORMATS))
            opened = shelf.climb(name)
            data = opened.picture_data()
            return picture_response(data, partial(opened.chart, kind, data, choice_field(fields, "language", LANGUAGES)), kind, chosen_format)

        return await respond(work)

    @app.get("/api/strings")
    async def strings() -> Response:
        return json_response({"strings": STRINGS, "pages": PAGES})

    @app.get("/api/curves/{name}")
    async def curves(name: str, format: str = "json") -> Response:
        def work() -> Response:
            chosen_format = choice_field({"format": format}, "format", tuple(FORMATS)[::-1])
            data = learning_curves(shelf[name])
            if chosen_format != "json" and not data["training"] and not data["held_out"]:
                raise RequestError(422, "no_curve", f"{name} has measured nothing that makes a curve yet")
            return picture_response(data, partial(draw_curves, data), "curves", chosen_format)

        return await respond(work)

    @app.post("/api/picture/{name}")
    async def picture(name: str, request: Request) -> Response:
        body = await request.body()

        def work() -> Response:
            fields = parse_body(request.headers.get("content-type", ""), body, "run", "text", "options", "format", "side_by_side")
            run = shelf[text_field(fields, "run", MAX_RUN_NAME)]
            chosen_format = choice_field(fields, "format", tuple(FORMATS))
            with run.open_task():  # a model that is still loading is reported before a wrong name
                chosen = drawing.find_picture(name)
            text = text_field(fields, "text") if chosen.view.needs_text else ""
            data = studio.data(run, name, text, options_field(fields, drawing.page_options(chosen.view)))
            if others := [shelf[other] for other in names_field(fields, "side_by_side")]:
                data = studio.side_by_side([run, *others], name, text)
            return picture_response(data, partial(chosen.draw, data), name, chosen_format)

        return await respond(work)

    @app.post("/api/answer")
    async def answer(request: Request) -> Response:
        body = await request.body()

        def work() -> Response:
            fields = parse_body(request.headers.get("content-type", ""), body, "run", "text", "second")
            run, text = shelf[text_field(fields, "run", MAX_RUN_NAME)], text_field(fields, "text")
            second = text_field(fields, "second", default="")
            with run.open_task() as task:
                content = json_safe(drawing.answer(task, text, second))
                return json_response({"run": run.name, "model": task.model_name, "task": task.name, "answer": content})

        return await respond(work)

    static = static_files()
    page = static.pop("page.html")

    @app.api_route("/picture/{name}", methods=["GET", "HEAD"])
    async def picture_page(name: str) -> Response:
        if name not in PAGES and name not in drawing.pictures():
            raise HTTPException(404)
        return await static_response(*page)

    for address in ("/", "/staircase", "/compare", "/curves"):
        app.add_api_route(address, partial(static_response, *page), methods=["GET", "HEAD"])
    for name, file in static.items():
        app.add_api_route(f"/static/{name}", partial(static_response, *file), methods=["GET", "HEAD"])
    return Guard(app, port)


async def respond(work: Callable[[], Response]) -> Response:
    """Does the work in a thread; what goes wrong in it becomes a sentence."""
    try:
        return await run_sync(work)
    except RequestError as error:
        return error_response(error)
    except StairsError as error:
        return error_response(RequestError(422, "input", str(error)))
    except MemoryError:
        return error_response(RequestError(413, "memory", "this machine has too little memory for that; shorten the text"))


def static_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of every static file, by name: no address is ever turned into a path."""
    folder = files("stairs.web") / "static"
    contents = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    return {name: (content, MEDIA_TYPES["." + name.rsplit(".", 1)[1]]) for name, content in contents.items()}


async def static_response(content: bytes, media_type: str) -> Response:
    return Response(content, media_type=f"{media_type}; charset=utf-8" if media_type.startswith("text") else media_type)


def picture_response(data: Any, draw: Callable[[], Any], name: str, chosen_format: str) -> Response:
    """A picture in the chosen format, with a file name for saving it."""
    if chosen_format == "json":
        content = json.dumps(data, allow_nan=False).encode()
    else:
        content = drawing.render(draw(), chosen_format)
        if chosen_format == "svg" and len(content) > drawing.MAX_SVG_BYTES:
            raise RequestError(413, "too_large", "this picture is too large for a page; choose PNG, or shorten the text", "text")
    note = data.get("truncation")
    headers = {"content-disposition": f'attachment; filename="{name}.{chosen_format}"', **({"x-note": quote(str(note))} if note else {})}
    return Response(content, media_type=FORMATS[chosen_format], headers=headers)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(content, allow_nan=False), status, headers, "application/json")


def error_response(error: RequestError) -> Response:
    return json_response(error.content, error.status, {"retry-after": "1"} if error.status == 503 else None)


async def not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 400)
    return error_response(RequestError(status, "address", MESSAGES.get(status, "the request cannot be understood")))


async def internal_error(request: Request, error: Exception) -> Response:
    return error_response(RequestError(500, "bug", f"a bug: {type(error).__name__}; run stairs open with --debug and report it"))
