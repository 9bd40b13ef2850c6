"""The pages and their API. A page is one HTML file and a few ES modules of our own; what it shows comes as JSON, and pictures as SVG.

GET  /api/runs               the runs, with what each can show as soon as its model is there; and the names of the climbs
GET  /api/climb/NAME         the rows of a climb, and which step it recommends
GET  /api/climb/NAME/PICTURE staircase or frontier; ?format=svg | png | json, ?language=en | zh
POST /api/picture/NAME       {"run", "text", "options", "format": svg | png | json, "beside": other runs, for tokens}
POST /api/answer             {"run", "text", "second"}
GET  /api/curves/RUN         how a training goes; ?format=svg is the picture
"""

import json
from functools import partial
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from anyio.to_thread import run_sync
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from stairs.climb.messages import LANGUAGES
from stairs.errors import StairsError
from stairs.web import drawing
from stairs.web.guards import Guard
from stairs.web.learning_curves import chart, learning_curves
from stairs.web.opened_climb import PICTURES as CLIMB_PICTURES
from stairs.web.picture_pages import PAGES
from stairs.web.requests import RequestError, allow_fields, choice_field, json_safe, names_field, options_field, parse_body, text_field
from stairs.web.shelf import Shelf
from stairs.web.strings import STRINGS

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FORMATS = {"svg": "image/svg+xml", "png": "image/png", "json": "application/json"}
SENTENCES = {404: "there is nothing at this address", 405: "this address does not answer that method"}


def application(shelf: Shelf, port: int) -> Guard:
    """The explorer as an ASGI application that answers at 127.0.0.1:port only."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    studio = drawing.Studio(shelf.labels)
    app.add_exception_handler(HTTPException, not_found)
    app.add_exception_handler(Exception, internal_error)

    async def answered(work: Any) -> Response:
        """The work in a thread; what goes wrong in it becomes a sentence."""
        try:
            return await run_sync(work)
        except RequestError as error:
            return json_response(error.content, error.status, {"retry-after": "1"} if error.status == 503 else {})
        except StairsError as error:
            return json_response(RequestError(422, "input", str(error)).content, 422)
        except MemoryError:
            return json_response(RequestError(413, "memory", "the memory of this machine is not enough for that; shorten the text").content, 413)

    @app.get("/api/runs")
    async def runs() -> Response:
        def work() -> Response:
            shelf.refresh()
            listed = [{**run.summary(), "pictures": drawing.available_pictures(run)} for run in shelf.runs.values()]
            return json_response({"runs": listed, "climbs": list(shelf.climbs)})

        return await answered(work)

    @app.get("/api/climb/{name}")
    async def climb(name: str) -> Response:
        return await answered(lambda: json_response(shelf.shown(shelf.climb(name))))

    @app.get("/api/climb/{name}/{kind}")
    async def climbed(name: str, kind: str, format: str = "svg", language: str = "en") -> Response:
        def work() -> Response:
            asked = {"picture": kind, "format": format, "language": language}
            chosen, form = choice_field(asked, "picture", CLIMB_PICTURES), choice_field(asked, "format", tuple(FORMATS))
            own = shelf.climb(name)
            data = own.picture_data()
            return picture_response(data, partial(own.chart, chosen, data, choice_field(asked, "language", LANGUAGES)), chosen, form)

        return await answered(work)

    @app.get("/api/strings")
    async def words() -> Response:
        return json_response({"words": STRINGS, "pages": PAGES})

    @app.get("/api/curves/{name}")
    async def progress(name: str, format: str = "json") -> Response:
        def work() -> Response:
            chosen = choice_field({"format": format}, "format", tuple(FORMATS)[::-1])
            found = learning_curves(shelf[name])
            if chosen != "json" and not found["training"] and not found["held_out"]:
                raise RequestError(422, "no_curve", f"{name} has measured nothing that makes a curve")
            return picture_response(found, partial(chart, found), "curves", chosen)

        return await answered(work)

    @app.post("/api/picture/{name}")
    async def draw(name: str, request: Request) -> Response:
        body = await request.body()

        def work() -> Response:
            asked = parse_body(request.headers.get("content-type", ""), body)
            allow_fields(asked, "run", "text", "options", "format", "beside")
            run = shelf[text_field(asked, "run", 1000)]
            chosen = choice_field(asked, "format", tuple(FORMATS))
            with run.model():  # what there is to draw is known when the first model is
                drawable = drawing.find_drawable(name)
            text = text_field(asked, "text", default=None if drawable.needs_text else "")
            data = studio.data(run, name, text if drawable.needs_text else "", options_field(asked, drawable.options))
            if others := [shelf[other] for other in names_field(asked, "beside")]:
                data = studio.side_by_side([run, *others], name, text)
            return picture_response(data, partial(studio.chart, name, data), name, chosen)

        return await answered(work)

    @app.post("/api/answer")
    async def answer(request: Request) -> Response:
        body = await request.body()

        def work() -> Response:
            from stairs.web.answers import answer

            asked = parse_body(request.headers.get("content-type", ""), body)
            allow_fields(asked, "run", "text", "second")
            run, text = shelf[text_field(asked, "run", 1000)], text_field(asked, "text")
            second = text_field(asked, "second", default="")
            with run.model() as task:
                return json_response({"run": run.name, "model": task.model_name, "task": task.name, "answer": json_safe(answer(task, text, second))})

        return await answered(work)

    for path, (content, kind) in static_files().items():
        app.add_api_route(path, partial(static_response, content, kind), methods=["GET", "HEAD"])
    return Guard(app, port)


def static_files() -> dict[str, tuple[bytes, str]]:
    """Every address that is a file, with its content; no address is ever turned into a path."""
    folder = files("stairs.web") / "static"
    kept = {file.name: (file.read_bytes(), KINDS["." + file.name.rsplit(".", 1)[1]]) for file in folder.iterdir() if file.is_file()}
    page = kept.pop("page.html")
    addresses = ["/", "/staircase", "/compare", "/curves", *(f"/picture/{name}" for name in PAGES)]
    return {**{f"/static/{name}": file for name, file in kept.items()}, **dict.fromkeys(addresses, page)}


async def static_response(content: bytes, kind: str) -> Response:
    return Response(content, media_type=f"{kind}; charset=utf-8" if kind.startswith("text") else kind)


def picture_response(data: Any, drawn: Any, name: str, chosen: str) -> Response:
    """One picture in the format that was chosen; to be kept as a file if it is opened by itself."""
    kind = FORMATS[chosen]
    if chosen == "json":
        content = json.dumps(data, allow_nan=False).encode()
    else:
        content = drawing.render(drawn(), chosen)
        if chosen == "svg" and len(content) > drawing.MAX_SVG_BYTES:
            raise RequestError(413, "too_large", "this picture is too large for a page; choose PNG, or shorten the text", "text")
    note = data.get("truncation") if isinstance(data, dict) else None
    headers = {"content-disposition": f'attachment; filename="{name}.{chosen}"', **({"x-note": quote(str(note))} if note else {})}
    return Response(content, media_type=kind, headers=headers)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(content, allow_nan=False), status, headers, "application/json")


async def not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 400)
    return json_response(RequestError(status, "address", SENTENCES.get(status, "the request cannot be understood")).content, status)


async def internal_error(request: Request, error: Exception) -> Response:
    return json_response(RequestError(500, "bug", f"a bug: {type(error).__name__}; run stairs open with --debug and report it").content, 500)
