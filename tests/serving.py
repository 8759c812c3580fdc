"""Servers of tests' own, each in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import TypeVar

Served = TypeVar("Served", bound=BaseServer)


class Quiet(BaseHTTPRequestHandler):
    """A request of which nothing is printed."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def answer(self, body: bytes = b"", status: int = 200, **headers: str) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        """What was sent along."""
        return self.rfile.read(int(self.headers["Content-Length"] or 0))


def quiet_server(handler: type[Quiet]) -> ThreadingHTTPServer:
    """A server on loopback that does not wait for requests under way when it is closed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    return server


@contextmanager
def serving_in_a_thread(server: Served) -> Iterator[Served]:
    """Have a server answer while the block runs, and close it."""
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving(handler: type[Quiet]) -> Iterator[str]:
    """Have a server on loopback answer while the block runs; yield its address."""
    with serving_in_a_thread(quiet_server(handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"
