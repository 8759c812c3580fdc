"""A TCP proxy whose connections a test can cut or leave without an answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit


class Proxy:
    """Passes bytes on between a port of its own and a server."""

    def __init__(self, url: str) -> None:
        there = urlsplit(url)
        assert there.hostname and there.port
        self._there = (there.hostname, there.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._silent = threading.Event()
        self._refusing = threading.Event()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> int:
        """Close every connection; return how many there were."""
        cut = 0
        while self._open:
            with contextlib.suppress(OSError):
                connection = self._open.pop()
                connection.shutdown(socket.SHUT_RDWR)
                cut += 1
        return cut

    def silence(self) -> None:
        """Answer nothing from now on, with every connection open."""
        self._silent.set()

    def refuse(self) -> None:
        """Cut every connection and take no new one."""
        self._refusing.set()
        self.cut()

    def accept(self) -> None:
        """Take connections again."""
        self._refusing.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                if self._refusing.is_set():
                    here.close()
                    continue
                there = socket.create_connection(self._there)
                self._open += [here, there]
                for source, target in ((here, there), (there, here)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if self._silent.is_set():
                    continue
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """Run a proxy in front of ``url``."""
    running = Proxy(url)
    try:
        yield running
    finally:
        running.close()
