"""A local server that plays a model hub, with the ways in which a real one fails.

Like the real one it serves large files from another server ("the store"), to which it redirects,
and small ones from another address of its own.
"""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path

from tests.serving import Quiet, quiet_server

REPOSITORY = "someone/tiny"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CUT = 1000


@dataclass(frozen=True)
class Seen:
    """One request: which server, which path, which token, which range."""

    server: str
    path: str
    token: str | None
    range: str | None


@dataclass
class FakeHub:
    """The hub and its store.

    Attributes:
        folder: The files of the one repository.
        token: Demanded, if not None.
        behaviours: What happens to the next requests for weights, or for ``failing``; then all
            goes well. A number is a status; else ``truncate``, ``corrupt``.
        failing: The beginning of the paths that the behaviours are for.
    """

    folder: Path
    token: str | None = None
    behaviours: list[str] = field(default_factory=list)
    failing: str = "/store/"
    seen: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hub, self.store = self._serve("hub"), self._serve("store")
        self.url = f"http://127.0.0.1:{self.hub.server_port}"

    def close(self) -> None:
        for server in (self.hub, self.store):
            server.shutdown()
            server.server_close()

    def of(self, server: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.server == server]

    def listing(self) -> dict[str, object]:
        return {"id": REPOSITORY, "sha": COMMIT, "siblings": [*map(self._entry, self._files())]}

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.is_file())

    def _entry(self, path: Path) -> dict[str, object]:
        body = path.read_bytes()
        entry: dict[str, object] = {"rfilename": path.name, "size": len(body)}
        entry["blobId"] = hashlib.sha1(f"blob {len(body)}\0".encode() + body).hexdigest()
        if _large(path.name):
            entry["lfs"] = {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}
        return entry

    def _serve(self, name: str) -> ThreadingHTTPServer:
        fake = self

        class Handler(Quiet):
            def do_GET(self) -> None:
                token = self.headers["Authorization"]
                fake.seen.append(Seen(name, self.path, token, self.headers["Range"]))
                fake.reply(self, name)

        server = quiet_server(Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server

    def reply(self, request: Quiet, name: str) -> None:
        path = request.path.partition("?")[0]
        behaviour = ""
        if self.behaviours and path.startswith(self.failing):
            behaviour = self.behaviours.pop(0)
        if behaviour.isdigit():
            request.send_error(int(behaviour))
        elif name == "store":
            self._send(request, self.folder / path.removeprefix("/store/"), behaviour)
        elif self.token and request.headers["Authorization"] != f"Bearer {self.token}":
            request.send_error(401)
        else:
            self._answer_as_hub(request, path, behaviour)

    def _answer_as_hub(self, request: Quiet, path: str, behaviour: str) -> None:
        listings = [f"/api/models/{REPOSITORY}/revision/{name}" for name in ("main", COMMIT)]
        files, cached = f"/{REPOSITORY}/resolve/{COMMIT}/", "/api/resolve-cache/"
        if path in listings:
            self._send_bytes(request, json.dumps(self.listing()).encode())
        elif path.startswith(cached):
            self._send(request, self.folder / path.removeprefix(cached), behaviour)
        elif path.startswith(files) and (self.folder / path.removeprefix(files)).is_file():
            file = path.removeprefix(files)
            store = f"http://127.0.0.1:{self.store.server_port}/store/{file}?signed"
            self._redirect(request, store if _large(file) else cached + file)
        else:
            request.send_error(404)

    def _redirect(self, request: Quiet, where: str) -> None:
        request.answer(status=302 if where.startswith("http") else 307, Location=where)

    def _send(self, request: Quiet, path: Path, behaviour: str) -> None:
        body = path.read_bytes()
        self._send_bytes(request, body[::-1] if behaviour == "corrupt" else body, behaviour)

    def _send_bytes(self, request: Quiet, body: bytes, behaviour: str = "") -> None:
        asked = request.headers["Range"]
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        request.send_header("Content-Length", str(len(body) - start))
        request.end_headers()
        request.wfile.write(body[start : start + CUT if behaviour == "truncate" else None])


def _large(name: str) -> bool:
    return name.endswith((".safetensors", ".bin"))
