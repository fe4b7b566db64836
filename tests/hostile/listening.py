"""An address that no request may ever reach. It keeps what reached it all the same."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple


class Stranger(NamedTuple):
    """``requests`` are the first bytes of each connection."""

    url: str
    requests: list[bytes]


@contextmanager
def stranger() -> Iterator[Stranger]:
    """An HTTP server in a thread that answers every request with an error."""
    listening = socket.create_server(("127.0.0.1", 0))
    requests: list[bytes] = []

    def live() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(60)
                requests.append(connection.recv(65_536))
                connection.sendall(
                    b"HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                )

    thread = threading.Thread(target=live, name="stranger", daemon=True)
    thread.start()
    try:
        yield Stranger(f"http://127.0.0.1:{listening.getsockname()[1]}", requests)
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)
