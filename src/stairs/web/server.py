"""A socket on the loopback address, and the server behind it."""

import asyncio
import errno
import socket
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from stairs.errors import EnvironmentFault
from stairs.files import os_error_reason
from stairs.web.app import application
from stairs.web.requests import BODY_SECONDS
from stairs.web.shelf import SHUTDOWN_SECONDS, Shelf

LOOPBACK = "127.0.0.1"
MAX_CONNECTIONS = 1024  # more are told to try again
MAX_HEAD_BYTES = 16_384  # of a request


class Impatient(H11Protocol):
    """Closes a connection whose request does not arrive, or arrives too slowly."""

    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:  # the head of a request is not complete
            self.wait()
        elif self.deadline:
            self.deadline.cancel()
            self.deadline = None

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.deadline:
            self.deadline.cancel()

    def wait(self) -> None:
        self.deadline = self.deadline or self.loop.call_later(BODY_SECONDS, self.transport.abort)


def listen(port: int) -> socket.socket:
    """A socket that listens on the loopback address only; port 0 is any free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise EnvironmentFault(f"port {port} is in use, perhaps by another explorer; choose another with --port, or leave it out") from None
        raise EnvironmentFault(f"port {port} cannot be used: {os_error_reason(error)}; choose another with --port, or leave it out") from None
    return listener


def address(listener: socket.socket) -> str:
    return f"http://{LOOPBACK}:{listener.getsockname()[1]}/"


def serve(shelf: Shelf, listener: socket.socket) -> None:
    """Until interrupted."""
    app = application(shelf, listener.getsockname()[1])
    shelf.load_all()
    try:
        uvicorn.Server(server_config(app)).run(sockets=[listener])
    finally:
        shelf.close()


def server_config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        http=Impatient,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
