"""A connection that can be cut: between a page and its server, in a thread of its own."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class Cable:
    """Passes bytes on to a server until it is cut; what was connected then is gone, and nothing new gets through."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ends: set[socket.socket] = set()
        self._is_whole = True
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """Break everything that is connected."""
        self._is_whole = False
        for end in list(self._ends):
            self._close(end)

    def mend(self) -> None:
        """Let new connections through."""
        self._is_whole = True

    def _close(self, end: socket.socket) -> None:
        self._ends.discard(end)
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if not self._is_whole:
                client.close()
                continue
            server = socket.create_connection(self._server)
            self._ends |= {client, server}
            if not self._is_whole:  # cut since it was looked at
                self.cut()
            for source, target in ((client, server), (server, client)):
                threading.Thread(
                    target=self._pass_on, args=(source, target), daemon=True
                ).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        self._close(source)
        self._close(target)
