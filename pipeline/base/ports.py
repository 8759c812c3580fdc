"""Ports of this machine that a server may take."""

from __future__ import annotations

import socket


def free_ports(count: int) -> list[int]:
    """Return so many loopback ports, none twice, that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
