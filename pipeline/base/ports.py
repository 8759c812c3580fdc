"""Ports of this machine that a server may take, and the way to them."""

from __future__ import annotations

import socket
from collections.abc import MutableMapping
from urllib.parse import urlsplit

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_SCHEMES = ("http", "https")
UNUSABLE = "http://only-http-and-https-proxies-are-supported.invalid"
"""Stands for a proxy of another kind, and for none at all: clients end in an error at the sight of
one, also where none is asked.

Under this name only what would go through it fails, and says why; nothing goes past it."""
LOOPBACK = ("127.0.0.1", "127.0.0.2", "localhost", "::1")


def keep_loopback_direct(environment: MutableMapping[str, str]) -> None:
    """Have no client, here or in a process started from here, go to this machine by a proxy."""
    names = ("no_proxy", "NO_PROXY")
    named = ",".join(environment.get(name, "") for name in names).split(",")
    known = (_known_to_all(each.strip()) for each in named)
    direct = ",".join(dict.fromkeys([*filter(None, known), *LOOPBACK]))
    environment.update(dict.fromkeys(names, direct))
    for name in (*_PROXIES, *map(str.upper, _PROXIES)):
        if not _is_usable(environment.get(name, "")):
            environment[name] = UNUSABLE


def _known_to_all(host: str) -> str:
    """A host that goes by no proxy, as every client reads it; empty where one ends in an error."""
    if host.count(":") > 1:  # IPv6, of which no client knows networks
        host = host.partition("]")[0].removeprefix("[")
        return "" if "/" in host else host
    return host if host.isascii() else ""


def _is_usable(proxy: str) -> bool:
    """Whether every client knows what to make of a proxy; of none, too."""
    if not proxy:
        return True
    try:
        address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        return address.scheme in _SCHEMES and bool(address.hostname) and address.port != 0
    except ValueError:
        return False


def free_ports(count: int) -> list[int]:
    """So many loopback ports, none twice, that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
