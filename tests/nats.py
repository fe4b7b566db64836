"""A NATS server of the tests' own, from Debian's package."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from tests.programs import needed

WAIT_S = 60


class NatsServer:
    """A server at a port of its own that a test may kill, stop and start again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._program = needed("nats-server", "the bus over NATS")
        self._options = options
        self._log = folder / "nats.log"
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        where = ("-a", "127.0.0.1", "-p", str(self.port), "-l", str(self._log))
        self.process = subprocess.Popen([self._program, *where, *self._options])
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError(f"no NATS server: {self._log.read_text()}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)
