"""Requests as bytes on a socket, for what no client library would send."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

WAIT_S = 60.0


class Answer(NamedTuple):
    """An answer's status, 0 where the connection ended without one; and all that came."""

    status: int
    text: str


def connected(url: str) -> socket.socket:
    """A connection to the server at this address."""
    where = urlsplit(url)
    return socket.create_connection(
        (where.hostname or "", where.port or 80), timeout=WAIT_S
    )


def exchange(url: str, data: bytes, *, ends: bool = False) -> Answer:
    """Send these bytes, and read until the server closes; ``ends``: half-close, as there is nothing more to say."""
    with closing(connected(url)) as connection:
        with suppress(OSError):
            connection.sendall(data)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        return read_to_end(connection)


def read_to_end(connection: socket.socket) -> Answer:
    """What comes until the server closes. Raises ``TimeoutError`` where it does not."""
    got = b""
    while True:
        try:
            piece = connection.recv(65_536)
        except ConnectionResetError:
            break
        if not piece:
            break
        got += piece
    first = got.split(b"\r\n", 1)[0].split()
    return Answer(int(first[1]) if len(first) > 1 else 0, got.decode("latin-1"))


def request(
    *headers: str,
    method: str = "GET",
    target: str = "/v1/sessions",
    host: str = "localhost",
    body: bytes = b"",
) -> bytes:
    """A request that ends its connection."""
    lines = [
        f"{method} {target} HTTP/1.1",
        *([f"Host: {host}"] if host else []),
        "Connection: close",
        *headers,
    ]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
