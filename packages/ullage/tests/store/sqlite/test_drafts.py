"""The rows of drafts in SQLite: a follower asks for those behind a number, so no number may come again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiers import examples
from ullage.events import CallStarted, DraftPiece
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Lease

SESSIONS = ("a", "b")


class Act(NamedTuple):
    """``draft`` a piece of a call, ``end`` it with an event or ``drop`` it without one; ``delete`` its session."""

    what: str
    session: str
    call: str


acts = st.lists(
    st.builds(
        Act,
        st.sampled_from(("draft", "draft", "end", "drop", "delete")),
        st.sampled_from(SESSIONS),
        st.sampled_from(("c", "d")),
    ),
    max_size=30,
)


class Watcher:
    """A follower that looks after each act, and what it must have seen: each piece once, in the order of storing."""

    def __init__(self) -> None:
        self.row = 0
        self.seen: list[tuple[str, int]] = []
        self.stored: list[tuple[str, int]] = []

    async def look(self, store: SqliteStore, session: str) -> None:
        def work(database: object) -> list[tuple[int, str, int]]:
            rows = database.execute(  # type: ignore[attr-defined]
                "SELECT number, call, first FROM drafts WHERE session = (SELECT key FROM sessions WHERE id = ?) "
                "AND number > ? AND call <> '' ORDER BY id",
                (session, self.row),
            )
            return list(rows)

        for row, call, first in await store._read(work):
            self.row = max(self.row, row)
            self.seen.append((call, first))


async def follow(path: Path, story: list[Act]) -> None:
    store = SqliteStore(path)
    leases: dict[str, Lease] = {}
    watchers: dict[str, Watcher] = {}
    offsets: dict[tuple[str, str], int] = {}
    for act in story:
        session, call = act.session, act.call
        if session not in leases:
            await store.create(session)
            leases[session] = await store.acquire(session, "o", ttl_s=60)
            watchers[session] = Watcher()
        lease, watcher = leases[session], watchers[session]
        if act.what == "draft":
            offset = offsets.get((session, call), 0)
            offsets[session, call] = offset + 1
            await store.draft(lease, [DraftPiece(call, offset, "text", "p", "x")])
            watcher.stored.append((call, offset))
        elif act.what == "delete":
            await store.release(lease)
            await store.delete(session)
            del leases[session]
            offsets = {key: last for key, last in offsets.items() if key[0] != session}
            continue
        else:
            events = [CallStarted(call=call)] if act.what == "end" else []
            after = (await store.about(session)).seq
            await store.append(lease, events, after=after, ends_draft=call)
            offsets.pop((session, call), None)
            assert all(piece.call != call for piece in await store.read_draft(session))
        await watcher.look(store, session)
        assert watcher.seen == watcher.stored
    await store.close()


@settings(max_examples=examples(60), deadline=None)
@given(acts)
def test_each_row_behind_a_number_is_seen_once(story: list[Act]) -> None:
    with TemporaryDirectory() as directory:
        asyncio.run(follow(Path(directory) / "s.db", story))
