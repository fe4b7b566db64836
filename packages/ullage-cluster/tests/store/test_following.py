import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.losing import lose
from tests.store.sessions import said
from ullage.codec.stream import TextDelta
from ullage.errors import HistoryLost, SessionNotFound, StoreUnavailable
from ullage.events import (
    CallEnded,
    CallStarted,
    CancelAsked,
    DraftPiece,
    Event,
    MessageAdded,
    TurnStarted,
)
from ullage.store.changes import MOST_HELD, Change, Subscription
from ullage.store.drafts import DraftRow
from ullage.store.following import (
    FIRST_READ,
    MOST_READ,
    READ_BYTES,
    Follower,
    FoundEvents,
    next_limit,
)
from ullage.store.places import store_at
from ullage.store.store import SessionStore
from ullage_agent.runtime.drafting import drafting

Items = list[Event | DraftPiece]

ENDS = "the end"


async def until_the_end(
    stream: AsyncIterator[Event | DraftPiece], seen: Items | None = None
) -> Items:
    """All that comes; it is added to ``seen`` as it comes."""
    seen = [] if seen is None else seen
    async for each in stream:
        seen.append(each)
        if isinstance(each, TurnStarted) and each.turn == ENDS:
            return seen
    return seen


async def stream_calls(
    store: SessionStore, session: str, calls: int, pieces: int
) -> None:
    """Drive some calls whose answers stream, commands of others among them, then say that this is the end."""
    await store.create(session)
    lease = await store.acquire(session, "o", ttl_s=60)
    for number in range(calls):
        call = f"{session}-{number}"
        await store.append(lease, [CallStarted(call=call)], after=0)
        for offset in range(pieces):
            await store.draft(
                lease, [DraftPiece(call, offset, "text", "p", f"piece {offset} ")]
            )
            if offset % 7 == 3:
                await store.command(session, [CancelAsked()])
        ended: list[Event] = [
            CallEnded(call=call),
            MessageAdded(message=said(f"{call}-answer")),
        ]
        await store.append(lease, ended, after=0, ends_draft=call)
    await store.append(lease, [TurnStarted(turn=ENDS)], after=0)


def examine(seen: Items, *, after: int = 0, with_all_pieces: int | None = None) -> None:
    """No gap and no duplicate, a call's pieces between its start and its end."""
    seqs = [each.seq for each in seen if not isinstance(each, DraftPiece)]
    assert seqs == list(range(after + 1, after + 1 + len(seqs)))
    offsets: dict[str, list[int]] = {}
    ended: set[str] = set()
    for each in seen:
        if isinstance(each, DraftPiece):
            assert each.call not in ended, "a piece came after the end of its call"
            offsets.setdefault(each.call, []).append(each.offset)
        elif isinstance(each, CallEnded):
            ended.add(each.call)
    for had in offsets.values():
        assert had == sorted(set(had))
        if with_all_pieces is not None:
            assert had == list(range(with_all_pieces))


async def test_one_who_follows_gets_everything_in_order(store: SessionStore) -> None:
    await store.create("before")
    for_all = asyncio.create_task(stream_calls(store, "s", 5, 20))
    while not (found := await store.sessions()) or found[0].id != "s":
        await asyncio.sleep(0)
    followers = [asyncio.create_task(until_the_end(store.follow("s"))) for _ in range(5)]
    await for_all
    for each in await asyncio.gather(*followers):
        examine(each)
    lease = await store.acquire("before", "o", ttl_s=60)
    seen: Items = []
    follower = asyncio.create_task(until_the_end(store.follow("before"), seen))
    await store.draft(lease, [DraftPiece("c", 0, "text", "p", "x")])
    while not seen:
        await asyncio.sleep(0.001)
    for offset in range(1, 50):
        await store.draft(lease, [DraftPiece("c", offset, "text", "p", "x")])
    await store.append(
        lease, [CallEnded(call="c"), TurnStarted(turn=ENDS)], after=0, ends_draft="c"
    )
    await follower
    examine(seen, with_all_pieces=50)
    assert len(seen) == 52


async def test_followers_are_told_of_lost_events(store: SessionStore, place: str) -> None:
    await store.create("s", [TurnStarted(turn=str(number)) for number in range(1, 4)])
    lease = await store.acquire("s", "o", ttl_s=60)
    had = await store.append(lease, [TurnStarted(turn="4")], after=3)
    stream = store.follow("s", after=3)
    assert [await anext(stream)] == list(had)
    lose(place, "s", last=2)
    coming = asyncio.ensure_future(anext(stream))
    for number in range(3, 6):
        await store.command(
            "s", [TurnStarted(turn=f"another {number}", at=had[0].at + number)]
        )
    with pytest.raises(HistoryLost, match="Event 4"):
        await coming


@pytest.mark.parametrize("after", [3, 4])
async def test_a_place_behind_a_lost_event_is_told_from_one_behind_an_event_that_is_there(
    store: SessionStore, place: str, after: int
) -> None:
    made = await store.create("s", [TurnStarted(turn=str(n), at=n) for n in range(1, 5)])
    at = made[after - 1].at
    assert await store.read("s", after=after, at=at) == list(made[after:])
    lose(place, "s", last=2)
    with pytest.raises(HistoryLost):
        await store.read("s", after=after, at=at)
    with pytest.raises(HistoryLost):
        await anext(store.follow("s", after=after, at=at))
    await store.command("s", [TurnStarted(turn="another", at=90 + n) for n in (3, 4)])
    with pytest.raises(HistoryLost):
        await store.read("s", after=after, at=at)
    with pytest.raises(HistoryLost):
        await anext(store.follow("s", after=after, at=at))
    lease = await store.acquire("s", "o", ttl_s=60)
    with pytest.raises(HistoryLost):
        await store.append(lease, [TurnStarted(turn="5")], after=5)


def test_what_was_told_of_and_then_lost_is_not_looked_for_again_and_again() -> None:
    for told in (TurnStarted(turn="t", seq=9), DraftPiece("c", 0, "text", "p", "x")):
        follower = Follower("s", 3)
        change = Change("s", 9, (told,))
        assert follower.hear(change) is None
        fresh = follower.hear(change, has_looked=True)
        assert fresh is not None and list(fresh) == []


async def test_following_goes_on_behind_any_place_without_gap(
    store: SessionStore,
) -> None:
    await store.create("s", [TurnStarted(turn="1"), CallStarted(call="c")])
    lease = await store.acquire("s", "o", ttl_s=60)
    await store.draft(
        lease, [DraftPiece("c", number, "text", "p", "x") for number in range(4)]
    )
    await store.command("s", [CancelAsked()])
    await store.draft(lease, [DraftPiece("c", 4, "text", "p", "x")])

    async def take(after: int, offset: int, count: int) -> list[object]:
        stream = store.follow("s", after=after, offset=offset)
        seen = [await anext(stream) for _ in range(count)]
        await stream.aclose()  # type: ignore[attr-defined]
        return [
            each.offset if isinstance(each, DraftPiece) else f"e{each.seq}"
            for each in seen
        ]

    assert await take(0, -1, 8) == ["e1", "e2", 0, 1, 2, 3, "e3", 4]
    assert await take(2, 1, 4) == [2, 3, "e3", 4]
    assert await take(3, 3, 1) == [4]
    assert await take(2, -1, 6) == [0, 1, 2, 3, "e3", 4]
    await store.append(
        lease, [CallEnded(call="c"), CallStarted(call="d")], after=3, ends_draft="c"
    )
    await store.draft(
        lease, [DraftPiece("d", number, "text", "p", "x") for number in range(2)]
    )
    assert await take(3, 4, 4) == ["e4", "e5", 0, 1], "the offset was of another call"


async def test_a_slow_follower_misses_no_event(store: SessionStore) -> None:
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=60)
    stream = store.follow("s")
    await store.append(lease, [TurnStarted(turn="1")], after=0)
    seen: Items = [await anext(stream)]
    for number in range(1_500):
        await store.append(lease, [TurnStarted(turn=str(number))], after=number + 1)
    await store.append(lease, [TurnStarted(turn=ENDS)], after=1_501)
    seen += await until_the_end(stream)
    examine(seen)
    assert len(seen) == 1_502


FOLLOWS = """
import asyncio, sys
from ullage.store.places import store_at
from tests.store.test_following import examine, until_the_end
async def main():
    store = store_at(sys.argv[1])
    stream = store.follow("s")
    seen = [await anext(stream)]
    print("follows", flush=True)
    seen += await until_the_end(stream)
    examine(seen)
    print(seen[-1].seq)
    await store.close()
asyncio.run(main())
"""


async def test_a_follower_elsewhere_sees_what_two_processes_write(
    processes_place: str,
) -> None:
    store = store_at(processes_place)
    await store.create("s", [TurnStarted(turn="1")])
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FOLLOWS, processes_place, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"follows\n"
    own = asyncio.create_task(until_the_end(store.follow("s")))
    lease = await store.acquire("s", "o", ttl_s=60)
    other = store_at(processes_place)
    for number in range(60):
        await store.append(lease, [TurnStarted(turn="x")], after=0)
        await store.draft(lease, [DraftPiece("c", number, "text", "p", "x")])
        await other.command("s", [CancelAsked()])
    await store.append(lease, [TurnStarted(turn=ENDS)], after=0, ends_draft="c")
    examine(await own)
    assert int(await process.stdout.readline()) == 122
    assert await process.wait() == 0
    await store.close()
    await other.close()


async def test_a_watch_notices_what_is_written_here_and_elsewhere_and_nothing_of_other_sessions(
    place: str,
) -> None:
    store, other = store_at(place), store_at(place)
    await store.create("s")
    await store.create("t")
    async with store.watch("s") as watch:
        while await watch.wait(0.2):
            pass
        await store.command("t", [CancelAsked()])
        assert not await watch.wait(0)
        await store.command("s", [CancelAsked()])
        assert await watch.wait(60)
        assert not await watch.wait(0)
        await other.command("t", [CancelAsked()])
        assert not await watch.wait(0.2)
        await other.command("s", [CancelAsked()])
        assert await watch.wait(60)
    await other.close()
    await store.close()


async def test_a_watch_that_was_cancelled_waiting_goes_on(store: SessionStore) -> None:
    await store.create("s")
    async with store.watch("s") as watch:
        while await watch.wait(0.1):
            pass
        waiting = asyncio.create_task(watch.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await store.command("s", [CancelAsked()])
        assert await watch.wait(60)


async def test_following_ends_with_the_session_and_with_the_store(
    store: SessionStore,
) -> None:
    await store.create("s", [TurnStarted(turn="1")])
    await store.create("t", [TurnStarted(turn="1")])
    with pytest.raises(SessionNotFound):
        await anext(store.follow("unheard of"))
    following, other = store.follow("s"), store.follow("t")
    await anext(following)
    await anext(other)
    await store.delete("s")
    with pytest.raises(SessionNotFound):
        await anext(following)
    ends = asyncio.ensure_future(anext(other))
    await asyncio.sleep(0.01)
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await ends


@given(
    st.lists(
        st.sampled_from(["event", "piece", "untold piece", "end", "foreign"]), max_size=40
    ),
    st.integers(0, 2**32),
)
def test_whatever_is_told_or_read_the_order_holds(kinds: list[str], seed: int) -> None:
    """A ledger as it grows, of which a follower is told a part, and looks the rest up when it has to."""
    chance = random.Random(seed)
    follower = Follower("s", 0)
    events: list[Event] = []
    rows: list[DraftRow] = []
    seen: Items = []
    call = 0
    told: list[Change] = []
    ids = 0
    made: dict[str, int] = {}

    def look() -> None:
        seen.extend(
            follower.read(
                FoundEvents(
                    [each for each in events if each.seq > follower.seq],
                    list(rows),
                    True,
                    last_at=0.0,
                )
            )
        )

    def hear_all() -> None:
        for change in told:
            fresh = follower.hear(change)
            while fresh is None:
                look()
                fresh = follower.hear(change, has_looked=True)
            seen.extend(fresh)
        told.clear()

    for kind in kinds:
        name = f"c{call}"
        match kind:
            case "piece" | "untold piece":
                ids += 1
                piece = DraftPiece(name, made.get(name, 0), "text", "p", "x")
                made[name] = piece.offset + 1
                rows.append(DraftRow(ids, len(events), (piece,)))
                if kind == "piece":
                    told.append(Change("s", len(events), (piece,)))
            case "end":
                events.append(CallEnded(call=name, seq=len(events) + 1))
                told.append(Change("s", len(events), (events[-1],)))
                rows.clear()
                call += 1
            case _:
                events.append(TurnStarted(turn="t", seq=len(events) + 1))
                if kind == "event":
                    told.append(Change("s", len(events), (events[-1],)))
        if chance.random() < 0.4:
            hear_all()
        if chance.random() < 0.2:
            look()
    hear_all()
    look()
    examine(seen)
    found = [each.seq for each in seen if not isinstance(each, DraftPiece)]
    assert found == list(range(1, len(events) + 1))
    live = {piece for row in rows for piece in row.pieces}
    assert live <= set(seen), "a piece of the call under way is missing"


def test_pieces_stored_before_a_return_are_not_skipped_for_those_told() -> None:
    """The news of the newest piece may arrive before the first look into the database."""
    pieces = [DraftPiece("c", offset, "text", "p", "x") for offset in range(6)]
    rows = [DraftRow(number, 3, (piece,)) for number, piece in enumerate(pieces, 1)]
    follower = Follower("s", 3, 1)
    newest = Change("s", 3, (pieces[5],))
    assert follower.hear(newest) is None
    assert list(follower.read(FoundEvents([], rows, True, last_at=1.0))) == pieces[2:]
    again = follower.hear(newest, has_looked=True)
    assert again is not None and list(again) == []


def test_pieces_that_are_gone_are_not_waited_for() -> None:
    follower = Follower("s", 3)
    told = Change("s", 3, (DraftPiece("c", 5, "text", "p", "x"),))
    assert follower.hear(told) is None
    fresh = follower.hear(told, has_looked=True)
    assert fresh is not None and list(fresh) == []


def test_rows_behind_lost_ones_are_read_again_when_those_are_back() -> None:
    """After a crash a row may have the number of one that was lost, and that a follower has read."""
    pieces = [DraftPiece("c", offset, "text", "p", "x") for offset in range(6)]
    follower = Follower("s", 3)
    rows = [DraftRow(7, 3, tuple(pieces[:2])), DraftRow(8, 3, tuple(pieces[3:4]))]
    found = FoundEvents([], rows, True, last_at=1.0)
    assert list(follower.read(found)) == pieces[:2], "no piece behind a gap"
    assert follower.row == 8
    assert follower.hear(Change("s", 3, (pieces[4],))) is None
    assert follower.row == 0
    rows = [DraftRow(7, 3, tuple(pieces[:2])), DraftRow(8, 3, tuple(pieces[2:5]))]
    assert list(follower.read(FoundEvents([], rows, True, last_at=1.0))) == pieces[2:5]


async def test_what_a_crash_lost_of_an_answer_leaves_no_hole(
    store: SessionStore, place: str
) -> None:
    """One follower has all pieces, another one the first, and one comes later, when a crash loses all behind the first.

    The driver streams on, and another process queues a message.
    """
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=60)
    (begun,) = await store.append(lease, [CallStarted(call="c")], after=0)
    texts = [TextDelta("p", f"piece {number} ") for number in range(8)]
    had: Items = []
    all_along = asyncio.create_task(until_the_end(store.follow("s"), had))
    slow = store.follow("s", after=1, at=begun.at)
    async with drafting(
        store, lease, "c", after=1, at=begun.at, flush_s=0, flush_bytes=1
    ) as draft:
        draft.put(texts[0])
        await draft.flush()
        seen = [await anext(slow)]
        for text in texts[1:6]:
            draft.put(text)
            await draft.flush()
        while len(had) < 7:
            await asyncio.sleep(0)
        lose(place, "s", last=1, pieces=1)
        await store.command("s", [CancelAsked()])
        for text in texts[6:]:
            draft.put(text)
            await draft.flush()
    stored = await store.read_draft("s")
    assert [piece.text for piece in stored] == [text.text for text in texts]
    late = store.follow("s", after=1, offset=4, at=begun.at)
    rest = [await anext(late) for _ in range(4)]
    assert [item.offset for item in rest if isinstance(item, DraftPiece)] == [5, 6, 7]
    ends: list[Event] = [TurnStarted(turn=ENDS)]
    await store.append(lease, ends, after=0)
    examine(await all_along, with_all_pieces=8)
    seen += await until_the_end(slow)
    examine(seen, after=1, with_all_pieces=8)


async def test_pieces_of_a_call_whose_begin_was_lost_are_refused(
    store: SessionStore, place: str
) -> None:
    """Even where another event has its number: the next call would have its name, and another answer."""
    await store.create("s", [TurnStarted(turn="t")])
    lease = await store.acquire("s", "o", ttl_s=60)
    (begun,) = await store.append(lease, [CallStarted(call="c")], after=1)
    with pytest.raises(HistoryLost):
        async with drafting(store, lease, "c", after=2, at=begun.at, flush_s=0) as draft:
            draft.put(TextDelta("p", "one"))
            await draft.flush()
            lose(place, "s", last=1)
            await store.command("s", [CancelAsked(at=begun.at + 1)])
            draft.put(TextDelta("p", "two"))
    assert await store.read_draft("s") == []


@given(st.integers(1, MOST_READ), st.integers(1, MOST_READ), st.integers(1, 10**11))
def test_the_next_read_loads_what_fits_likely(limit: int, events: int, size: int) -> None:
    following = next_limit(limit, events, size)
    assert 1 <= following <= min(4 * limit, MOST_READ)
    assert following == 1 or following * size <= READ_BYTES * events


async def test_a_follower_loads_few_large_events_at_a_time(store: SessionStore) -> None:
    await store.create("s")
    messages = [said(f"m{number}", "x" * 200_000) for number in range(3 * FIRST_READ)]
    for message in messages:
        await store.command("s", [MessageAdded(message=message)])
    found = []
    async for event in store.follow("s"):
        assert isinstance(event, MessageAdded)
        found.append(event.message.id)
        if len(found) == len(messages):
            break
    assert found == [message.id for message in messages]
    follower = Follower("s", 0)
    read = FoundEvents(await store.read("s", limit=2), [], is_all=False, size=600_100)
    list(follower.read(read))
    assert follower.limit == READ_BYTES * 2 // 600_100


async def test_what_is_told_before_the_first_look_repeats_no_piece() -> None:
    """The follower has the first piece, and news of an event and of the second piece come before it has looked."""
    pieces = [DraftPiece("c", offset, "text", "p", str(offset)) for offset in range(2)]
    event = CancelAsked(session="s", seq=4, id="e4", at=4.0)
    news = Subscription("s")
    news.hear(Change("s", 4, (event,)))
    news.hear(Change("s", 4, (pieces[1],)))

    @asynccontextmanager
    async def watch() -> AsyncIterator[Subscription]:
        yield news

    async def look() -> FoundEvents:
        rows = [DraftRow(1, 3, (pieces[0],)), DraftRow(2, 4, (pieces[1],))]
        found: list[Event] = [event] if follower.seq < event.seq else []
        left = [row for row in rows if row.id > follower.row]
        return FoundEvents(found, left, is_all=True, last_at=float(follower.seq))

    follower = Follower("s", 3, offset=0, at=3.0)
    following = follower.follow(watch(), look)
    assert [await anext(following), await anext(following)] == [event, pieces[1]]


async def test_rows_that_have_the_numbers_of_lost_ones_are_read_before_an_event() -> None:
    def row(number: int, offset: int) -> DraftRow:
        return DraftRow(number, 1, (DraftPiece("c", offset, "text", "p", "x"),))

    async def look() -> FoundEvents:
        if not follower.row:
            return FoundEvents([end], [row(4, 0), row(5, 1), row(6, 2)], True, 1.0)
        return FoundEvents([end], [row(6, 2)], True, 1.0)

    end = TurnStarted(turn=ENDS, seq=2, at=2.0)
    follower = Follower("s", 1, at=1.0)
    list(follower.read(FoundEvents([], [row(5, 0)], True, 1.0)))
    seen = [each async for each in follower._look(look)]
    assert [each.offset for each in seen if isinstance(each, DraftPiece)] == [1, 2]
    assert seen[-1] == end


async def test_pieces_that_were_too_many_to_hold_are_read_before_a_later_event() -> None:
    news = Subscription("s")
    pieces = [
        DraftPiece("c", offset, "text", "p", "x") for offset in range(MOST_HELD + 1)
    ]
    end = TurnStarted(turn=ENDS, seq=2, at=2.0)

    @asynccontextmanager
    async def watch() -> AsyncIterator[Subscription]:
        yield news

    async def look() -> FoundEvents:
        if looks:
            rows = [DraftRow(1, 1, tuple(pieces))]
            return FoundEvents([end], rows, True, float(follower.seq))
        looks.append(1)
        for piece in pieces:
            news.hear(Change("s", 1, (piece,)))
        news.hear(Change("s", 2, (end,)))
        return FoundEvents([], [], True, 1.0)

    looks: list[int] = []
    follower = Follower("s", 1, at=1.0)
    following = follower.follow(watch(), look)
    assert [await anext(following) for _ in range(MOST_HELD + 2)] == [*pieces, end]
