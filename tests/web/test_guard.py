"""Only this machine's browser, on the explorer's own page, gets an answer."""

import asyncio
import contextlib
import errno
import socket
import subprocess
import sys
import threading
import time

import pytest

from stairs.errors import EnvironmentFault
from stairs.web import requests
from stairs.web.server import listen
from tests.web.explorer_runs import PORT


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"])
def test_own_hosts(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil", "", "127.0.0.1", "127.0.0.1:1", *(f"{name}:{PORT}" for name in ("evil", "localhost.evil", "user@127.0.0.1", "127.0.0.1.", "[::1]"))],
)
def test_foreign_hosts(client, host):
    assert client.get("/", headers={"host": host}).status_code in (400, 403)


@pytest.mark.parametrize("origin", ["null", "http://evil.example", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1", f"http://127.0.0.1:{PORT}.evil"])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD"])
def test_foreign_origins(client, origin, method):
    response = client.request(method, "/api/runs", headers={"origin": origin})
    assert response.status_code == 403 and "access-control-allow-origin" not in response.headers


def test_own_origin(client):
    assert client.get("/api/runs", headers={"origin": f"http://127.0.0.1:{PORT}"}).status_code == 200


def test_every_response_is_guarded(client):
    for address in ("/", "/static/start.js", "/api/runs", "/nowhere", "/api/curves/none"):
        headers = client.get(address).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


def guard_response(headers, messages, wait=0.0):
    """What the guard sends to a request, and what reached the application behind it."""
    sent, reached = [], []

    async def inner(scope, receive, send):
        reached.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive():
        await asyncio.sleep(wait)
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"host", b"127.0.0.1:%d" % PORT), *headers]}
    asyncio.run(requests.Guard(inner, PORT)(scope, receive, send))
    return sent[0]["status"] if sent else None, reached


def part(body, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def test_bodies(monkeypatch):
    assert guard_response([], [part(b"ab", True), part(b"c")]) == (200, [b"abc"])
    assert guard_response([(b"content-length", b"999999999")], [part(b"a")]) == (413, [])
    assert guard_response([(b"content-length", b"x")], [part(b"a")]) == (400, [])
    assert guard_response([(b"host", b"evil")], [part(b"a")]) == (400, [])
    assert guard_response([], [part(b"a" * 100_000, True) for _ in range(9)]) == (413, [])
    assert guard_response([], [{"type": "http.disconnect"}]) == (None, [])
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.05)
    assert guard_response([], [part(b"a", True)] * 9, wait=0.03) == (408, [])


def test_two_explorers_on_one_port():
    with listen(0) as first, pytest.raises(EnvironmentFault) as refused:
        listen(first.getsockname()[1])
    assert "is in use" in str(refused.value) and "--port" in str(refused.value)


def test_the_command(folder, command):
    with listen(0) as taken:
        port = str(taken.getsockname()[1])
        ended = command("open", folder / "gpt", "--port", port, "--no-browser")
    assert ended.code == 3 and ended.out == "" and f"port {port} is in use" in ended.err and ended.err.count("\n") == 1
    for arguments in (["nowhere"], [folder / "gpt", "--port", "70000"], [], [folder / "gpt" / "model"], [folder / "gpt", "--labels", "nowhere"]):
        ended = command("open", *arguments, "--no-browser")
        assert ended.code == 2 and ended.err.count("\n") == 1, ended.err


def test_it_listens_on_loopback_and_answers_before_a_model_is_loaded(folder):
    server = subprocess.Popen(
        [sys.executable, "-m", "stairs", "open", str(folder), "--no-browser", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        host, port = server.stdout.readline().strip().removeprefix("http://").rstrip("/").split(":")
        assert host == "127.0.0.1"
        reply = request(host, int(port), f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n")
        assert reply.startswith("HTTP/1.1 200") and "<!doctype html>" in reply
        server.terminate()
        assert server.wait(20) == 143
        assert server.stderr.read() == ""
    finally:
        server.kill()


def test_connections_that_say_nothing_or_dawdle_are_closed(shelf, monkeypatch):
    import uvicorn

    from stairs.web import server
    from stairs.web.app import application

    monkeypatch.setattr(server, "BODY_SECONDS", 1.0)
    listener = listen(0)
    place = listener.getsockname()
    serving = uvicorn.Server(server.server_config(application(shelf, place[1])))
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    idle = [socket.create_connection(place, 10) for _ in range(100)]
    head = f"GET / HTTP/1.1\r\nHost: {place[0]}:{place[1]}\r\n"
    idle[0].sendall(head.encode())
    idle[1].sendall(f"{head}\r\n".encode())
    assert idle[1].recv(65536).startswith(b"HTTP/1.1 200")
    idle[1].sendall(head.encode())
    assert request(*place, f"{head}Connection: close\r\n\r\n").startswith("HTTP/1.1 200")
    began = time.monotonic()
    for line in idle:
        with line, contextlib.suppress(ConnectionResetError):
            while line.recv(65536):
                pass
    assert time.monotonic() - began < 8
    serving.should_exit = True
    thread.join(10)
    listener.close()


def request(host, port, text):
    for _ in range(100):
        try:
            with socket.create_connection((host, port), 10) as line:
                line.sendall(text.encode())
                return b"".join(iter(lambda: line.recv(65536), b"")).decode()
        except OSError as error:
            if error.errno not in (errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE):
                raise
            time.sleep(0.1)
    raise AssertionError("no answer")
