"""Free ports and direct connections on this machine."""

from __future__ import annotations

import socket
from collections.abc import MutableMapping
from urllib.parse import urlsplit

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_SCHEMES = ("http", "https")
UNUSABLE = "http://only-http-and-https-proxies-are-supported.invalid"
"""Stands for a proxy of an unsupported kind, at which clients would fail even for direct
connections.

Under this name only proxied requests fail, with the reason; nothing bypasses it.
"""
LOOPBACK = ("127.0.0.1", "127.0.0.2", "localhost", "::1")


def keep_loopback_direct(environment: MutableMapping[str, str]) -> None:
    """Bypass the proxy for loopback, here and in child processes."""
    names = ("no_proxy", "NO_PROXY")
    named = ",".join(environment.get(name, "") for name in names).split(",")
    known = (_known_to_all(each.strip()) for each in named)
    direct = ",".join(dict.fromkeys([*filter(None, known), *LOOPBACK]))
    environment.update(dict.fromkeys(names, direct))
    for name in (*_PROXIES, *map(str.upper, _PROXIES)):
        if not _is_usable(environment.get(name, "")):
            environment[name] = UNUSABLE


def _known_to_all(host: str) -> str:
    """A host of ``no_proxy`` as every client reads it; empty where one would fail."""
    if host.count(":") > 1:  # IPv6, of which no client knows networks
        host = host.partition("]")[0].removeprefix("[")
        return "" if "/" in host else host
    return host if host.isascii() else ""


def _is_usable(proxy: str) -> bool:
    """Every client accepts this proxy, or there is none."""
    if not proxy:
        return True
    try:
        address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        return address.scheme in _SCHEMES and bool(address.hostname) and address.port != 0
    except ValueError:
        return False


def free_ports(count: int) -> list[int]:
    """Distinct free loopback ports."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
