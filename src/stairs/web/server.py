"""One socket on this machine's own address, and the server behind it."""

import errno
import socket
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from stairs.errors import EnvironmentFault
from stairs.files import plain
from stairs.web.app import application
from stairs.web.runs import Shelf

HERE = "127.0.0.1"
AT_ONCE = 64  # requests; more are told to come again
HEAD = 16_384  # bytes of a request's head
GOODBYE = 5  # seconds for answers that are under way when it ends


def bound(port: int) -> socket.socket:
    """A socket that listens on this machine only; port 0 is any that is free."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HERE, port))
        listener.listen(AT_ONCE)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise EnvironmentFault(f"port {port} is in use, perhaps by another explorer; choose another with --port, or leave it out") from None
        raise EnvironmentFault(f"port {port} cannot be used: {plain(error)}; choose another with --port, or leave it out") from None
    return listener


def address(listener: socket.socket) -> str:
    return f"http://{HERE}:{listener.getsockname()[1]}/"


def serve(folders: Sequence[Path], listener: socket.socket) -> None:
    """Until it is interrupted."""
    shelf = Shelf(folders)
    app = application(shelf, listener.getsockname()[1])
    shelf.load_all()
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http="h11",
        limit_concurrency=AT_ONCE,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=GOODBYE,
        h11_max_incomplete_event_size=HEAD,
    )
    uvicorn.Server(config).run(sockets=[listener])
