"""An HTTP proxy in front of a server of the S3 API that fails as networks and servers do.

What happens to a request is drawn from a seed, its method and path and how often it was asked, so
that threads that overtake each other change nothing.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from random import Random
from typing import Any
from urllib.parse import urlsplit

from tests.serving import Quiet, serving_in_a_thread

FAULTS = (
    "500",
    "503",
    "reset before",
    "reset after",
    "slow",
    "truncated",
    "wrong answer",
)
"""What may happen: the server fails or is busy; the connection is reset before or after the server
has done its part; bytes are late, missing, or altered on the way back."""

_ERROR = "<Error><Code>{code}</Code><Message>drawn</Message></Error>"
_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive", "server", "date"}


class FaultyServer(ThreadingHTTPServer):
    """Passes requests on and draws what happens to them.

    Attributes:
        happened: Counts faults by kind.
        requests: Counts requests, all of them.
    """

    daemon_threads = True

    def __init__(self, upstream: str, share: float, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.share, self.seed = share, seed
        self.happened: Counter[str] = Counter()
        self.requests = 0
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def draw(self, method: str, path: str) -> tuple[str | None, Random]:
        """What happens to a request, and what to draw the details from."""
        with self._lock:
            self.requests += 1
            name = f"{self.seed} {method} {path}"
            self._asked[name] += 1
            random = Random(f"{name} {self._asked[name]}")
            if random.random() >= self.share:
                return None, random
            of_answers = ("truncated", "wrong answer")
            possible = [each for each in FAULTS if method != "HEAD" or each not in of_answers]
            fault = random.choice(possible)
            self.happened[fault] += 1
            return fault, random

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that go away, as they do here."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(Quiet):
    server: FaultyServer
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        body = self.body()
        fault, random = self.server.draw(self.command, self.path)
        if fault in ("500", "503"):
            code, status = ("InternalError", 500) if fault == "500" else ("SlowDown", 503)
            self._answer(status, [], _ERROR.format(code=code).encode(), None, random)
            return
        if fault == "reset before":
            self._reset()
            return
        status, headers, answer = self._ask(body)
        if fault == "reset after":
            self._reset()
            return
        if fault == "slow":
            time.sleep(0.05)
        self._answer(status, headers, answer, fault, random)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.server.upstream, timeout=60)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body, dict(self.headers))
            reply = connection.getresponse()
            return reply.status, reply.getheaders(), reply.read()

    def _answer(
        self,
        status: int,
        headers: list[tuple[str, str]],
        body: bytes,
        fault: str | None,
        random: Random,
    ) -> None:
        said = dict((name.lower(), value) for name, value in headers)
        length = said.get("content-length", "0") if self.command == "HEAD" else str(len(body))
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault == "wrong answer" and body:
            body = _altered(body, random)
        if fault == "truncated" and body:
            self.wfile.write(body[: len(body) // 2])
            self._reset()
            return
        self.wfile.write(body)

    def _reset(self) -> None:
        """Close the connection so that the other side is told of a reset."""
        self.close_connection = True
        self.wfile.flush()
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()


def _altered(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]


@contextlib.contextmanager
def faulty(upstream: str, share: float, seed: int) -> Iterator[FaultyServer]:
    """Run the proxy.

    Args:
        upstream: URL of the server.
        share: Of requests to which something happens, 0 to 1.
        seed: Decides what happens to which.
    """
    with serving_in_a_thread(FaultyServer(upstream, share, seed)) as server:
        yield server
