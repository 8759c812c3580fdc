"""A local server that plays a hub which receives models, with the ways in which one refuses."""

from __future__ import annotations

import base64
import hashlib
import json
import threading

from tests.serving import Quiet, quiet_server

TOKEN = "hf_secret"


class ReceivingHub:
    """The hub.

    Attributes:
        repositories: The files of each repository.
        refusals: The statuses of the next commits; 0 breaks the connection off.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.refusals: list[int] = []
        self._stored: dict[str, bytes] = {}
        hub = self

        class Handler(Quiet):
            def do_GET(self) -> None:
                hub.reply(self, b"")

            def do_POST(self) -> None:
                hub.reply(self, self.body())

            do_PUT = do_POST

        self._server = quiet_server(Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, request: Quiet, body: bytes) -> None:
        path = request.path.partition("?")[0]
        if path.startswith("/store/"):
            self._stored[path.removeprefix("/store/")] = body
            self._say(request, {})
        elif request.headers["Authorization"] != f"Bearer {TOKEN}":
            request.send_error(401)
        elif path == "/api/repos/create":
            self._create(request, json.loads(body))
        elif path == "/api/validate-yaml":
            self._say(request, {"errors": [], "warnings": []})
        elif path.endswith("/commit/main"):
            self._commit(request, path.split("/api/models/")[1].removesuffix("/commit/main"), body)
        elif path.endswith("/preupload/main"):
            names = [each["path"] for each in json.loads(body)["files"]]
            modes = {True: "lfs", False: "regular"}
            said = [
                {"path": n, "uploadMode": modes[n.endswith(".safetensors")], "shouldIgnore": False}
                for n in names
            ]
            self._say(request, {"files": said})
        elif path.endswith("/info/lfs/objects/batch"):
            self._say(request, {"transfer": "basic", "objects": [*self._batch(json.loads(body))]})
        elif "/tree/" in path:
            files = self.repositories[path.split("/api/models/")[1].split("/tree/")[0]]
            listed = [{"type": "file", "path": n, "size": 1, "oid": "0" * 40} for n in files]
            self._say(request, listed)
        else:
            request.send_error(404)

    def _create(self, request: Quiet, asked: dict[str, str]) -> None:
        name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
        if name.startswith("others/"):
            request.send_error(403)
            return
        taken = name in self.repositories
        self.repositories.setdefault(name, {".gitattributes": b""})
        self._say(request, {"url": f"{self.url}/{name}"}, 409 if taken else 200)

    def _batch(self, asked):  # type: ignore[no-untyped-def]
        for each in asked["objects"]:
            upload = {"upload": {"href": f"{self.url}/store/{each['oid']}"}}
            kept = each["oid"] in self._stored
            yield each if kept else each | {"actions": upload}

    def _commit(self, request: Quiet, name: str, body: bytes) -> None:
        refusal = self.refusals.pop(0) if self.refusals else None
        if refusal == 0:
            request.close_connection = True
            request.connection.close()
            return
        if refusal is not None:
            request.send_error(refusal)
            return
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                self.repositories[name][value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                data = self._stored[value["oid"]]
                assert hashlib.sha256(data).hexdigest() == value["oid"]
                self.repositories[name][value["path"]] = data
        self._say(request, {"commitUrl": f"{self.url}/{name}/commit/1", "commitOid": "1" * 40})

    def _say(self, request: Quiet, said: object, status: int = 200) -> None:
        request.answer(json.dumps(said).encode(), status, Content_Type="application/json")
