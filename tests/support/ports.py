"""Ports for servers that tests start."""

from __future__ import annotations

import socket

_RESERVED: list[socket.socket] = []


def free_port(host: str = "127.0.0.1") -> int:
    """A port at which nothing listens, and that no other process gets; a server may listen at it.

    It stays bound until this process ends. Two sockets may have one port if both have SO_REUSEADDR, as
    servers do, and only one of them listens.
    """
    reserved = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    _RESERVED.append(reserved)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind((host, 0))
    port: int = reserved.getsockname()[1]
    return port
