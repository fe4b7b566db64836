"""What the proxy meters: frames in, a ledger in the store and answers to the relay out."""

from __future__ import annotations

import gzip
import sqlite3
import zlib
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.metering.tapped_calls import (
    NamedLanes,
    answer,
    answer_body,
    assistant,
    body_of,
    request,
    stored,
    stream_of,
    user,
)
from ullage.errors import SessionNotFound
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    LimitLearnt,
    MessageAdded,
    SessionStarted,
)
from ullage.importers import read
from ullage.messages import TextPart
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.store.sqlite.store import SqliteStore
from ullage_proxy.metering.metering import CallMeter, MeteredCall


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "proxy.db")
    yield opened
    await opened.close()


def metering(store: SqliteStore | None, **more: Any) -> CallMeter:
    return CallMeter(store, lanes=more.pop("lanes", None) or NamedLanes(), **more)


async def one_call(
    meter: CallMeter, call: str, body: Any, text: str, tokens: int
) -> None:
    await meter.take(request(call, body))
    await meter.take(answer(call, answer_body(text, tokens)))


def of_kind(events: list[Event], kind: Any) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def reading_of(store: SqliteStore, session: str) -> Reading:
    """What ``ullage context`` shows of a stored session."""
    meter = Meter()
    for event in read(store.path, session=session).events:
        meter.apply(event)
    return meter.reading()


def row_names(reading: Reading) -> set[str]:
    found: set[str] = set()

    def walk(rows: Any) -> None:
        for row in rows:
            found.add(row.name)
            walk(row.children)

    walk(reading.rows)
    return found


# -- one call --


async def test_a_call_is_stored_as_a_session_like_any_other(store: SqliteStore) -> None:
    meter = metering(store)
    found = stored(await meter.take(request("r-1", body_of(user("Is the lamp lit?")))))
    assert found == []
    assert stored(await meter.take(answer("r-1", answer_body("It is.", 640)))) == ["r-1"]
    events = await store.read("s-1")
    (started,) = of_kind(events, SessionStarted)
    assert (started.program, started.cwd) == ("claude-code 2.1.330", "/home/ada/harbour")
    assert (started.wire, started.provider) == ("messages", "anthropic")
    (begun,) = of_kind(events, CallStarted)
    assert (begun.call, begun.mark) == ("r-1", "mark-1")
    assert begun.estimate is not None
    (ended,) = of_kind(events, CallEnded)
    assert ended.usage.input == 640
    reading = reading_of(store, "s-1")
    assert reading.basis.last_input == 640
    assert {"System prompt", "Messages", "MCP harbour (1)", "Read"} <= row_names(reading)


async def test_a_stream_is_read_as_a_whole_answer_is(store: SqliteStore) -> None:
    meter = metering(store)
    await meter.take(request("r-1", body_of(user("Hello"), stream=True)))
    kind = {"content-type": "text/event-stream; charset=utf-8"}
    await meter.take(answer("r-1", stream_of("It burns.", 640), headers=kind))
    events = await store.read("s-1")
    (ended,) = of_kind(events, CallEnded)
    assert (ended.usage.input, ended.usage.output, ended.outcome) == (640, 5, "finished")
    said = of_kind(events, MessageAdded)[-1].message
    assert [part.text for part in said.of_type(TextPart)] == ["It burns."]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "bare deflate"])
async def test_packed_bodies_are_unpacked(store: SqliteStore, coding: str) -> None:
    def pack(data: bytes) -> bytes:
        if coding == "gzip":
            return gzip.compress(data)
        packed = zlib.compress(data)
        return packed if coding == "deflate" else packed[2:-4]

    meter = metering(store)
    headers = {"content-encoding": coding.removeprefix("bare ")}
    sent = pack(request("r-1", body_of(user("Hello"))).payload)
    await meter.take(request("r-1", sent, headers=headers))
    await meter.take(answer("r-1", pack(answer_body("Hi", 600)), headers=headers))
    assert of_kind(await store.read("s-1"), CallEnded)[0].usage.input == 600


async def test_a_conversation_is_one_session_and_its_later_calls_start_from_the_report(
    store: SqliteStore,
) -> None:
    shown: list[MeteredCall] = []
    meter = metering(store, show=shown.append)
    first, second = user("Is the lamp lit?"), user("Then trim the wick, please.")
    await one_call(meter, "r-1", body_of(first), "It is.", 640)
    await one_call(
        meter, "r-2", body_of(first, assistant("It is."), second), "Done.", 660
    )
    assert [row.id for row in await store.sessions()] == ["s-1"]
    assert shown[1].estimate.used.low <= 660 <= shown[1].estimate.used.high
    assert reading_of(store, "s-1").used == shown[1].reading.used  # type: ignore[union-attr]


# -- lanes --


async def test_a_subagent_is_a_session_and_its_origin_s_spend(store: SqliteStore) -> None:
    meter = metering(store)
    await one_call(meter, "r-1", body_of(user("Ask the keeper.")), "I will.", 640)
    child = {"x-lane": "child-1"}
    await meter.take(request("r-2", body_of(user("Who are you?")), headers=child))
    written = await meter.take(answer("r-2", answer_body("The keeper.", 630)))
    assert stored(written) == ["r-2"]
    about = await store.about("s-1.child-1")
    assert about.origin == "s-1"
    inside = of_kind(await store.read("s-1.child-1"), CallEnded)
    beside = of_kind(await store.read("s-1"), CallEnded)
    assert [(end.call, end.purpose) for end in inside] == [("r-2", "main")]
    assert [(end.call, end.purpose) for end in beside] == [
        ("r-1", "main"),
        ("r-2", "child"),
    ]
    assert beside[1].usage.input == 630


@pytest.mark.parametrize("purpose", ["summary", "title", "other"])
async def test_a_call_beside_the_conversation_is_spend_and_changes_no_window(
    store: SqliteStore, purpose: str
) -> None:
    meter = metering(store)
    await one_call(meter, "r-1", body_of(user("Is the lamp lit?")), "It is.", 640)
    before = reading_of(store, "s-1").used
    lane = {"x-lane": purpose}
    await meter.take(request("r-2", body_of(user("Name this.")), headers=lane))
    await meter.take(answer("r-2", answer_body("Lamps", 90)))
    end = of_kind(await store.read("s-1"), CallEnded)[-1]
    assert (end.purpose, end.usage.input, end.model) == (purpose, 90, "claude-haiku-4-5")
    assert reading_of(store, "s-1").used == before


async def test_a_compaction_by_a_client_is_one_in_the_ledger(store: SqliteStore) -> None:
    meter = metering(store)
    asked = user("Tell me all about lamps.")
    await one_call(meter, "r-1", body_of(asked), "Lamps. " * 400, 640)
    summing = request("r-s", body_of(user("Sum up.")), headers={"x-lane": "summary"})
    await meter.take(summing)
    await meter.take(answer("r-s", answer_body("Lamps.", 90)))
    summary = user("This session continues from an earlier one: lamps.")
    await one_call(meter, "r-2", body_of(summary, user("And wicks?")), "Wicks.", 650)
    (committed,) = of_kind(await store.read("s-1"), CompactionCommitted)
    assert committed.summary.origin == "summary"
    reading = reading_of(store, "s-1")
    assert "Summary" in row_names(reading)
    assert reading.compactions == 1


# -- calls that fail --


async def test_a_failed_call_is_recorded_without_any_effect(store: SqliteStore) -> None:
    meter = metering(store)
    body = body_of(user("Is the lamp lit?"))
    await one_call(meter, "r-1", body, "It is.", 640)
    before = reading_of(store, "s-1").used
    said = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    follow = body_of(user("Is the lamp lit?"), assistant("It is."), user("And now?"))
    for number, status in enumerate((529, 429), 2):
        await meter.take(request(f"r-{number}", follow))
        frame = answer(f"r-{number}", said, status=status, outcome="failed")
        assert stored(await meter.take(frame)) == [f"r-{number}"]
    await one_call(meter, "r-4", follow, "Still.", 655)
    ends = of_kind(await store.read("s-1"), CallEnded)
    assert [(end.outcome, end.error_kind) for end in ends] == [
        ("finished", ""),
        ("failed", "Overloaded"),
        ("failed", ends[2].error_kind),
        ("finished", ""),
    ]
    assert ends[1].error
    reading = reading_of(store, "s-1")
    assert reading.basis.last_input == 655
    assert reading.used.tokens > before.tokens
    prompts = of_kind(await store.read("s-1"), MessageAdded)
    assert len(prompts) == 5 - 1  # a repeated body adds nothing


async def test_the_count_and_limit_of_an_overflow_are_kept(store: SqliteStore) -> None:
    meter = metering(store)
    await meter.take(request("r-1", body_of(user("Hello"))))
    said = (
        b'{"type":"error","error":{"type":"invalid_request_error",'
        b'"message":"prompt is too long: 210000 tokens > 200000 maximum"}}'
    )
    await meter.take(answer("r-1", said, status=400, outcome="failed"))
    events = await store.read("s-1")
    (end,) = of_kind(events, CallEnded)
    assert (end.counted, end.error_kind) == (210_000, "Overflow")
    assert of_kind(events, LimitLearnt)[0].window == 200_000


@pytest.mark.parametrize("outcome", ["cancelled", "dropped"])
async def test_what_came_of_an_answer_that_broke_off_is_kept(
    store: SqliteStore, outcome: str
) -> None:
    meter = metering(store)
    await meter.take(request("r-1", body_of(user("Hello"), stream=True)))
    kind = {"content-type": "text/event-stream"}
    cut = stream_of("It burns.", 640).partition(b"event: content_block_stop")[0]
    await meter.take(answer("r-1", cut, outcome=outcome, headers=kind))
    events = await store.read("s-1")
    (end,) = of_kind(events, CallEnded)
    assert end.outcome == outcome
    assert end.usage.input == 640
    said = of_kind(events, MessageAdded)[-1].message
    assert [part.text for part in said.of_type(TextPart)] == ["It burns."]


async def test_a_call_that_was_never_answered_has_failed(store: SqliteStore) -> None:
    meter = metering(store)
    await meter.take(request("r-1", body_of(user("Hello"))))
    frame = answer("r-1", b"", status=0, outcome="failed", note="connection refused")
    await meter.take(frame)
    (end,) = of_kind(await store.read("s-1"), CallEnded)
    assert (end.outcome, end.error) == ("failed", "connection refused")


# -- what can't be read --


async def test_an_unreadable_request_is_said_once_and_stored(store: SqliteStore) -> None:
    said: list[str] = []
    meter = metering(store, say=said.append)
    for call in ("r-1", "r-2"):
        await meter.take(request(call, b"\x28\xb5", headers={"content-encoding": "zstd"}))
        assert stored(await meter.take(answer(call, answer_body("Hi", 6)))) == [call]
    assert len(said) == 1
    assert "zstd" in said[0]
    with pytest.raises(SessionNotFound):
        await store.read("s-1")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b"[" * 100_000, b"\xff\xfe"])
async def test_what_is_no_request_passes_by(store: SqliteStore, body: bytes) -> None:
    meter = metering(store)
    await meter.take(request("r-1", body))
    assert stored(await meter.take(answer("r-1", b"?"))) == ["r-1"]


async def test_an_answer_that_cant_be_read_has_a_note(store: SqliteStore) -> None:
    meter = metering(store)
    await meter.take(request("r-1", body_of(user("Hello"))))
    frame = answer("r-1", b"\x0b\x02", headers={"content-encoding": "br"})
    assert stored(await meter.take(frame)) == ["r-1"]
    (end,) = of_kind(await store.read("s-1"), CallEnded)
    assert end.outcome == "finished"
    assert end.usage is None
    assert "br" in end.error


# -- more than once, and after a restart --


async def test_a_call_that_comes_twice_is_counted_once(store: SqliteStore) -> None:
    meter = metering(store)
    body = body_of(user("Is the lamp lit?"))
    for _ in range(2):
        await meter.take(request("r-1", body))
        written = await meter.take(answer("r-1", answer_body("It is.", 640)))
        assert stored(written) == ["r-1"]
    events = await store.read("s-1")
    assert len(of_kind(events, CallEnded)) == 1
    assert len(of_kind(events, MessageAdded)) == 2


async def test_another_process_goes_on_where_one_has_ended(store: SqliteStore) -> None:
    body = body_of(user("Is the lamp lit?"))
    await metering(store).take(request("r-1", body))
    lanes = NamedLanes()
    later = metering(store, lanes=lanes)
    await later.take(request("r-1", body))
    await later.take(answer("r-1", answer_body("It is.", 640)))
    events = await store.read("s-1")
    assert len(of_kind(events, CallStarted)) == len(of_kind(events, CallEnded)) == 1
    assert lanes.restored == [("s-1", "s-1", "claude-code 2.1.330", ("mark-1",))]


async def test_two_processes_of_a_session_lose_no_call(store: SqliteStore) -> None:
    one, other = metering(store), metering(store)
    first, second = user("Is the lamp lit?"), user("And now?")
    await one_call(one, "a-1", body_of(first), "It is.", 640)
    longer = body_of(first, assistant("It is."), second)
    await one_call(other, "b-1", longer, "Still.", 655)
    longest = body_of(
        first, assistant("It is."), second, assistant("Still."), user("So?")
    )
    await one_call(one, "a-2", longest, "Yes.", 668)
    ends = of_kind(await store.read("s-1"), CallEnded)
    assert [end.call for end in ends] == ["a-1", "b-1", "a-2"]


# -- without a store, or with one that fails --


async def test_without_a_store_calls_are_metered_and_nothing_is_kept() -> None:
    shown: list[MeteredCall] = []
    meter = metering(None, show=shown.append)
    await meter.take(request("r-1", body_of(user("Hello"))))
    assert stored(await meter.take(answer("r-1", answer_body("Hi", 600)))) == ["r-1"]
    assert shown[0].reading is not None
    assert shown[0].reading.basis.last_input == 600


async def test_a_store_that_fails_is_said_once_and_used_again(store: SqliteStore) -> None:
    said: list[str] = []
    meter = metering(store, say=said.append)
    await one_call(meter, "r-1", body_of(user("Hello")), "Hi", 600)
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("ALTER TABLE events RENAME TO elsewhere")
        other.commit()
        longer = body_of(user("Hello"), assistant("Hi"), user("Bye"))
        written = await meter.take(request("r-2", longer))
        written += await meter.take(answer("r-2", answer_body("Bye.", 612)))
        assert stored(written) == []
        assert meter.is_behind
        assert len(said) == 1
        other.execute("ALTER TABLE elsewhere RENAME TO events")
        other.commit()
    assert stored(await meter.settle()) == ["r-2"]
    assert said[1:] == ["The calls are being stored again."]
    assert len(of_kind(await store.read("s-1"), CallEnded)) == 2


async def test_calls_that_the_relay_dropped_are_said(store: SqliteStore) -> None:
    said: list[str] = []
    meter = metering(store, say=said.append)
    frame = request("", b"")
    frame.header.update(kind="lost", calls=3)
    await meter.take(frame)
    assert "not metered" in said[0]


async def test_a_session_from_long_ago_returns_with_subagents(store: SqliteStore) -> None:
    earlier = metering(store)
    await one_call(earlier, "r-1", body_of(user("Ask the keeper.")), "I will.", 640)
    for number in (1, 2):
        child = {"x-lane": f"child-{number}"}
        await earlier.take(
            request(f"r-{number + 1}", body_of(user("Who?")), headers=child)
        )
        await earlier.take(answer(f"r-{number + 1}", answer_body("I.", 630)))
    lanes = NamedLanes()
    later = metering(store, lanes=lanes)
    await later.take(request("r-9", body_of(user("Ask the keeper."))))
    assert [lane for _, lane, _, _ in lanes.restored] == [
        "s-1",
        "s-1.child-1",
        "s-1.child-2",
    ]


async def test_a_call_that_no_store_takes_is_acknowledged_and_those_after_it_are_stored(
    store: SqliteStore,
) -> None:
    meter = metering(store)
    body = body_of(user("ahoy"), model="a\ud800")
    await meter.take(request("c-1", body))
    answered = await meter.take(answer("c-1", answer_body("aye", 20)))
    assert stored(answered) == ["c-1"]
    await one_call(meter, "c-2", body_of(user("ahoy again")), "aye", 20)
    assert of_kind(await store.read("s-1"), CallEnded)[-1].call == "c-2"
