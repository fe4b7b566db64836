"""Servers for tests: in a thread of this process or in one of its own, with a provider's simulator behind them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx2

from ullage.store.places import store_at
from ullage.store.store import SessionStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.dispatch import Dispatch
from ullage_server.app import application
from ullage_server.connections import StreamSlots, TimeLimits
from ullage_server.guard import LOOPBACK
from ullage_server.live import LiveSessions
from ullage_server.metrics import Metrics, measured
from ullage_server.serving import HttpServer, listener, url_of
from ullage_server.tokens import NamedTokens, Tokens
from ullage_simulators.scenario import Scenario, read

MODEL = "anthropic:claude-haiku-4-5"
WAIT_S = 60.0
"""Seconds after which something that should happen is given up."""


def script(*answers: Mapping[str, Any], delay_s: float = 0.0, **more: Any) -> Scenario:
    """What the provider's simulator says."""
    return read({"server": {"delay_s": delay_s}, "answers": list(answers), **more})


class Api(httpx2.Client):
    """A client of the API, with what tests ask for again and again."""

    def post(self, url: Any, **more: Any) -> Any:
        """A POST; a file is sent as one."""
        if more.get("content") is not None:
            more["headers"] = {
                "Content-Type": "application/octet-stream",
                **(more.get("headers") or {}),
            }
        return super().post(url, **more)

    def session(self, name: str, **said: Any) -> str:
        """Begin a session."""
        begun = self.post("/v1/sessions", json={"id": name, **said})
        assert begun.status_code == 201, begun.text
        return name

    def say(self, session: str, text: str, **more: Any) -> dict[str, Any]:
        """Say something; gives the acknowledgement."""
        said = self.post(f"/v1/sessions/{session}/messages", json={"text": text, **more})
        assert said.status_code == 202, said.text
        return dict(said.json())

    def state(self, session: str) -> dict[str, Any]:
        """Where a session stands."""
        answer = self.get(f"/v1/sessions/{session}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def until(self, session: str, *states: str) -> dict[str, Any]:
        """Wait until a session that has a reading is in one of these states, at rest where none is named.

        One that no server has taken yet is shown as waiting, and left out: on a busy machine one may take it late.
        """
        wanted = states or ("idle", "waiting")
        for _ in patiently():
            found = self.state(session)
            is_taken = found["standing"]["kind"] != "worker"
            if found["state"] in wanted and found["status"] is not None and is_taken:
                return found
        raise AssertionError(f"{session} never became {wanted}: {found}")

    def messages(self, session: str) -> list[dict[str, Any]]:
        """All messages in view."""
        return list(
            self.get(f"/v1/sessions/{session}/messages", params={"limit": 1000}).json()[
                "messages"
            ]
        )

    def events(self, session: str, **more: Any) -> Iterator[Frame]:
        """Follow a session; the caller stops when it has seen enough."""
        with self.stream("GET", f"/v1/sessions/{session}/events", **more) as answer:
            assert answer.status_code == 200
            yield from frames_of(answer.iter_lines())

    def until_event(self, session: str, name: str, after: int = 0) -> Frame:
        """The first event of this name behind a place."""
        with_place = self.events(session, params={"after": str(after)})
        return next(frame for frame in with_place if frame.event == name)


class Frame(NamedTuple):
    """One server-sent event; ``id`` is empty where it had none."""

    event: str
    id: str
    data: Any

    @property
    def is_of_ledger(self) -> bool:
        """Not a piece of an answer, nor what is sent before an event (``reset`` has an event's place too)."""
        return self.event not in ("draft", "status", "line")


def frames_of(lines: Iterable[str]) -> Iterator[Frame]:
    """The frames of a stream, comments and frames without data left out."""
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            if "data" in fields:
                yield Frame(
                    fields.get("event", "message"),
                    fields.get("id", ""),
                    json.loads(fields["data"]),
                )
            fields = {}


def patiently(within_s: float = WAIT_S) -> Iterator[None]:
    """As often as something may be looked for until it is given up."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        yield
        time.sleep(0.01)


class Local(NamedTuple):
    """A server in a thread, and what stands behind it."""

    api: Api
    url: str
    agent: Agent
    store: SessionStore
    metrics: Metrics
    server: HttpServer
    streams: StreamSlots
    tokens: tuple[NamedTokens, ...]
    accepted: Tokens


@contextmanager
def serving(
    provider: str,
    store: Path | str,
    *,
    token: str = "",
    tokens: NamedTokens | None = None,
    headers: Mapping[str, str] | None = None,
    limits: TimeLimits | None = None,
    shows: LiveSessions | None = None,
    proxies: Sequence[str] = (),
    dispatch: Dispatch | None = None,
    **said: Any,
) -> Iterator[Local]:
    """The API in a thread of its own, over the file or database ``store``.

    ``provider`` is the URL of the provider's simulator.
    """
    metrics, sources = Metrics(), () if tokens is None else (tokens,)
    kept = store_at(store)
    agent = Agent(
        said.pop("model", MODEL),
        store=measured(kept, metrics),
        hooks=[metrics, *said.pop("hooks", ())],
        environment={"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"},
        base_url=provider,
        config=False,
        yields=True,
        **said,
    )
    with listener("127.0.0.1", 0) as listening:
        url = url_of(listening)
        made = application(
            agent,
            metrics=metrics,
            token=token,
            tokens=sources,
            names=LOOPBACK,
            proxies=proxies,
            shows=shows,
            dispatch=dispatch,
        )
        server = HttpServer(made, limits)

        async def live() -> None:
            try:
                await server.serve(sockets=[listening])
            finally:
                await kept.close()

        thread = threading.Thread(target=lambda: asyncio.run(live()), name="server")
        thread.start()
        try:
            for _ in patiently():
                if server.started or not thread.is_alive():
                    break
            with Api(base_url=url, timeout=WAIT_S, headers=dict(headers or {})) as api:
                yield Local(
                    api,
                    url,
                    agent,
                    kept,
                    metrics,
                    server,
                    made.streams,
                    sources,
                    made.tokens,
                )
        finally:
            server.should_exit = True
            thread.join(WAIT_S)
            assert not thread.is_alive(), "the server did not end"


def first_line(output: IO[str]) -> str:
    """The first line of a program that was started; empty if none comes in time."""
    with selectors.DefaultSelector() as watch:  # select() takes no numbers above 1,023
        watch.register(output, selectors.EVENT_READ)
        is_there = watch.select(WAIT_S)
    return output.readline() if is_there else ""


class Process:
    """``ullage serve`` in a process of its own. It lets everybody in, unless a test gives it a token."""

    def __init__(
        self,
        provider: str,
        store: Path,
        *options: str,
        port: int = 0,
        simulate: bool = False,
        descriptors: int = 0,
        database: str = "",
        **environment: str,
    ) -> None:
        command = [sys.executable, "-m", "ullage", "serve", "--port", str(port)]
        command += ["--no-token", *options]
        if simulate:  # a store, a model and an address of its own
            command += ["--simulate"]
        else:
            place = database or str(store)
            command += ["--store", place, "--model", MODEL, "--base-url", provider]
        if descriptors:
            command = ["prlimit", f"--nofile={descriptors}:{descriptors}", *command]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "ANTHROPIC_API_KEY": "x",
                "PYTHONFAULTHANDLER": "1",
                **environment,
            },
            cwd=store.parent,
        )
        self._told: tuple[int, str, str] | None = None
        assert self._process.stdout is not None
        line = first_line(self._process.stdout)
        found = re.search(r"http://\S+", line)
        if found is None:
            self._process.kill()
            raise AssertionError(f"no address: {line!r} {self._process.communicate()}")
        self.url = found.group()
        self.opened = self._process.stdout.readline()
        """The second line, which says how the page is opened."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def api(self) -> Api:
        """A client of it."""
        return Api(base_url=self.url, timeout=WAIT_S)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The process stands still as long as the block lasts."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a power cut would, but for the disk."""
        self._process.kill()
        self._process.wait(WAIT_S)

    def end(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """End it in good order; gives its exit code and what it printed, the first time."""
        if self._process.poll() is None:
            self._process.send_signal(how)
        if self._told is None:
            out, said = self._process.communicate(timeout=WAIT_S)
            self._told = (self._process.returncode, out, said)
        return self._told


@contextmanager
def process(
    provider: str,
    store: Path,
    *options: str,
    port: int = 0,
    simulate: bool = False,
    descriptors: int = 0,
    database: str = "",
    **environment: str,
) -> Iterator[Process]:
    """A server process that is ended afterwards, if it was not before. What it said is added to a failure.

    ``database`` is the URL of its store; without one the store is the file ``store``.
    """
    started = Process(
        provider,
        store,
        *options,
        port=port,
        simulate=simulate,
        descriptors=descriptors,
        database=database,
        **environment,
    )
    try:
        yield started
    except BaseException as problem:
        code, out, said = started.end()
        problem.add_note(f"The server ended with {code} and said:\n{out}\n{said}")
        raise
    finally:
        started.end()
