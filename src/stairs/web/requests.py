"""Everything a request must pass: the guard before the pages, and the checks of its fields. What is refused gets one sentence.

Any web page that is open in the browser can send requests to 127.0.0.1. Its `Origin` gives a foreign page away; a domain of its own that resolves to
127.0.0.1 is given away by the `Host` (DNS rebinding).
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Fields = dict[str, Any]  # the JSON object of a body
MAX_BODY_BYTES = 1 << 18
BODY_SECONDS = 10.0  # for a body to arrive
MAX_TEXT_LENGTH = 20_000  # characters
MAX_OPTION_LENGTH = 2_000
RANGES = {"layer": (-256, 255), "head": (-256, 255), "top": (1, 100), "seed": (0, 1 << 31)}  # options that are whole numbers; the others are text
TYPE_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number", type(None): "null"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
]


class RequestError(Exception):
    """A request that is refused: the HTTP status, a code for programs, a sentence for people, and the field at fault."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.field = status, code, message, field

    @property
    def content(self) -> Fields:
        return {"error": {"code": self.code, "message": self.message, "field": self.field}}


class Guard:
    """An ASGI application around another one: only the pages of this explorer, in a browser of this machine, pass."""

    def __init__(self, inner: Any, port: int) -> None:
        self.inner = inner
        names = ("127.0.0.1", "localhost")
        self.hosts = {f"{name}:{port}".encode() for name in names} | ({name.encode() for name in names} if port == 80 else set())
        self.origins = {b"http://" + host for host in self.hosts}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self.check_headers(scope["headers"])
            body = await asyncio.wait_for(read_body(receive), BODY_SECONDS)
        except RequestError as error:
            await refuse(send, error)
        except TimeoutError:
            await refuse(send, RequestError(408, "slow", f"the body did not arrive within {BODY_SECONDS:.0f} seconds"))
        else:
            if body is not None:
                await self.inner(scope, replay(body, receive), with_headers(send))

    def check_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        hosts, origins, lengths = ([value for name, value in headers if name == wanted] for wanted in (b"host", b"origin", b"content-length"))
        if len(hosts) != 1:
            raise RequestError(400, "host", "a request needs exactly one Host header")
        if hosts[0].lower() not in self.hosts:
            raise RequestError(403, "host", "this host is not served; open the address that stairs open has printed")
        if any(origin not in self.origins for origin in origins) or len(origins) > 1:
            raise RequestError(403, "origin", "requests from other pages are not answered")
        if any(not length.isdigit() for length in lengths):
            raise RequestError(400, "length", "Content-Length is not a number")
        if any(len(length) > 12 or int(length) > MAX_BODY_BYTES for length in lengths):
            raise too_large()


def too_large() -> RequestError:
    return RequestError(413, "too_large", f"the body has more than {MAX_BODY_BYTES} bytes; shorten it")


async def read_body(receive: Receive) -> bytes | None:
    """The whole body; None if the client has disconnected."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise too_large()
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """The body once more for the inner application; then whatever else arrives."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return parts.pop() if parts else await receive()

    return receive_again


def with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return send_with_headers


async def refuse(send: Send, error: RequestError) -> None:
    content = json.dumps(error.content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode()), (b"connection", b"close"), *HEADERS]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def parse_body(content_type: str, body: bytes, *names: str) -> Fields:
    """The JSON object of a body, with no fields but these."""
    if content_type.split(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "content_type", "the body must be application/json")
    try:
        fields = json.loads(body.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=refuse_duplicate_keys)
    except RequestError:
        raise
    except UnicodeDecodeError:
        raise RequestError(400, "encoding", "the body is not UTF-8") from None
    except RecursionError:
        raise RequestError(400, "nesting", "the body is nested too deeply") from None
    except ValueError:
        raise RequestError(400, "json", "the body is not JSON") from None
    if not isinstance(fields, dict):
        raise RequestError(422, "type", f"the body must be an object, not {TYPE_NAMES[type(fields)]}")
    for name in fields:
        if name not in names:
            raise RequestError(422, "field", f"there is no field {name[:40]!r}; there are {', '.join(names)}", name[:40])
    return fields


def refuse_constant(name: str) -> float:
    raise RequestError(400, "json", f"{name} is not a JSON number")


def refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> Fields:
    if len(dict(pairs)) != len(pairs):
        raise RequestError(400, "json", "a key occurs twice in one object")
    return dict(pairs)


def text_field(fields: Fields, name: str, max_length: int = MAX_TEXT_LENGTH, default: str | None = None) -> str:
    """A text; without a default it must not be empty."""
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise RequestError(422, "type", f"{name} must be a text and is {TYPE_NAMES[type(value)] if name in fields else 'missing'}", name)
    if len(value) > max_length:
        raise RequestError(413, "too_long", f"{name} has {len(value)} characters, and the limit is {max_length}; shorten it", name)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise RequestError(422, "surrogate", f"{name} holds half a character; send it as UTF-8", name)
    if default is None and not value.strip():
        raise RequestError(422, "empty", f"{name} is empty; write something", name)
    return value


def names_field(fields: Fields, name: str) -> list[str]:
    """A list of names; empty if none was given."""
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise RequestError(422, "type", f"{name} must be a list of texts", name)
    return value


def choice_field(fields: Fields, name: str, choices: tuple[str, ...]) -> str:
    """One of the choices; the first if none was given."""
    value = fields.get(name, choices[0])
    if value not in choices:
        raise RequestError(422, "choice", f"{name} must be one of {', '.join(choices)}", name)
    return value


def options_field(fields: Fields, names: tuple[str, ...]) -> dict[str, object]:
    """The options of a picture, checked; those left empty are left out."""
    given = fields.get("options", {})
    if not isinstance(given, dict):
        raise RequestError(422, "type", f"options must be an object, not {TYPE_NAMES[type(given)]}", "options")
    for name in given:
        if name not in names:
            known = ", ".join(names) or "none"
            raise RequestError(422, "option", f"this picture has no option {name[:40]!r}; it has {known}", f"options.{name[:40]}")
    return {name: check_option(name, value) for name, value in given.items() if value is not None and value != ""}


def check_option(name: str, value: Any) -> Any:
    field = f"options.{name}"
    if name not in RANGES:
        return text_field({field: value}, field, MAX_OPTION_LENGTH)
    low, high = RANGES[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RequestError(422, "range", f"{name} must be a whole number from {low} to {high}", field)
    return value


def json_safe(data: Any) -> Any:
    """The same data in JSON's own types: no NaN, no infinity, no NumPy number."""
    if isinstance(data, dict):
        return {str(key): json_safe(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [json_safe(value) for value in data]
    if data is None or isinstance(data, str | bool | int):
        return data
    if hasattr(data, "tolist"):
        return json_safe(data.tolist())
    number = float(data)
    return number if math.isfinite(number) else None
