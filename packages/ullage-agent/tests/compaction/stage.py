"""What compaction is tested on: the simulators over HTTP with small windows, a store in a file, and long histories."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from tests.context.sessions import words
from ullage.encoding import decode_event
from ullage.events import Event, MessageAdded, Pinned, SessionStarted
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.store.export import export_lines
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.session import Session
from ullage_simulators import Scenario, Server, running
from ullage_simulators.scenario import read
from ullage_simulators.server import Exchange

T = TypeVar("T")

IS_THOROUGH: Final = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"

ASKS: Final = "Write down what is needed to go on"
"""Stands in every request for a summary, and in nothing that a user says here."""

SYSTEM: Final = "You look after the casks of a small cellar. Read before you answer."
SESSION: Final = "s"

SUMMARY: Final = (
    "## Goal\nTo look at the casks one after the other.\n## State\nEach that was asked for has been looked at and none "
    "was found to leak.\n## Next\nThe one that was named last."
)

KEYS: Final = dict.fromkeys(
    (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "DEEPSEEK_API_KEY",
        "XAI_API_KEY",
        "MISTRAL_API_KEY",
        "OPENROUTER_API_KEY",
        "MOONSHOT_API_KEY",
    ),
    "compaction",
)


class Dialect(NamedTuple):
    """One wire as one provider speaks it, with a model of our own on it that is ``like`` one of the simulator's."""

    name: str
    provider: str
    like: str
    serves: str
    wire: str = ""
    own: str = "small"
    """The model's name. What a model binds is told by it."""

    def model(self, window: int, max_output: int, name: str = "") -> dict[str, Any]:
        return {
            "name": name or self.own,
            "like": self.like,
            "window": window,
            "max_output": max_output,
        }

    def settings(self, server: Server, name: str = "") -> dict[str, Any]:
        return {
            "model": f"{self.provider}:{name or self.own}",
            "base_url": server.url(self.serves),
            "wire": self.wire,
        }


ANTHROPIC = Dialect("anthropic", "anthropic", "claude-opus-4-6", "anthropic")
BOUND_ANTHROPIC = Dialect(
    "bound-anthropic",
    "anthropic",
    "claude-fable-5-2",
    "anthropic",
    own="small-claude-fable-5-2",
)
OLD_ANTHROPIC = Dialect("old-anthropic", "anthropic", "claude-sonnet-4-5", "anthropic")
RESPONSES = Dialect("responses", "openai", "gpt-5.5", "openai")
CHAT = Dialect("chat", "openai", "gpt-5-mini", "openai", "chat")
GEMINI = Dialect("gemini", "google", "gemini-2.5-flash", "gemini")
DEEPSEEK = Dialect("deepseek", "deepseek", "deepseek-reasoner", "deepseek")
XAI = Dialect("xai", "xai", "grok-3-mini", "xai")
MISTRAL = Dialect("mistral", "mistral", "mistral-medium-latest", "mistral")
OPENROUTER = Dialect(
    "openrouter", "openrouter", "anthropic/claude-sonnet-4.5", "openrouter"
)
VLLM = Dialect("vllm", "vllm", "glm-4.7", "vllm")
LLAMACPP = Dialect("llamacpp", "llama.cpp", "qwen3", "llamacpp")
FIVE = (ANTHROPIC, RESPONSES, CHAT, GEMINI, DEEPSEEK)
DIALECTS = (
    *FIVE,
    BOUND_ANTHROPIC,
    OLD_ANTHROPIC,
    XAI,
    MISTRAL,
    OPENROUTER,
    VLLM,
    LLAMACPP,
)


def script(
    dialect: Dialect,
    *answers: Mapping[str, Any],
    window: int = 16_000,
    max_output: int = 2_000,
    summary: Mapping[str, Any] | None = None,
    **more: Any,
) -> Scenario:
    """A scenario of these answers behind that of a summary, on a small model of our own."""
    first = {
        "when": {"contains": ASKS},
        **({"text": SUMMARY} if summary is None else summary),
    }
    models = [dialect.model(window, max_output), *more.pop("models", [])]
    said = [
        first,
        *(dict(answer) for answer in answers),
        {"text": "It is as it should be."},
    ]
    return read({"models": models, "answers": said, **more})


def agent_on(server: Server, store: Path, dialect: Dialect, **more: Any) -> Agent:
    """An agent that speaks to the small model, without any step's being held up by chance.

    What it learns lies beside the store: another simulator has other numbers for the same model.
    """
    environment = {**KEYS, "ULLAGE_DATA": str(store.with_suffix(".data"))}
    settings = {
        "system": SYSTEM,
        "max_steps": 10_000,
        "max_repeats": 1_000_000,
        **dialect.settings(server),
        **more,
    }
    model = settings.pop("model")
    return Agent(model, store=store, environment=environment, config=False, **settings)


# -- histories --


def said(name: str, text: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.text", text=text),))


def answered(name: str, text: str) -> Message:
    return Message(
        id=name, role="assistant", parts=(TextPart(id=f"{name}.text", text=text),)
    )


def called(name: str, count: int = 1) -> Message:
    """An answer that calls a tool."""
    calls = (
        ToolCallPart(
            id=f"{name}.{at}",
            call_id=f"{name}-{at}",
            name="look",
            arguments=json.dumps({"at": f"{name} {at}"}),
        )
        for at in range(count)
    )
    return Message(
        id=name,
        role="assistant",
        parts=(TextPart(id=f"{name}.text", text="I look."), *calls),
    )


def gave(name: str, call: str, *texts: str) -> Message:
    """Results of the calls of an answer."""
    results = (
        ToolResultPart(
            id=f"{name}.{at}",
            call_id=f"{call}-{at}",
            name="look",
            content=(TextPart(id=f"{name}.{at}.t", text=text),),
        )
        for at, text in enumerate(texts)
    )
    return Message(id=name, role="tool", parts=tuple(results))


def turns(count: int, *, size: int = 200, start: int = 0) -> list[Message]:
    """Turns of a request, a call, its result of ``size`` words, and an answer."""
    made: list[Message] = []
    for n in range(start, start + count):
        made += [
            said(f"u{n}", f"Please look at cask {n}. {words(size // 5, n)}"),
            called(f"a{n}"),
            gave(f"r{n}", f"a{n}", words(size, 10_000 + n)),
            answered(f"b{n}", f"Cask {n} is whole. {words(size // 4, 20_000 + n)}"),
        ]
    return made


async def imported(
    store: Path,
    messages: Iterable[Message],
    *,
    pins: Sequence[str] = (),
    more: Sequence[Event] = (),
) -> None:
    """A session that was had elsewhere, as an import leaves it in the store; ``more`` are its last events."""
    database = SqliteStore(store)
    events: list[Event] = [
        SessionStarted(model="elsewhere", wire="messages", provider="anthropic")
    ]
    events += [MessageAdded(message=message) for message in messages]
    if pins:
        events.append(Pinned(messages=tuple(pins)))
    try:
        await database.create(SESSION, [*events, *more])
    finally:
        await database.close()


class Scene(NamedTuple):
    """A simulator and an open session that speaks to it."""

    server: Server
    session: Session


@asynccontextmanager
async def scene(
    place: Path,
    dialect: Dialect,
    had: Sequence[Message] = (),
    *,
    scenario: Scenario | None = None,
    **settings: Any,
) -> AsyncIterator[Scene]:
    """A session with these settings, its store in ``place``, which had these messages elsewhere if there are any.

    Without a scenario the simulator's model has the window that the settings name.
    """
    if scenario is None:
        scenario = script(dialect, window=settings["window"])
    store = place / "s.db"
    if had:
        await imported(store, had)
    with running(scenario) as server:
        async with conversing(agent_on(server, store, dialect, **settings)) as session:
            yield Scene(server, session)


@asynccontextmanager
async def conversing(agent: Agent) -> AsyncIterator[Session]:
    """The session, open."""
    async with agent.session(SESSION) as session:
        yield session


async def exported(session: Session) -> list[Message]:
    """The conversation as the session's file has it, compactions or not."""
    head, *lines = [
        line
        async for line in export_lines((await session._look()).shared.store, session.id)
    ]
    events = map(decode_event, lines[: json.loads(head)["events"]])
    return [event.message for event in events if isinstance(event, MessageAdded)]


# -- what the simulator saw --


def generated(server: Server) -> list[Exchange]:
    """The model calls that reached the simulator."""
    return [exchange for exchange in server.exchanges if exchange.number]


def heard(exchange: Exchange) -> str:
    """All of a request as text, as the simulator got it."""
    return json.dumps(exchange.body, ensure_ascii=False)


def sent(exchange: Exchange) -> str:
    """All of a request without the ids of the answers in it, which the simulator numbers by its requests."""
    return re.sub(r'"msg_\w+"', '""', heard(exchange))


def is_summary_call(exchange: Exchange) -> bool:
    return exchange.body is not None and ASKS in heard(exchange)


def is_accepted(exchange: Exchange) -> bool:
    return exchange.status == 200 and not exchange.rule


def refused(server: Server) -> list[tuple[int, str, str]]:
    """The model calls that the simulator refused by a rule of its own."""
    return [(one.number, one.rule, one.said) for one in generated(server) if one.rule]


def of_kind(events: Iterable[Any], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]
