"""All that the runtime needs of a store, made of the few methods of ``Store``.

Each change of a session reads its version and its value ``about``, and writes what follows with that version. Where
another process has written meanwhile, it is made again from what that left. So a driver that has lost its lease finds
that out before it could write, and no clock has to be trusted for that: the clocks of machines that share a store only
say from when on a session may be taken over.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Literal, ParamSpec, TypeVar
from weakref import WeakValueDictionary

import msgspec

from ullage.encoding import decode_event
from ullage.errors import CommandRefused, StoreUnavailable, UllageError
from ullage.events import DraftPiece, Event, Forked, Queued, QueueEdited, QueueLeft
from ullage.messages import Message
from ullage.store.changes import Change, Subscription, Watchers
from ullage.store.drafts import DraftRow, group_of, to_row
from ullage.store.following import Follower, FoundEvents, is_same_event
from ullage.store.leases import busy, is_dead, lost
from ullage.store.naming import naming
from ullage.store.policy import (
    CANCEL_S,
    LISTED_S,
    LOOK_S,
    OWN_KEPT,
    PLACES_AT_ONCE,
    POLL_S,
    REFUSED_S,
    RETRY_S,
    SCANNED_EVENTS,
)
from ullage.store.protocol import ABOUT, Store
from ullage.store.refusals import (
    changed_since,
    history_lost,
    id_taken,
    no_id,
    no_session,
    not_kept,
    was_closed,
)
from ullage.store.rows import DAMAGES, EventRow, damaged, json_of, number, to_json
from ullage.store.store import (
    ASKED_S,
    AT_ONCE,
    DEFAULT_TENANT,
    SPENT_BY,
    Checkpoint,
    Lease,
    QueueKind,
    Receipt,
    Revise,
    Revision,
    SessionCursor,
    SessionRow,
    SessionStore,
    SharedKey,
    StandingCount,
    StoreObserver,
    TextPlace,
    Unattended,
    handle_of,
)
from ullage.store.waiting import Queueing, check_message, not_waiting, queued_before
from ullage.store.words import has_terms, searched_text
from ullage.tasks import start, to_completion
from ullage.turns.standing import AT_REST, Standing, StandingState, counted, stood

log = logging.getLogger("ullage.store")

P = ParamSpec("P")
T = TypeVar("T")

SHARED: Final = "/shared"
"""What all processes share, as the values of a session that no user can begin: no part of an id is empty."""

CHECKPOINT: Final = "checkpoint"


class _Draft(msgspec.Struct):
    """The rows of a call's pieces: how many there are, and the offset of the next piece."""

    rows: int = 0
    next: int = 0


class _About(msgspec.Struct, omit_defaults=True):
    """What a session is beside its events: ``SessionRow``, its lease, its waiting messages, names of its values."""

    key: int = 0
    title: str = ""
    model: str = ""
    created: float = 0.0
    changed: float = 0.0
    listed: float = 0.0
    seq: int = 0
    origin: str = ""
    tenant: str = DEFAULT_TENANT
    place: str = ""
    owner: str = ""
    generation: int = 0
    expires: float = 0.0
    due_at: float | None = None
    waiting: dict[str, Queueing] = msgspec.field(default_factory=dict)
    drafts: dict[str, _Draft] = msgspec.field(default_factory=dict)
    draft_rows: int = 0
    kept: list[str] = msgspec.field(default_factory=list)
    standing: Standing = AT_REST

    def row(self, session: str) -> SessionRow:
        """The session as it is listed now."""
        return SessionRow(
            session,
            self.title,
            self.model,
            self.created,
            self.changed,
            self.seq,
            held_by=self.owner if self.expires > time.time() else "",
            origin=self.origin,
            drivers=self.generation,
            key=self.key,
            due_at=self.due_at,
            tenant=self.tenant,
            place=self.place,
            standing=self.standing,
            listed=self.listed,
        )

    @property
    def holder(self) -> str:
        """The living driver; empty without one."""
        lives = self.expires > time.time() and not is_dead(self.owner)
        return self.owner if lives else ""

    def place_of(self, message: Queueing) -> int:
        """The place in the queue of a message that waits, or will; 1 is delivered next."""
        mine = _order(message)
        return 1 + sum(_order(each) < mine for each in self.waiting.values())


def _order(message: Queueing) -> tuple[bool, int]:
    return message.kind == "follow_up", message.queued


@dataclass(slots=True)
class _Writing:
    """A change of a session that is being made."""

    session: str
    about: _About
    now: float
    rows: list[bytes] = field(default_factory=list)
    values: dict[str, bytes | None] = field(default_factory=dict)
    stored: tuple[Event | DraftPiece, ...] = ()
    tells: bool = False


_of_about: Final = msgspec.json.Decoder(_About)
_of_queueing: Final = msgspec.json.Decoder(Queueing)
_of_shared: Final = msgspec.json.Decoder(dict[str, str])
_of_draft: Final = msgspec.msgpack.Decoder(tuple[int, str, int, int, bytes])
_of_checkpoint: Final = msgspec.msgpack.Decoder(Checkpoint)

_Work = Callable[[_Writing], Awaitable[T]]


class StoreAdapter:
    """A ``SessionStore`` over a ``Store``, which it closes if it ``owns`` it."""

    def __init__(self, store: Store, *, owns: bool = False) -> None:
        self._store = store
        self._owns = owns
        self._watchers = Watchers()
        self._own: deque[tuple[str, int]] = deque(maxlen=OWN_KEPT)
        """The last writes of this adapter, by session and version."""
        self._locks: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()
        """So that the writes to a session are made in the order in which they were asked for."""
        self._is_closed = False

    def __repr__(self) -> str:
        return repr(self._store)

    def observe(self, observer: StoreObserver) -> None:
        self._watchers.observer = observer

    async def check(self) -> None:
        self._check_open()
        await self._ask(self._store.sessions, after="", limit=1)

    def limited_to(self, tenant: str) -> SessionStore:
        """The store itself: it knows nothing of tenants."""
        return self

    def records(self) -> None:
        """None: what is learnt stays in the user's data directory."""

    # -- sessions --

    async def create(
        self,
        session: str,
        events: Sequence[Event] = (),
        *,
        origin: str = "",
        tenant: str = DEFAULT_TENANT,
        place: str = "",
        keeps_of: str = "",
    ) -> tuple[Event, ...]:
        if not session:
            raise no_id()

        async def work(writing: _Writing) -> tuple[Event, ...]:
            about = writing.about
            about.origin, about.tenant, about.place = origin, tenant, place
            about.key = round(time.time() * 1_000_000)
            about.changed = about.listed = round(writing.now, 3)
            began = events[0].at if events else 0.0
            about.created = round(began, 3) or about.changed
            if keeps_of:
                about.kept = (await self._about(keeps_of)).kept
                names = [f"kept/{handle}" for handle in about.kept]
                _, kept = await self._ask(self._store.read_values, keeps_of, names)
                writing.values |= kept
            return await self._add(writing, events, strict=False)

        return await self._write(session, work, to="new")

    async def delete(self, session: str, *, changed_before: float = math.inf) -> None:
        is_deleted = False
        while not is_deleted:
            version, about = await self._read(session)
            if about.holder:
                raise busy(session, about.owner, about.expires)
            if about.changed >= changed_before:
                raise changed_since(session)
            is_deleted = await self._ask(self._store.delete, session, version)
        self._watchers.tell([Change(session)])
        if session in await self.shared(SPENT_BY):
            key = SharedKey(SPENT_BY, session)
            await self.revise([key], lambda before, now: Revision(("",), None))

    async def sessions(
        self,
        *,
        limit: int = 100,
        before: SessionCursor | None = None,
        tenant: str = "",
        states: Sequence[StandingState] = (),
    ) -> list[SessionRow]:
        cursor = before or SessionCursor(math.inf, 0)
        rows = [about.row(session) for session, about in await self._all()]
        wanted = (
            row
            for row in rows
            if row.cursor < cursor
            and tenant in ("", row.tenant)
            and (not states or row.standing.state in states)
        )
        return sorted(wanted, key=lambda row: row.cursor, reverse=True)[:limit]

    async def find(
        self, terms: Sequence[str], *, before: int, tenant: str
    ) -> list[TextPlace]:
        """Without an index: the last such event of each of the ``AT_ONCE`` sessions that changed last.

        Of a session, the last ``SCANNED_EVENTS`` are read.
        """
        found: list[TextPlace] = []
        for row in await self.sessions(limit=AT_ONCE, tenant=tenant):
            after = max(row.seq - SCANNED_EVENTS, 0)
            events = await self.read(row.id, after=after) if row.key < before else []
            for event in reversed(events):
                if has_terms(searched_text(event), terms):
                    found.append(TextPlace(row.key, row.id, event.seq))
                    break
        return sorted(found, reverse=True)[:PLACES_AT_ONCE]

    async def standing_counts(
        self, tenant: str = ""
    ) -> Mapping[StandingState, StandingCount]:
        counts: dict[StandingState, StandingCount] = {}
        for _, about in await self._all():
            state = counted(about.standing)
            if state and tenant in ("", about.tenant):
                count, since = counts.get(state, (0, math.inf))
                counts[state] = StandingCount(count + 1, min(since, about.listed))
        return counts

    async def about(self, session: str) -> SessionRow:
        return (await self._about(session)).row(session)

    async def read(
        self, session: str, *, after: int = 0, limit: int | None = None, at: float = 0.0
    ) -> list[Event]:
        about = await self._about(session)
        if at:
            await self._check_event(session, about, after, at)
        return await self._events(session, about, after, limit)

    async def read_these(self, session: str, seqs: Sequence[int]) -> list[Event]:
        about = await self._about(session)
        found: list[Event] = []
        for _, run in groupby(
            enumerate(sorted(set(seqs))), lambda each: each[1] - each[0]
        ):
            numbers = [seq for _, seq in run]
            found += await self._events(session, about, numbers[0] - 1, len(numbers))
        return found

    # -- the driver --

    async def unattended(
        self, limit: int, places: Sequence[str] | None = None
    ) -> list[Unattended]:
        now = time.time()
        found: list[tuple[float, int, Unattended]] = []
        for session, about in await self._all():
            is_wanted = places is None or about.place in places
            is_due = about.due_at is not None and about.due_at <= now
            if is_wanted and is_due and "/" not in session and not about.holder:
                since = max(about.due_at or 0.0, about.expires)
                waits_s = max(0.0, now - since)
                each = Unattended(session, about.seq, waits_s, about.place)
                found.append((since, about.key, each))
        return [each for _, _, each in sorted(found)[:limit]]

    async def acquire(self, session: str, owner: str, *, ttl_s: float) -> Lease:
        async def work(writing: _Writing) -> tuple[Lease, str]:
            about = writing.about
            before = about.owner
            if about.holder not in ("", owner):
                raise busy(session, about.owner, about.expires)
            about.owner, about.expires = owner, writing.now + ttl_s
            about.generation += 1
            return Lease(session, owner, about.generation), before

        lease, before = await self._write(session, work)
        if before not in ("", owner):
            self._watchers.observer.took_over()
        return lease

    async def renew(self, lease: Lease, *, ttl_s: float) -> None:
        async def work(writing: _Writing) -> None:
            _check_held(writing, lease)
            writing.about.expires = writing.now + ttl_s

        await self._write(lease.session, work)

    async def release(
        self, lease: Lease, *, rests_at: int | None = None, due_at: float | None = None
    ) -> None:
        async def work(writing: _Writing) -> None:
            about = writing.about
            if (about.owner, about.generation) != lease[1:]:
                return
            if about.seq == rests_at:
                about.due_at = due_at
            about.owner, about.expires = "", 0.0
            about.listed = max(about.listed, about.changed)
            writing.tells = True

        await self._write(lease.session, work, to="any")

    async def append(
        self,
        lease: Lease,
        events: Sequence[Event],
        *,
        after: int,
        exact: bool = False,
        durable: bool = False,
        ends_draft: str = "",
    ) -> tuple[Event, ...]:
        async def work(writing: _Writing) -> tuple[Event, ...]:
            _check_held(writing, lease)
            about = writing.about
            if after > about.seq:
                raise history_lost(lease.session, after)
            others = tuple(await self._events(lease.session, about, after))
            if exact and others:
                return others
            draft = about.drafts.pop(ends_draft, _Draft())
            for place in range(draft.rows):
                writing.values[f"draft/{place}/{ends_draft}"] = None
            return others + await self._add(writing, events, lists=False)

        return await self._write(lease.session, work)

    async def draft(
        self,
        lease: Lease,
        pieces: Sequence[DraftPiece],
        *,
        after: int = 0,
        at: float = 0.0,
    ) -> int:
        call, first, last, body = group_of(pieces)

        async def work(writing: _Writing) -> int:
            _check_held(writing, lease)
            about = writing.about
            draft = about.drafts.get(call, _Draft())
            if at and not draft.rows:
                await self._check_event(lease.session, about, after, at)
            if first == draft.next:
                about.draft_rows += 1
                stored = (about.draft_rows, call, first, about.seq, body)
                name = f"draft/{draft.rows}/{call}"
                writing.values[name] = msgspec.msgpack.encode(stored)
                draft = _Draft(draft.rows + 1, last + 1)
                about.drafts[call] = draft
                writing.stored = tuple(pieces)
            return draft.next

        return await self._write(lease.session, work)

    async def read_draft(self, session: str, *, call: str = "") -> list[DraftPiece]:
        rows = await self._drafts(session, await self._about(session))
        return [piece for row in rows for piece in row.pieces if call in ("", piece.call)]

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        async def work(writing: _Writing) -> None:
            _check_held(writing, lease)
            writing.values[CHECKPOINT] = msgspec.msgpack.encode(checkpoint)

        await self._write(lease.session, work)

    async def checkpoint(self, session: str, made_by: str) -> Checkpoint | None:
        await self._about(session)
        body = await self._value(session, CHECKPOINT)
        try:
            found = _of_checkpoint.decode(body)
        except msgspec.MsgspecError:
            return None  # it only saves time
        return found if found.made_by == made_by else None

    # -- everybody --

    async def command(self, session: str, events: Sequence[Event]) -> tuple[Event, ...]:
        async def work(writing: _Writing) -> tuple[Event, ...]:
            _make_due(writing)
            return await self._add(writing, events)

        return await self._write(session, work)

    async def send(
        self, session: str, message: Message, kind: QueueKind, *, trace: str = ""
    ) -> Receipt:
        check_message(message)

        async def work(writing: _Writing) -> Receipt:
            about, at = writing.about, round(writing.now, 3)
            sent = await self._receipt(session, about, message.id)
            if sent is not None:
                return sent
            seq = about.seq + 1
            place = about.place_of(Queueing(kind, "pending", seq, seq, at))
            queued = Queued(
                message=message, kind=kind, position=place, trace=trace, at=at
            )
            _make_due(writing)
            await self._add(writing, [queued])
            return Receipt(message.id, place, at)

        return await self._write(session, work)

    async def receipt(self, session: str, message_id: str) -> Receipt | None:
        return await self._receipt(session, await self._about(session), message_id)

    async def pending(self, session: str) -> list[tuple[Receipt, Message, QueueKind]]:
        about = await self._about(session)
        waiting = sorted(about.waiting.items(), key=lambda each: _order(each[1]))
        found = []
        for place, (name, queueing) in enumerate(waiting, 1):
            for event in await self._events(session, about, queueing.seq - 1, 1):
                if isinstance(event, Queued | QueueEdited):
                    receipt = Receipt(name, place, queueing.at, is_new=False)
                    found.append((receipt, event.message, queueing.kind))
        return found

    async def keep(self, session: str, data: bytes) -> str:
        handle = handle_of(data)

        async def work(writing: _Writing) -> None:
            if handle not in writing.about.kept:
                writing.about.kept.append(handle)
                writing.values[f"kept/{handle}"] = data

        await self._write(session, work)
        return handle

    async def kept(
        self, session: str, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        if handle not in await self.handles(session):
            raise not_kept(session, handle)
        data = await self._value(session, f"kept/{handle}")
        first = max(start, 0)
        return data[first : len(data) if size is None else first + max(size, 0)]

    async def handles(self, session: str) -> list[str]:
        return (await self._about(session)).kept

    async def shared(
        self, kind: str, names: Sequence[str] | None = None
    ) -> Mapping[str, str]:
        found = _of_shared.decode(await self._value(SHARED, kind) or b"{}")
        return {
            name: value for name, value in found.items() if names is None or name in names
        }

    async def revise(self, keys: Sequence[SharedKey], change: Revise[T]) -> T:
        async def work(writing: _Writing) -> T:
            before = {kind: dict(await self.shared(kind)) for kind, _ in keys}
            old = tuple(before[kind].get(name, "") for kind, name in keys)
            revised = change(old, writing.now)
            for (kind, name), value in zip(keys, revised.values, strict=True):
                before[kind].pop(name, None)
                if value:
                    before[kind][name] = value
            if revised.values != old:
                for kind, values in before.items():
                    writing.values[kind] = msgspec.json.encode(values)
            return revised.result

        return await self._write(SHARED, work, to="any")

    def follow(
        self, session: str, *, after: int = 0, offset: int = -1, at: float = 0.0
    ) -> AsyncIterator[Event | DraftPiece]:
        follower = Follower(session, after, offset, at)

        async def look() -> FoundEvents:
            about = await self._about(session)
            after = follower.seq
            rows = await self._rows(session, about, after, follower.limit)
            is_all = len(rows) < follower.limit
            drafts = await self._drafts(session, about) if is_all else []
            return FoundEvents(
                _decoded_events(session, after, rows),
                drafts,
                is_all,
                await self._time_of(session, about, after),
                sum(map(len, rows)),
            )

        return follower.follow(self.watch(session, has_pieces=True), look)

    async def close(self) -> None:
        self._is_closed = True
        self._watchers.end()
        if self._owns:
            await self._store.close()

    # -- inside --

    async def _ask(
        self, ask: Callable[P, Awaitable[T]], *values: P.args, **options: P.kwargs
    ) -> T:
        """What the store gives. Raises ``StoreUnavailable`` for whatever error it raises."""
        try:
            return await ask(*values, **options)
        except Exception as problem:
            if isinstance(problem, UllageError):
                raise
            raise StoreUnavailable(
                f"The store {self._store!r} failed ({type(problem).__name__}: {problem}). Check its database."
            ) from problem

    async def _read(self, session: str) -> tuple[int, _About]:
        """The version of a session, and what it is. Raises ``SessionNotFound``."""
        self._check_open()
        version, values = await self._ask(self._store.read_values, session, [ABOUT])
        if not version or session == SHARED:
            raise no_session(session)
        return version, self._decoded(session, values.get(ABOUT, b""))

    async def _about(self, session: str) -> _About:
        return (await self._read(session))[1]

    def _decoded(self, session: str, about: bytes) -> _About:
        try:
            return _of_about.decode(about)
        except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
            raise StoreUnavailable(
                f"The value {ABOUT!r} of the session {session!r} in {self._store!r} is damaged: {problem}. Restore it, "
                "or delete that session there."
            ) from problem

    async def _value(self, session: str, name: str) -> bytes:
        self._check_open()
        _, values = await self._ask(self._store.read_values, session, [name])
        return values.get(name, b"")

    async def _all(self) -> list[tuple[str, _About]]:
        self._check_open()
        found: list[tuple[str, _About]] = []
        after, is_more = "", True
        while is_more:
            page = await self._ask(self._store.sessions, after=after, limit=AT_ONCE)
            found += [
                (session, self._decoded(session, about))
                for session, about in page
                if session != SHARED
            ]
            is_more = len(page) == AT_ONCE
            after = page[-1][0] if page else ""
        return found

    async def _rows(
        self, session: str, about: _About, after: int, limit: int | None = None
    ) -> list[bytes]:
        """The JSON of events behind ``after``: of those that there were when ``about`` was read."""
        most = about.seq - after if limit is None else min(limit, about.seq - after)
        if most <= 0 or after < 0:
            return []
        rows = await self._ask(self._store.read_rows, session, after=after, limit=most)
        if len(rows) != most:
            await self._about(session)  # it may have been deleted meanwhile
            raise StoreUnavailable(
                f"{self._store!r} gave {len(rows)} of the {most} rows behind row {after} of the session {session!r}: "
                "it has lost some. Run ullage.testing.check_store on it."
            )
        return list(rows)

    async def _events(
        self, session: str, about: _About, after: int, limit: int | None = None
    ) -> list[Event]:
        rows = await self._rows(session, about, after, limit)
        return _decoded_events(session, after, rows)

    async def _time_of(self, session: str, about: _About, seq: int) -> float | None:
        found = await self._events(session, about, seq - 1, 1)
        return found[0].at if found else None

    async def _check_event(
        self, session: str, about: _About, seq: int, at: float
    ) -> None:
        """Raises ``HistoryLost`` for an event that the ledger does not have."""
        if not is_same_event(at, await self._time_of(session, about, seq)):
            raise history_lost(session, seq)

    async def _drafts(self, session: str, about: _About) -> list[DraftRow]:
        names = [
            f"draft/{number}/{call}"
            for call, draft in about.drafts.items()
            for number in range(draft.rows)
        ]
        if not names:
            return []
        _, values = await self._ask(self._store.read_values, session, names)
        rows = (to_row(session, *_of_draft.decode(each)) for each in values.values())
        return sorted(row for row in rows if row)

    async def _queueing(
        self, session: str, about: _About, message: str
    ) -> Queueing | None:
        waiting = about.waiting.get(message)
        if waiting is None and (body := await self._value(session, f"message/{message}")):
            return _of_queueing.decode(body)
        return waiting

    async def _receipt(self, session: str, about: _About, message: str) -> Receipt | None:
        found = await self._queueing(session, about, message)
        if found is None:
            return None
        place = about.place_of(found) if found.state == "pending" else 0
        return Receipt(message, place, found.at, found.state, is_new=False)

    async def _write(
        self, session: str, work: _Work[T], *, to: Literal["old", "new", "any"] = "old"
    ) -> T:
        """What ``work`` gives when what it made of the session is stored. Raises what it raises."""
        self._check_open()
        return await to_completion(self._perform(session, work, to))

    async def _perform(
        self, session: str, work: _Work[T], to: Literal["old", "new", "any"]
    ) -> T:
        asked = time.monotonic()
        place = (session, asyncio.get_running_loop())
        async with self._locks.setdefault(place, asyncio.Lock()):
            self._watchers.observer.waited(time.monotonic() - asked)
            while time.monotonic() - asked < REFUSED_S:
                version, values = await self._ask(
                    self._store.read_values, session, [ABOUT]
                )
                if version and to == "new":
                    raise id_taken(session)
                if not version and to == "old":
                    raise no_session(session)
                before = values.get(ABOUT, b"{}")
                about = self._decoded(session, before)
                writing = _Writing(session, about, time.time())
                result = await work(writing)
                after = msgspec.json.encode(about)
                if after != before:
                    writing.values[ABOUT] = after
                if not writing.values or await self._ask(
                    self._store.write, session, version, writing.rows, writing.values
                ):
                    self._tell(writing, version + 1)
                    return result
                await asyncio.sleep(random.uniform(0.0, 0.01))  # noqa: S311
        raise StoreUnavailable(
            f"{self._store!r} has refused to write to the session {session!r} for {REFUSED_S:.0f} s: its version was "
            "always another one by then. Look for a program that writes to it without end; for a store of your own, "
            "run ullage.testing.check_store."
        )

    def _tell(self, writing: _Writing, version: int) -> None:
        if self._watchers.is_listening() and writing.values:
            self._own.append((writing.session, version))
            if writing.stored or writing.tells:
                change = Change(writing.session, writing.about.seq, writing.stored)
                self._watchers.tell([change])

    async def _add(
        self,
        writing: _Writing,
        events: Sequence[Event],
        *,
        strict: bool = True,
        lists: bool = True,
    ) -> tuple[Event, ...]:
        """The events with their envelopes, to be stored. Without ``strict`` the queue takes them as they stand."""
        if not events:
            return ()
        about, now = writing.about, round(writing.now, 3)
        numbered = number(events, writing.session, about.seq, now)
        for event in numbered:
            await self._follow_queue(writing, event, strict=strict)
            if isinstance(event, Forked):
                about.origin = event.origin
            row = EventRow(event.seq, event.id, event.at, json_of(event))
            writing.rows.append(to_json(writing.session, row))
        about.title, about.model = naming(about.title, about.model, numbered)
        about.seq, about.changed = numbered[-1].seq, now
        before, about.standing = about.standing, stood(about.standing, numbered)
        lists |= counted(before) != counted(about.standing)
        if lists or now - about.listed > LISTED_S:
            about.listed = now
        writing.stored = numbered
        return numbered

    async def _follow_queue(
        self, writing: _Writing, event: Event, *, strict: bool
    ) -> None:
        match event:
            case Queued() | QueueEdited():
                name = event.message.id
            case QueueLeft():
                name = event.message_id
            case _:
                return
        waiting, stored = writing.about.waiting, f"message/{name}"
        found = await self._queueing(writing.session, writing.about, name)
        if found is None and (left := writing.values.get(stored)):
            found = _of_queueing.decode(left)
        match event:
            case Queued(kind=kind, seq=seq) if found is None:
                waiting[name] = Queueing(kind, "pending", seq, seq, event.at)
            case QueueEdited() if name in waiting:
                waiting[name] = waiting[name]._replace(seq=event.seq)
            case QueueLeft(how=how) if name in waiting:
                left_queue = waiting.pop(name)._replace(state=how)
                writing.values[stored] = msgspec.json.encode(left_queue)
            case Queued() if strict:
                raise CommandRefused(queued_before(name))
            case _ if strict:
                raise CommandRefused(not_waiting(name, found.state if found else ""))

    @asynccontextmanager
    async def watch(
        self, session: str, *, has_pieces: bool = False
    ) -> AsyncIterator[Subscription]:
        version = 0

        async def begin() -> None:
            nonlocal version
            version, _ = await self._read(session)

        watching = self._watchers.watching(session, begin, has_pieces=has_pieces)
        async with watching as subscription:
            looking = start(self._look(session, version), name="store: looking")
            try:
                yield subscription
            finally:
                while (
                    not looking.done()
                ):  # redis-py swallows a cancel while it subscribes
                    looking.cancel()
                    await asyncio.wait([looking], timeout=CANCEL_S)

    async def _look(self, session: str, version: int) -> None:
        """Tell of what others write to a session, until cancelled."""
        while True:
            try:
                await self._ask(self._store.wait, session, version, LOOK_S)
                now, _ = await self._ask(self._store.read_values, session, ())
            except StoreUnavailable as problem:
                log.warning("%s", problem)
                await asyncio.sleep(RETRY_S)
                continue
            passed = range(version + 1, now + 1)
            is_own = now > version and all(
                (session, each) in self._own for each in passed
            )
            if now == version:
                await asyncio.sleep(POLL_S)  # a store may return for nothing at once
            elif not is_own:
                self._watchers.tell([Change(session)])
            version = now

    def _check_open(self) -> None:
        if self._is_closed:
            raise was_closed(repr(self._store))


def _decoded_events(session: str, after: int, rows: Sequence[bytes]) -> list[Event]:
    return [_event(session, seq, row) for seq, row in enumerate(rows, after + 1)]


def _event(session: str, seq: int, row: bytes) -> Event:
    """The event of a row. Raises ``StoreUnavailable`` for one that belongs elsewhere."""
    try:
        event = decode_event(row)
    except DAMAGES as problem:
        return damaged(session, EventRow(seq, None, 0.0, row), problem)
    if (event.session, event.seq) != (session, seq):
        raise StoreUnavailable(
            f"In the place of row {seq} of the session {session!r} the store has row {event.seq} of {event.session!r}: "
            "it loses rows or mixes them up. Run ullage.testing.check_store on it."
        )
    return event


def _check_held(writing: _Writing, lease: Lease) -> None:
    about = writing.about
    if (about.owner, about.generation) != (lease.owner, lease.generation):
        raise lost(lease, about.owner)


def _make_due(writing: _Writing) -> None:
    asked = writing.now + ASKED_S
    due = writing.about.due_at
    writing.about.due_at = asked if due is None else min(due, asked)
