"""Where each message went is told for every id there ever was, and what the simulator was sent bears it out."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from msgspec.structs import replace

from tests.compaction.stage import (
    ANTHROPIC,
    CHAT,
    DEEPSEEK,
    GEMINI,
    IS_THOROUGH,
    RESPONSES,
    SESSION,
    Dialect,
    agent_on,
    answered,
    called,
    gave,
    generated,
    heard,
    imported,
    is_summary_call,
    of_kind,
    refused,
    said,
    script,
)
from tests.context.sessions import explained, view_of, words
from tests.meter.histories import histories
from ullage.context.choice import STRATEGIES
from ullage.context.drop import DropOldest
from ullage.context.lineage import MessageStatus, Whereabouts, explain
from ullage.context.rules import NOTICE
from ullage.context.strategy import Strategy
from ullage.events import (
    CallStarted,
    CompactionCommitted,
    CompactionStarted,
    Event,
    MessageAdded,
    MessageReplaced,
    Pruned,
    Rewound,
    Uncompacted,
)
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage_agent.runtime.session import Session
from ullage_simulators import Server, running

WINDOW = 16_000
MARK = re.compile(r"\b(?:ask|call|result|answer)-\d{3}\b")
"""Stands at the begin of each text of a conversation here, and in no other."""

IN_VIEW = ("in view", "cleared", "shortened")


def look(at: str) -> str:
    """Look at a cask.

    Args:
        at: Its name.
    """
    number = int(at[-3:])
    return f"result-{number:03} {words(SIZES[number % len(SIZES)], number)}"


SIZES = (20, 800, 500, 800)
"""Words of a result: from too short to be cleared to worth it."""


def lines(count: int) -> list[dict[str, Any]]:
    """Each turn looks at a cask of its own and says so. The newest are first: a digest may repeat older requests."""
    made: list[dict[str, Any]] = []
    for n in reversed(range(count)):
        calls = [{"name": "look", "arguments": {"at": f"call-{n:03}"}}]
        made.append(
            {
                "when": {"contains": f"ask-{n:03}", "after": "user"},
                "reasoning": "I look.",
                "calls": calls,
            }
        )
        text = f"answer-{n:03} {words(10, 500 + n)}"
        made.append(
            {"when": {"contains": f"result-{n:03}", "after": "tool"}, "text": text}
        )
    return made


def had(count: int, size: int = 200) -> list[Message]:
    """So many such turns that were had elsewhere."""
    made: list[Message] = []
    for n in range(count):
        call = ToolCallPart(
            id=f"c{n}.0",
            call_id=f"c{n}-0",
            name="look",
            arguments=f'{{"at": "call-{n:03}"}}',
        )
        made += [
            said(f"u{n}", f"ask-{n:03} {words(40, n)}"),
            Message(id=f"c{n}", role="assistant", parts=(call,)),
            gave(f"r{n}", f"c{n}", f"result-{n:03} {words(size, 1_000 + n)}"),
            answered(f"b{n}", f"answer-{n:03} {words(40, 2_000 + n)}"),
        ]
    return made


class Life(NamedTuple):
    """How a session is lived: turns had elsewhere, turns of its own, and what helps when it grows too large."""

    shows: frozenset[MessageStatus]
    rungs: frozenset[str]
    before: Sequence[Message] = ()
    turns: int = 70
    summary: Mapping[str, Any] | None = None
    strategies: Sequence[Strategy] = STRATEGIES


def statuses(*given: MessageStatus) -> frozenset[MessageStatus]:
    return frozenset(given)


HUGE = (
    said("u0", "ask-000 Look."),
    called("c0"),
    gave("r0", "c0", f"result-000 {words(60_000, 9)}"),
)
LIVES: Mapping[str, Life] = {
    "clear and summary": Life(statuses("in view", "cleared", "summarised"), frozenset({"summary"})),
    "pieces": Life(statuses("in view", "summarised"), frozenset({"pieces"}), before=had(150), turns=4),
    "digest": Life(statuses("in view", "summarised", "dropped"), frozenset({"digest"}), summary={"text": ""}),
    "drop": Life(statuses("in view", "dropped"), frozenset({"drop"}), strategies=(DropOldest(),)),
    "trim": Life(statuses("in view", "shortened"), frozenset({"trim"}), before=HUGE, turns=4),
}  # fmt: skip


def texts_of(message: Message) -> Iterator[str]:
    """All that a message says, in pieces that go out as they are."""
    for part in message.parts:
        match part:
            case TextPart():
                yield part.text
            case ToolCallPart():
                yield from MARK.findall(part.arguments)
            case ToolResultPart():
                yield part.text
            case _:
                pass


def marks_of(message: Message) -> list[str]:
    """The words by which a message is known wherever it is."""
    return MARK.findall(" ".join(texts_of(message)))


def is_in(text: str, body: str) -> bool:
    """Whether a text stands in a request."""
    return json.dumps(text, ensure_ascii=False)[1:-1] in body


def every_message(events: Iterable[Event]) -> dict[str, Message]:
    """Whatever had an id in the ledger: what was said, and the summaries."""
    found: dict[str, Message] = {}
    for event in events:
        if isinstance(event, MessageAdded | MessageReplaced):
            found[event.message.id] = event.message
        elif isinstance(event, CompactionCommitted) and event.summary is not None:
            found[event.summary.id] = event.summary
    return found


def requests_for(events: Sequence[Event], asked: Sequence[str]) -> dict[str, list[str]]:
    """By compaction, the requests for a summary that were sent for it."""
    found: dict[str, list[str]] = {}
    under_way, place = "", 0
    for event in events:
        if isinstance(event, CompactionStarted):
            under_way = event.compaction
        elif isinstance(event, CallStarted) and event.purpose == "summary":
            found.setdefault(under_way, []).append(asked[place])
            place += 1
    return found


class Told:
    """What was told of all messages at one moment, held against the next request and those for summaries before it."""

    def __init__(
        self,
        events: Sequence[Event],
        told: Mapping[str, Whereabouts],
        server: Server,
        place: int,
    ) -> None:
        self.messages = every_message(events)
        self.told = told
        arrived = generated(server)
        self.body = next(
            heard(one) for one in arrived[place:] if not is_summary_call(one)
        )
        self.asked = requests_for(
            events, [heard(one) for one in arrived[:place] if is_summary_call(one)]
        )
        self.commits = {
            event.compaction: event for event in of_kind(events, CompactionCommitted)
        }

    def assert_true(self) -> Counter[MessageStatus]:
        """Gives how many messages are in which state."""
        assert self.told.keys() == self.messages.keys()
        for name, where in self.told.items():
            assert where.message == name
            self._assert_there(where)
            for passage in where.passages:
                self._assert_happened(where, passage.compaction)
        notices = sum(where.status == "cleared" for where in self.told.values())
        assert self.body.count(NOTICE) == notices, (
            "each notice stands for a message that is told to be cleared"
        )
        return Counter(where.status for where in self.told.values())

    def _assert_there(self, where: Whereabouts) -> None:
        message = self.messages[where.message]
        match where.status:
            case "in view":
                assert where.holder == message.id
                assert all(is_in(text, self.body) for text in texts_of(message)), where
            case "cleared":
                assert where.holder == message.id
                self._assert_cleared(where)
            case "shortened":
                assert where.holder == message.id
                assert not all(is_in(text, self.body) for text in texts_of(message)), (
                    where
                )
                assert all(mark in self.body for mark in marks_of(message)), where
            case "summarised":
                assert self.told[where.holder].status == "in view", where
                self._assert_gone(where)
            case "dropped" | "rewound":
                assert not where.holder, where
                self._assert_gone(where)
            case _:
                raise AssertionError(f"nothing is told of {where.message}")

    def _assert_cleared(self, where: Whereabouts) -> None:
        """The notice stands between the call and the answer that followed."""
        (mark,) = marks_of(self.messages[where.message])
        number = mark.removeprefix("result-")
        begin, end = (
            self.body.index(f"call-{number}"),
            self.body.index(f"answer-{number}"),
        )
        assert NOTICE in self.body[begin:end], where
        assert mark not in self.body[begin:end], where

    def _assert_gone(self, where: Whereabouts) -> None:
        """It is not in the request, unless what stands for it quotes it."""
        rest = self.body
        for text in texts_of(self.messages[where.holder]) if where.holder else ():
            rest = rest.replace(json.dumps(text, ensure_ascii=False)[1:-1], "")
        assert not any(mark in rest for mark in marks_of(self.messages[where.message])), (
            where
        )

    def _assert_happened(self, where: Whereabouts, compaction: str) -> None:
        """Who was summarised was shown to who wrote the summary, and who was dropped is listed with the reason told."""
        event = self.commits.get(compaction)
        if event is None:
            return  # a prune
        at = [passage.compaction for passage in where.passages].index(compaction)
        passage = where.passages[at]
        if passage.status == "dropped":
            assert passage.why
            assert passage.why in [
                each.reason for each in event.dropped if each.id == self._held(where, at)
            ], where
        if passage.status == "summarised":
            assert passage.into == (event.summary.id if event.summary is not None else "")
            assert event.rung == passage.why
            assert self._was_shown(where, at, event), (
                f"{where.message} was shown to nobody"
            )

    def _held(self, where: Whereabouts, at: int) -> str:
        """What stood for the message before that passage."""
        return next(
            (each.into for each in reversed(where.passages[:at]) if each.into),
            where.message,
        )

    def _was_shown(self, where: Whereabouts, at: int, event: CompactionCommitted) -> bool:
        held = self.messages[self._held(where, at)]
        words_: list[str] = marks_of(held)
        if held.origin == "summary":
            words_ = [list(held.of_type(TextPart))[-1].text.split("\n")[0]]
        elif any(each.status == "cleared" for each in where.passages[:at]):
            words_ = []
        if event.rung == "digest":
            assert event.summary is not None
            shown = "\n".join(texts_of(event.summary))
            return all(word in shown for word in words_)
        return any(
            all(is_in(word, request) for word in words_)
            for request in self.asked[event.compaction]
        )


async def all_told(session: Session, events: Sequence[Event]) -> dict[str, Whereabouts]:
    """Where every message is, from one reading of the ledger; the session itself tells the same."""
    view = [message.id for message in await session.messages()]
    told = {name: explain(name, events, view) for name in every_message(events)}
    for name in list(told)[::37]:
        assert await session.explain(name) == told[name]
    return told


def pairs() -> list[Any]:
    dialects = (ANTHROPIC, CHAT, RESPONSES, GEMINI, DEEPSEEK)
    made = []
    for place, name in enumerate(LIVES):
        chosen = dialects if IS_THOROUGH else [dialects[place % len(dialects)]]
        made += [
            pytest.param(name, dialect, id=f"{name}, {dialect.name}")
            for dialect in chosen
        ]
    return made


def is_as_it_was(events: Sequence[Event]) -> bool:
    """Whether the first call after these events began was made on the view of before."""
    first = next(event.seq for event in of_kind(events, CallStarted))
    return not any(
        event.seq < first
        for event in events
        if isinstance(event, CompactionCommitted | Pruned)
    )


@pytest.mark.parametrize(("name", "dialect"), pairs())
async def test_what_is_told_of_every_message_is_borne_out_by_the_next_request(
    name: str, dialect: Dialect, tmp_path: Path
) -> None:
    """After every change of the view all are asked for, and at the end; what is sent next shows whether it was true."""
    life = LIVES[name]
    begun = sum(message.role == "user" for message in life.before)
    seen = Counter[MessageStatus]()
    with running(
        script(dialect, *lines(begun + life.turns), window=WINDOW, summary=life.summary)
    ) as server:
        await imported(tmp_path / "s.db", life.before)
        settings = {
            "window": WINDOW,
            "protect_tokens": 1_500,
            "tools": [look],
            "strategy": life.strategies,
        }
        agent = agent_on(server, tmp_path / "s.db", dialect, **settings)
        async with agent.session(SESSION) as session:
            changes = 0
            for number in range(begun, begun + life.turns):
                events, place = await session.history(), len(generated(server))
                now = len(of_kind(events, CompactionCommitted)) + len(
                    of_kind(events, Pruned)
                )
                is_due, changes = now > changes or number == begun + life.turns - 1, now
                told = await all_told(session, events) if is_due else {}
                await session.send(f"ask-{number:03} {words(10, number)}")
                result = await session.wait()
                assert result.reason == "finished", result.note
                if is_due and is_as_it_was(await session.history(after=len(events))):
                    seen += Told(events, told, server, place).assert_true()
            events = await session.history()
        assert not refused(server)
    assert life.shows <= seen.keys(), seen
    assert life.rungs <= {event.rung for event in of_kind(events, CompactionCommitted)}
    assert not seen["unknown"]


@given(histories())
def test_whoever_is_told_to_be_in_view_is_and_nobody_else(events: list[Event]) -> None:
    """Whatever happened, in whatever order: edits, rewinds, prunes, compactions, and those undone."""
    events = [
        replace(each, prune=f"p{each.seq}")
        if isinstance(each, Pruned) and each.seq % 2
        else each
        for each in events
    ]
    view = view_of(events)
    for name in every_message(events):
        where = explain(name, events, view)
        assert where.status != "unknown"
        assert (where.status in IN_VIEW) == (name in view), where
        assert (where.holder in view) if where.holder else name not in view, where


ADDED: tuple[Event, ...] = tuple(MessageAdded(message=message) for message in had(3))
SUMMED_UP = CompactionCommitted(
    compaction="c", summary=said("c.summary", "one"), summarised=("u0", "c0", "r0")
)


def test_a_summary_is_a_message_too_in_view_and_taken_back_when_its_compaction_is_undone() -> (
    None
):
    events = [*ADDED, SUMMED_UP]
    assert (
        explained("c.summary", events).status,
        explained("c.summary", events).holder,
    ) == (
        "in view",
        "c.summary",
    )
    undone = explained("c.summary", [*events, Uncompacted(compaction="c")])
    assert (undone.status, undone.holder) == ("rewound", "")


def test_what_was_rewound_does_not_come_back_with_a_compaction_or_a_prune_that_is_undone() -> (
    None
):
    rewound = [*ADDED, SUMMED_UP, Rewound(to="u1"), Uncompacted(compaction="c")]
    assert (explained("r1", rewound).status, explained("r1", rewound).holder) == (
        "rewound",
        "",
    )
    assert (explained("r0", rewound).status, explained("r0", rewound).holder) == (
        "in view",
        "r0",
    )
    pruned = [
        *ADDED,
        Pruned(parts=("r1.0",), prune="p"),
        Rewound(to="u1"),
        Uncompacted(compaction="p"),
    ]
    assert (explained("r1", pruned).status, explained("r1", pruned).holder) == (
        "rewound",
        "",
    )


def test_a_message_written_anew_after_it_left_stands_for_itself_again() -> None:
    again = explained(
        "u0", [*ADDED, SUMMED_UP, MessageReplaced(message=said("u0", "again"))]
    )
    assert (again.status, again.holder) == ("in view", "u0")


def test_a_summary_behind_a_system_message_is_rewound_with_what_follows_that() -> None:
    system = MessageAdded(
        message=Message(
            id="s", role="system", parts=(TextPart(id="s.0", text="Be brief."),)
        )
    )
    where = explained("u0", [system, *ADDED, SUMMED_UP, Rewound(to="s")])
    assert (where.status, where.holder) == ("rewound", "")
