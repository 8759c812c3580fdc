"""Ports of this machine that a server may take, and the way to them."""

from __future__ import annotations

import socket
from collections.abc import MutableMapping

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
NO_SOCKS = "http://socks-proxies-are-not-supported.invalid"
"""Stands for a SOCKS proxy: clients end in an error at the sight of one, also where none is asked.

Under this name only what would go through it fails, and says why; nothing goes past it."""
LOOPBACK = ("127.0.0.1", "127.0.0.2", "localhost", "::1")


def keep_loopback_direct(environment: MutableMapping[str, str]) -> None:
    """Have no client, here or in a process started from here, go to this machine by a proxy."""
    names = ("no_proxy", "NO_PROXY")
    named = ",".join(environment.get(name, "") for name in names).split(",")
    direct = ",".join(dict.fromkeys([*filter(None, map(str.strip, named)), *LOOPBACK]))
    environment.update(dict.fromkeys(names, direct))
    for name in (*_PROXIES, *map(str.upper, _PROXIES)):
        if environment.get(name, "").lower().startswith("socks"):
            environment[name] = NO_SOCKS


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
