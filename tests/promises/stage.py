"""What all promises are tested on: the simulators over HTTP, a database in a file, and an agent with real tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from tests.integration import epochs
from tests.integration.conversation import BILLS
from ullage.codec.stream import Answer
from ullage.events import (
    CallEnded,
    CallRetried,
    CallStarted,
    DraftPiece,
    EpochChanged,
    Event,
    MessageAdded,
    Queued,
    QueueLeft,
)
from ullage.messages import (
    Message,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.reading import Reading
from ullage.store.places import StorePlace
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.session import Session
from ullage_simulators import Scenario, Server
from ullage_simulators.scenario import read
from ullage_simulators.server import Exchange

T = TypeVar("T")

KEYS = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"),
    "promise",
)
ADDRESSES = {
    "ANTHROPIC_BASE_URL": "anthropic",
    "OPENAI_BASE_URL": "openai",
    "GOOGLE_GEMINI_BASE_URL": "gemini",
    "DEEPSEEK_BASE_URL": "deepseek",
}
SYSTEM = "You look after the files of a small museum. Read before you answer."


class Speaker(NamedTuple):
    """One dialect: a model, the simulator that serves it, the wire where it is not the provider's usual one."""

    name: str
    model: str
    serves: str
    wire: str = ""
    params: Mapping[str, object] = {}

    def settings(self) -> dict[str, Any]:
        return {"model": self.model, "params": dict(self.params), "wire": self.wire}

    @property
    def codec(self) -> str:
        return (
            self.wire
            or {
                "anthropic": "messages",
                "openai": "responses",
                "gemini": "generateContent",
            }[self.serves]
        )


_ADAPTIVE = {"max_tokens": 12_000, "thinking": {"type": "adaptive"}}
_SUMMARY = {"reasoning": {"summary": "auto"}}
_THOUGHTS = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}

OLD_CLAUDE = Speaker(
    "old-claude",
    "anthropic:claude-sonnet-4-5",
    "anthropic",
    params={
        "max_tokens": 12_000,
        "thinking": {"type": "enabled", "budget_tokens": 4_096},
    },
)
CLAUDE = Speaker("claude", "anthropic:claude-sonnet-4-6", "anthropic", params=_ADAPTIVE)
BOUND_CLAUDE = Speaker(
    "bound-claude", "anthropic:claude-fable-5-2", "anthropic", params=_ADAPTIVE
)
RESPONSES = Speaker("responses", "openai:gpt-5.5", "openai", params=_SUMMARY)
CHAT = Speaker("chat", "openai:gpt-5-mini", "openai", "chat")
GEMINI = Speaker("gemini", "google:gemini-3-flash-preview", "gemini", params=_THOUGHTS)
DEEPSEEK = Speaker("deepseek", "deepseek:deepseek-reasoner", "deepseek", "chat")
SPEAKERS = (OLD_CLAUDE, CLAUDE, BOUND_CLAUDE, RESPONSES, CHAT, GEMINI, DEEPSEEK)
SIX = (CLAUDE, RESPONSES, CHAT, GEMINI, DEEPSEEK, BOUND_CLAUDE)


def script(*answers: Mapping[str, Any], **more: Any) -> Scenario:
    """A scenario whose Claude charges text as the real one does."""
    scenario = read({"answers": [dict(answer) for answer in answers], **more})
    return replace(scenario, drawn={**scenario.drawn, **BILLS})


class Sent(Hook):
    """Notes before each main call how many requests the simulator had by then: which one is which call's."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.begins: list[int] = []
        self.requests: list[Request] = []

    async def before_call(self, request: Request, reading: Reading) -> None:
        self.begins.append(requests_of(self._server))
        self.requests.append(request)


class Exchanged(NamedTuple):
    """A main call, and the request that the simulator got for it. ``declared``: a new epoch was declared before it."""

    call: str
    request: Request
    exchange: Exchange
    declared: tuple[str, ...]


def generated(server: Server) -> list[Exchange]:
    """The model calls that reached the simulator."""
    return [exchange for exchange in server.exchanges if exchange.number]


def requests_of(server: Server) -> int:
    return len(generated(server))


def agent_for(
    store: StorePlace | None,
    *hooks: Hook,
    server: Server,
    tools: Sequence[Any] = (),
    environment: Mapping[str, str] = KEYS,
    **settings: Any,
) -> Agent:
    """An agent whose sessions choose their model; every provider is reached at this server's simulators."""
    addresses = {variable: server.url(serves) for variable, serves in ADDRESSES.items()}
    settings = {"max_repeats": 1_000_000, "max_steps": 10_000, **settings}
    return Agent(
        tools=tools,
        system=SYSTEM,
        hooks=hooks,
        store=store,
        environment={**addresses, **environment},
        config=False,
        **settings,
    )


def exchanged(
    sent: Sent, server: Server, events: Sequence[Event], *, skip: int = 0
) -> list[Exchanged]:
    """The main calls of a ledger with their requests; ``skip`` calls of it were not sent under ``sent``."""
    mains = [
        event
        for event in events
        if isinstance(event, CallStarted) and event.purpose == "main"
    ]
    assert len(mains) - skip == len(sent.begins), (len(mains), skip, len(sent.begins))
    declared: dict[str, tuple[str, ...]] = {}
    since: list[str] = []
    for event in events:
        if isinstance(event, EpochChanged):
            since.append(event.reason)
        elif isinstance(event, CallStarted) and event.purpose == "main":
            declared[event.call] = tuple(since)
            since = []
    arrived = generated(server)
    found: list[Exchanged] = []
    unsent: tuple[str, ...] = ()
    ends = [*sent.begins[1:], len(arrived)]
    for main, request, begin, end in zip(
        mains[skip:], sent.requests, sent.begins, ends, strict=True
    ):
        # A call that was cancelled before it was sent has none, and what a scripted status refuses is not looked at.
        read = next((one for one in arrived[begin:end] if one.body is not None), None)
        if read is not None:
            found.append(
                Exchanged(main.call, request, read, unsent + declared[main.call])
            )
            unsent = ()
        else:
            unsent += declared[main.call]
    return found


def assert_epochs(calls: Sequence[Exchanged]) -> None:
    """A request departs from the one before it exactly where a new epoch was declared."""
    for earlier, later in pairwise(calls):
        departed = departure(earlier, later)
        assert (departed is not None) == bool(later.declared), (
            f"{later.call} after {earlier.call}: declared {later.declared}, departs {departed}"
        )


def departure(earlier: Exchanged, later: Exchanged) -> epochs.EpochChange | None:
    """Where a request departs from the one before it, as the simulator got both."""
    if earlier.request.wire != later.request.wire:
        return epochs.EpochChange("model", 0, 0, False)
    return epochs.compare(
        later.request.wire,
        earlier.exchange.body,
        later.exchange.body,
        model=f"{later.request.provider} {later.request.model}",
        earlier_model=f"{earlier.request.provider} {earlier.request.model}",
    )


def assert_accepted(server: Server, *, but: Iterable[int] = ()) -> None:
    """The simulator took every request; ``but`` those numbers, which a scripted fault refused."""
    refused = [
        (one.number, one.status, one.rule, one.said)
        for one in server.exchanges
        if (one.status != 200 or one.rule) and one.number not in but
    ]
    assert not refused, refused


def assert_calls_closed(events: Sequence[Event]) -> None:
    """Each tool call in the ledger has exactly one result behind it, and each model call one end.

    An answer that broke off and was asked for again left the view with its calls.
    """
    calls: list[str] = []
    results: list[str] = []
    for event in events:
        if isinstance(event, MessageAdded):
            if event.message.interrupted != "dropped":
                calls += [part.call_id for part in event.message.of_type(ToolCallPart)]
            results += [part.call_id for part in event.message.of_type(ToolResultPart)]
    assert sorted(calls) == sorted(results)
    started = [event.call for event in events if isinstance(event, CallStarted)]
    ended = [
        event.call
        for event in events
        if isinstance(event, CallEnded) and event.purpose != "child"
    ]
    assert sorted(started) == sorted(ended)


def assert_queue(events: Sequence[Event], ids: Iterable[str]) -> dict[str, str]:
    """Each id was queued once and left once, and is in the conversation exactly where it was delivered. Gives how."""
    queued = [event.message.id for event in events if isinstance(event, Queued)]
    left = [
        (event.message_id, event.how) for event in events if isinstance(event, QueueLeft)
    ]
    added = [event.message.id for event in events if isinstance(event, MessageAdded)]
    assert sorted(queued) == sorted(ids)
    assert sorted(name for name, _ in left) == sorted(ids), left
    for name, how in left:
        assert added.count(name) == (how == "delivered"), (name, how)
    return dict(left)


def ended(events: Iterable[Event], purpose: str = "main") -> list[CallEnded]:
    return [
        event
        for event in events
        if isinstance(event, CallEnded) and event.purpose == purpose
    ]


def retried(events: Iterable[Event]) -> list[CallRetried]:
    return [event for event in events if isinstance(event, CallRetried)]


def of_kind(events: Iterable[Any], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def text_of(message: Message) -> str:
    return "".join(part.text for part in message.of_type(TextPart))


def results_of(messages: Iterable[Message]) -> list[ToolResultPart]:
    return [part for message in messages for part in message.of_type(ToolResultPart)]


def said_to_model(exchange: Exchange) -> str:
    """The body of a request as text, to look for what the model was told."""
    return json.dumps(exchange.body, ensure_ascii=False)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.001)


class Shown:
    """What a display of a session has been given: a task that follows it, from behind the event ``after``."""

    def __init__(self, session: Session, *, after: int = 0) -> None:
        self.pieces: list[DraftPiece] = []
        self.events: list[Event] = []
        self._session = session
        self._after = after
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Shown:
        begun = asyncio.Event()
        self._task = asyncio.create_task(self._follow(begun))
        await begun.wait()
        return self

    async def __aexit__(self, *problem: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _follow(self, begun: asyncio.Event) -> None:
        frames: AsyncIterator[Event | DraftPiece] = self._session.events(
            after=self._after
        )
        async with aclosing(frames) as coming:  # type: ignore[type-var]
            begun.set()
            async for frame in coming:
                if isinstance(frame, DraftPiece):
                    self.pieces.append(frame)
                else:
                    self.events.append(frame)

    async def until(self, holds: Callable[[Shown], object]) -> None:
        await until(lambda: holds(self))

    @property
    def count(self) -> int:
        """How many events and pieces there were."""
        return len(self.events) + len(self.pieces)

    def of_call(self, call: str) -> list[DraftPiece]:
        return [piece for piece in self.pieces if piece.call == call]

    @property
    def call(self) -> str:
        """The call whose pieces came last."""
        return self.pieces[-1].call if self.pieces else ""


def shown_texts(pieces: Iterable[DraftPiece]) -> dict[str, str]:
    """What a display has drawn, by part: texts and reasoning as they came, and the arguments of calls."""
    texts: dict[str, str] = {}
    for piece in pieces:
        if piece.kind != "done":
            texts[piece.part] = texts.get(piece.part, "") + piece.text
    return texts


def stored_texts(message: Message) -> dict[str, str]:
    """The same of a stored message; parts that hold nothing readable are left out."""
    texts: dict[str, str] = {}
    for part in message.parts:
        match part:
            case TextPart() | ReasoningPart():
                texts[part.id] = part.text
            case ToolCallPart():
                texts[part.id] = part.arguments
            case _:
                pass
    return texts


def answers_in(events: Iterable[Event]) -> list[Message]:
    return [
        event.message
        for event in of_kind(events, MessageAdded)
        if event.message.role == "assistant"
    ]


class Recorder(Hook):
    """Keeps the answers it was shown."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    async def after_call(self, answer: Answer, reading: Reading) -> None:
        self.answers.append(answer)
