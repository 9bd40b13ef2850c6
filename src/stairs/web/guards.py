"""What stands before the pages: only this machine's browser, on its own page, gets in, with a body of a sensible size.

Any web page that is open in the browser can send requests to 127.0.0.1. A foreign `Origin` betrays it; a name of its own that points to
127.0.0.1 is betrayed by the `Host` (DNS rebinding).
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
MAX_BODY_BYTES = 1 << 18  # of a body
BODY_SECONDS = 10.0  # seconds for a body to arrive
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


class BodyTooLarge(Exception):
    """A body that is larger than is read."""


class Guard:
    """An ASGI application around another one."""

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
        refusal = self.refusal(scope["headers"])
        if refusal:
            await refuse(send, *refusal)
            return
        try:
            body = await asyncio.wait_for(read_body(receive), BODY_SECONDS)
        except BodyTooLarge:
            await refuse(send, 413, "too_large", f"the body has more than {MAX_BODY_BYTES} bytes; shorten it")
            return
        except TimeoutError:
            await refuse(send, 408, "slow", f"the body did not arrive within {BODY_SECONDS:.0f} seconds")
            return
        if body is not None:
            await self.inner(scope, replay(body, receive), with_headers(send))

    def refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str, str] | None:
        """Why a request is not let in, if it is not."""
        hosts, origins, lengths = ([value for name, value in headers if name == wanted] for wanted in (b"host", b"origin", b"content-length"))
        if len(hosts) != 1:
            return 400, "host", "exactly one Host must be said"
        if hosts[0].lower() not in self.hosts:
            return 403, "host", "this host is not served; open the address that stairs open has printed"
        if any(origin not in self.origins for origin in origins) or len(origins) > 1:
            return 403, "origin", "requests of other pages are not answered"
        if any(not length.isdigit() for length in lengths):
            return 400, "length", "Content-Length is no number"
        if any(len(length) > 12 or int(length) > MAX_BODY_BYTES for length in lengths):
            return 413, "too_large", f"the body has more than {MAX_BODY_BYTES} bytes; shorten it"
        return None


async def read_body(receive: Receive) -> bytes | None:
    """The whole body; None if the one who asked has left."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, for the one inside; after it, what comes from outside."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return parts.pop() if parts else await receive()

    return again


def with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return sent


async def refuse(send: Send, status: int, code: str, message: str) -> None:
    content = json.dumps({"error": {"code": code, "message": message, "field": None}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode()), (b"connection", b"close"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
