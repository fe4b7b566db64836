"""The simulators for one scenario, with a way to hold an answer back, and ``ullage proxy`` before them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.clients.scenarios import SEED
from ullage_simulators import Scenario
from ullage_simulators.server import App, Exchange, engine, listener, prepared
from ullage_simulators.simulators import simulators

ENDS_IN_S = 40


@contextmanager
def proxying(behind: str, data: Path) -> Iterator[str]:
    """The address of a proxy before the simulators at ``behind``. What it stores is in ``data`` afterwards."""
    data.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ullage", "proxy", "--port", "0", "--quiet"]
    for name in simulators():
        command += ["--upstream", f"{name}={behind}/{name}"]
    environment = {**os.environ, "HOME": str(data), "ULLAGE_DATA": str(data)}
    with (data / "proxy.log").open("wb") as errors:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdout is not None
    try:
        with process.stdout as output:
            yield json.loads(output.readline())["listening"]
        process.send_signal(signal.SIGINT)
        process.wait(ENDS_IN_S)
    finally:
        process.kill()
        process.wait()


@dataclass(slots=True)
class Simulators:
    """A running server: its address, and all that was asked of it so far.

    ``hold`` keeps the answer to the next request that has these words; ``held`` is set when that answer has begun.
    """

    app: App
    port: int = 0
    hold: str = ""
    breaks_off: bool = False
    """The connection of a held answer is broken, and the answer to the next request is whole."""
    held: threading.Event = field(default_factory=threading.Event)
    interrupted: set[int] = field(default_factory=set)
    """Places in ``exchanges`` of the answers that were held back."""
    asked: list[dict[str, str]] = field(default_factory=list)
    """The headers of every request, whatever it was for."""
    asked_at: float = 0.0
    """When the last request came, or a piece of an answer left (``time.monotonic``)."""
    unserved: list[str] = field(default_factory=list)
    """Requests for paths that no simulator has."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def exchanges(self) -> list[Exchange]:
        """Every request so far that was for a model, in order."""
        return [each for each in self.app.exchanges if each.body is not None]

    def close(self) -> None:
        """Let go of all answers; called by the server's engine."""
        self.closing.set()
        self.app.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Passes a request on. An answer that is to be held stops after its first piece."""
        if scope["type"] != "http":
            return
        before = len(self.app.exchanges)
        sent = 0
        self.asked_at = time.monotonic()
        headers = scope["headers"]
        self.asked.append({k.decode("latin-1"): v.decode("latin-1") for k, v in headers})

        async def watched(message: Any) -> None:
            nonlocal sent
            missing = message.get("status") in (404, 405)
            if missing and len(self.app.exchanges) == before:
                self.unserved.append(f"{scope['method']} {scope['path']}")
            await send(message)
            self.asked_at = time.monotonic()
            if message["type"] != "http.response.body" or not self.hold:
                return
            sent += 1
            if sent == 1 and self._is_to_be_held(before):
                self.hold = ""
                self.held.set()
                if self.breaks_off:
                    raise ConnectionAbortedError("the bench breaks this answer off")
                await self.closing.wait()

        await self.app(scope, receive, watched)

    def _is_to_be_held(self, before: int) -> bool:
        exchanges = self.app.exchanges
        for place in range(before, len(exchanges)):
            body = exchanges[place].body
            if self.hold in str(body) and exchanges[place].bill:
                self.interrupted.add(exchanges[place].number)
                return True
        return False


@contextmanager
def serving(script: Scenario) -> Iterator[Simulators]:
    """The simulators on a free port, for the time of the ``with`` block."""
    simulators = Simulators(prepared(script, seed=SEED))
    listening = listener()
    server = engine(simulators)  # type: ignore[arg-type]
    # It says of each answer that is broken off what is meant to happen.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    simulators.port = listening.getsockname()[1]
    thread = threading.Thread(
        target=server.run, args=([listening],), name="bench-simulators", daemon=True
    )
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.005)
        yield simulators
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
