"""One behaviour on one wire: an agent meets the hostile provider, and everything that must hold is looked at."""

from __future__ import annotations

import asyncio
import io
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.hostile.measuring import Lag
from tests.hostile.provider import CALM
from tests.hostile.rows import Behaviour
from tests.hostile.speech import HostileWire
from tests.promises.stage import of_kind
from tests.sweeps.judging import judge_ledger, judge_turns
from ullage.encoding import encode
from ullage.errors import UllageError
from ullage.events import Event, MessageAdded
from ullage.messages import ToolCallPart, ToolResultPart
from ullage.wire.client import Timeouts
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.session import Session
from ullage_agent.runtime.settings import KEYS
from ullage_simulators import Server

KEY = "sk-hostile-KEY-0123456789abcdef"
ENVIRONMENT = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), KEY
)
SESSION = "attacked"
FINISHED = ("finished", "length", "refused")
LONGEST_NOTE = 4_000


PATIENT_S = 60.0
"""How long a provider is waited for that does not keep the agent waiting."""


class Patience(NamedTuple):
    """How long the agent waits, and how long the experiment waits for the agent."""

    settings: dict[str, Any]
    bound_s: float
    after_s: float = 90.0


BRIEF = Patience({"timeout": 1.0, "tries": 1, "max_steps": 5}, bound_s=60.0)
"""For tests: every wait is short and nothing is asked twice. The bound is what a hung test would cost."""

USUAL = Patience({"timeout": 1.3, "tries": 2, "max_steps": 8}, bound_s=20.0)
"""For ``make attack``: short waits, so that every attack can end within 20 s, and everything is asked twice."""


class Control(NamedTuple):
    """The ways to the provider: make it calm, and how many requests reached the address nobody may ask."""

    address: str
    calm: Callable[[], Awaitable[None]]
    strangers: Callable[[], Awaitable[int]]


class Verdict(msgspec.Struct, kw_only=True):
    """What came of it. ``problems`` is empty where everything held."""

    behaviour: str
    wire: str
    outcome: str = ""
    note: str = ""
    seconds: float = 0.0
    lag_ms: float = 0.0
    busy_ms: float = 0.0
    memory_mb: float = 0.0
    problems: list[str] = []


def look(what: str) -> str:
    """Look at something in the cellar."""
    return f"Seen: {what[:100]}"


def agent_for(
    wire: HostileWire, base_url: str, store: Path, settings: dict[str, Any]
) -> Agent:
    """An agent at this address. Settings that the version under test does not know are left out."""
    known = {name: value for name, value in settings.items() if name in KEYS}
    if wire.wire:
        known["wire"] = wire.wire
    environment = {**ENVIRONMENT, "HOME": str(store.parent)}
    return Agent(
        wire.model,
        tools=[look],
        store=store,
        environment=environment,
        config=False,
        learns=False,
        base_url=base_url,
        **known,
    )


class Experiment:
    """One run. ``attack`` is what is measured, ``aftermath`` what must still work."""

    def __init__(
        self,
        behaviour: Behaviour,
        wire: HostileWire,
        control: Control,
        directory: Path,
        patience: Patience,
    ) -> None:
        self.behaviour = behaviour
        self.wire = wire
        self.control = control
        self.store = directory / "sessions.db"
        self.patience = patience
        self.verdict = Verdict(behaviour=behaviour.name, wire=wire.name)
        settings = dict(patience.settings)
        if behaviour.must == "finishes" or behaviour.says:
            settings["timeout"] = PATIENT_S  # no wait is part of the attack
        self._agent = agent_for(wire, control.address, self.store, settings)
        self._session: Session = self._agent.session(SESSION)

    def _hold(self, holds: object, problem: str) -> None:
        if not holds:
            self.verdict.problems.append(problem)

    async def attack(self) -> None:
        """Say something to the hostile provider and wait for the end of the turn, up to the bound."""
        await self._session.__aenter__()
        began = time.monotonic()
        result: Result | None = None
        try:
            async with asyncio.timeout(self.patience.bound_s):
                await self._session.send("Look at the bungs.")
                result = await end_of(self._session)
            self.verdict.outcome = result.reason
            self.verdict.note = result.note
        except TimeoutError:
            self.verdict.outcome = "no end"
            self._hold(False, f"the turn did not end within {self.patience.bound_s:g} s")
        except Exception as problem:  # noqa: BLE001 - whatever the driver died of is the finding
            self.verdict.outcome = f"raised {type(problem).__name__}"
            self.verdict.note = str(problem)
            died = f"the driver died of {type(problem).__name__}: {problem}"
            self._hold(isinstance(problem, UllageError), died[:300])
        self.verdict.seconds = round(time.monotonic() - began, 2)
        if result is not None:
            self._judge_end(result)

    def _judge_end(self, result: Result) -> None:
        row = self.behaviour
        is_good = result.reason in FINISHED
        match row.must:
            case "fails":
                self._hold(
                    not is_good,
                    f"the turn finished with {result.text[:60]!r}, as if nothing had been wrong",
                )
            case "finishes":
                self._hold(
                    is_good, f"the turn ended as {result.reason}: {result.note[:200]}"
                )
                if row.text and is_good:
                    self._hold(
                        result.text == row.text,
                        f"the answer is {result.text[:60]!r} and not {row.text!r}",
                    )
        if row.never:
            self._hold(row.never not in result.text, f"the answer holds {row.never!r}")
        if not is_good:
            self._hold(result.note.strip(), "the turn failed without a word")
            self._hold(
                len(result.note) <= LONGEST_NOTE,
                f"the note has {len(result.note):,} characters",
            )
            self._hold(
                _is_clean(result.note),
                f"the note holds control characters: {result.note[:80]!r}",
            )
            self._hold("Traceback" not in result.note, "the note is a traceback")
            if row.says:
                self._hold(
                    row.says in result.note,
                    f"the note does not say {row.says!r}: {result.note[:200]!r}",
                )

    async def aftermath(self, simulator: Server) -> None:
        """The same session goes on in the same process, then in another agent with a strict provider."""
        await self.control.calm()
        if self._agent._shared is not None:  # a busy machine is no attack
            self._agent._shared.client.timeouts = Timeouts.of(PATIENT_S)
        try:
            async with asyncio.timeout(self.patience.after_s):
                if self.verdict.outcome == "no end":
                    await self._session.cancel()
                await self._session.send("And now?")
                result = await end_of(self._session)
            self._hold(
                result.text == CALM,
                f"afterwards: {result.reason} {result.text[:60]!r} {result.note[:200]}",
            )
        except Exception as problem:  # noqa: BLE001
            self._hold(
                False,
                f"afterwards the session is stuck: {type(problem).__name__} {problem}"[
                    :300
                ],
            )
        async with asyncio.timeout(self.patience.after_s):
            await self._session.close()
        await self._meet(simulator)
        self._hold(not await self.control.strangers(), "a request reached another origin")

    async def _meet(self, simulator: Server) -> None:
        """A strict provider must accept the history as it is now."""
        mark = f"Strict question {self.behaviour.name} {self.wire.name}."
        agent = agent_for(
            self.wire, simulator.url(self.wire.serves), self.store, {"tries": 1}
        )
        try:
            async with (
                asyncio.timeout(self.patience.after_s),
                agent.session(SESSION) as session,
            ):
                await session.send(mark)
                result = await end_of(session)
                ledger = await session.history()
            self._hold(
                result.reason == "finished",
                f"a strict provider: {result.reason} {result.note[:300]}",
            )
            for problem in ledger_problems(ledger):
                self._hold(False, problem)
            self._hold(not _holds_key(ledger), "the key is in the ledger")
        except Exception as problem:  # noqa: BLE001
            self._hold(
                False,
                f"the session can't be opened again: {type(problem).__name__} {problem}"[
                    :300
                ],
            )
        for exchange in simulator.exchanges:
            is_size = (
                "too_" in exchange.rule
            )  # a history too large for it is made smaller, and asked again
            if exchange.rule and not is_size and mark in str(exchange.body):
                self._hold(
                    False,
                    f"a strict provider refused: {exchange.rule} {exchange.said}"[:300],
                )
        for file in self.store.parent.glob("sessions.db*"):
            self._hold(
                KEY.encode() not in file.read_bytes(), f"the key is in {file.name}"
            )

    def note_measures(self, lag: Lag, memory_mb: float) -> None:
        """What the attack cost."""
        self.verdict.lag_ms = round(lag.wall_ms, 1)
        self.verdict.busy_ms = round(lag.busy_ms, 1)
        self.verdict.memory_mb = round(memory_mb, 1)

    def note_log(self, log: str) -> None:
        """What was logged meanwhile."""
        self._hold(KEY not in log, "the key is in the log")
        self._hold(KEY not in self.verdict.note, "the key is in the error")


async def end_of(session: Session) -> Result:
    """The end of the turn, whatever it is."""
    return await session.wait(check=False)


def _is_clean(note: str) -> bool:
    return all(
        letter >= " " and not "\x7f" <= letter <= "\x9f"
        for letter in note
        if letter not in "\n\t"
    )


def _holds_key(ledger: Sequence[Event]) -> bool:
    return any(KEY.encode() in encode(event) for event in ledger)


def ledger_problems(ledger: Sequence[Event]) -> Iterator[str]:
    """What is wrong with a ledger as such: numbers, turns, calls without a result or with two."""
    try:
        judge_ledger((), ledger)
        judge_turns(ledger)
    except AssertionError as problem:
        yield f"the ledger: {problem}"[:300]
    messages = [event.message for event in of_kind(ledger, MessageAdded)]
    open_calls: Counter[str] = Counter()
    cut: set[str] = set()
    for message in messages:
        for call in message.of_type(ToolCallPart):
            if message.role == "assistant":
                open_calls[call.call_id] += 1
                cut |= {call.call_id} if message.interrupted else set()
        for answer in message.of_type(ToolResultPart):
            open_calls[answer.call_id] -= 1
            if open_calls[answer.call_id] < 0:
                yield f"a result without a call: {answer.call_id[:60]!r}"
    for call_id, count in open_calls.items():
        if count > 0 and call_id not in cut:
            yield f"a call without a result: {call_id[:60]!r}"


@contextmanager
def captured_log() -> Iterator[io.StringIO]:
    """Everything that is logged in the block, from INFO on."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield written
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
