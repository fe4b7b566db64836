"""The store in PostgreSQL, for any number of servers and machines. What it guarantees is in docs/scale.md."""

from __future__ import annotations

import asyncio
import copy
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar

from ullage.errors import (
    CommandRefused,
)
from ullage.events import (
    DraftPiece,
    Event,
    Queued,
    QueueEdited,
    QueueLeft,
    RowDamaged,
)
from ullage.messages import Message
from ullage.store.changes import Change, Subscription, Watchers
from ullage.store.drafts import DraftRow, group_of, to_row
from ullage.store.following import Follower, FoundEvents, is_same_event
from ullage.store.leases import busy, lost
from ullage.store.policy import INDEXED_EVENTS, PLACES_AT_ONCE, STANDINGS_KEPT
from ullage.store.records import Records
from ullage.store.refusals import (
    changed_since,
    history_lost,
    id_taken,
    no_id,
    no_session,
    not_kept,
)
from ullage.store.rows import (
    EventRow,
    counting,
    number,
    packed_checkpoint,
    session_row,
    sized_event,
    to_checkpoint,
    to_event,
)
from ullage.store.store import (
    AT_ONCE,
    DEFAULT_TENANT,
    MOST_LISTED,
    Checkpoint,
    Lease,
    QueueKind,
    Receipt,
    Revise,
    SessionCursor,
    SessionRow,
    SharedKey,
    StandingCount,
    StoreObserver,
    TextPlace,
    Unattended,
    handle_of,
)
from ullage.store.waiting import check_message, not_waiting, queued_before
from ullage.turns.standing import AT_REST, StandingState, text_of_standing
from ullage_cluster.postgres import records
from ullage_cluster.postgres.base import OpenDatabase
from ullage_cluster.postgres.codes import Code
from ullage_cluster.postgres.connecting import PgConnection, Record, database_of
from ullage_cluster.postgres.rows import (
    append_values,
    folded_standing,
    query_of,
    queued_values,
    text_values,
)
from ullage_cluster.postgres.tables import (
    SET_TENANT,
    call_of,
    check_version,
    statements,
    version_of,
)

T = TypeVar("T")

RESTS: Final = text_of_standing(AT_REST)


class PostgresStore:
    """Keeps sessions in the database of ``url``, ``postgresql://USER@HOST:PORT/DATABASE``.

    Behind a pooler in transaction mode, the option ``direct=HOST:PORT`` of the URL says where PostgreSQL itself is. An
    empty database gets its tables with the first use.

    ``durable=True`` is on the server's disk, and on its synchronous standbys, when a write returns. ``durable=False``
    survives the end of this process, and is lost when the server crashes or fails over within some 0.6 seconds
    (https://www.postgresql.org/docs/current/wal-async-commit.html). Row numbers do not grow in the order of commits;
    ``seq`` does, in each session. A write whose connection is lost is looked up or written again when the server is
    back within 15 seconds; otherwise it raises ``StoreUnavailable``, and is stored whole or not at all.

    Usable from several event loops and threads. Close it, or what waits is written when the process ends.

    Args:
        url: Where the database is.
        awaits_server: Whether the first use waits for a server that is away or starting, as long as later ones do.
    """

    def __init__(self, url: str, *, awaits_server: bool = False) -> None:
        database = database_of(url)
        self.shown = database.shown
        self._watchers = Watchers()
        self._base = OpenDatabase(database, self._watchers, awaits_server=awaits_server)
        self._standings: dict[str, str] = {}
        """By session, as its row had it at the last write: another process may have changed it."""
        self._tenant = ""
        """The tenant of its transactions; empty: all of them."""

    def observe(self, observer: StoreObserver) -> None:
        self._watchers.observer = observer

    async def check(self) -> None:
        check_version(await self._base.read(version_of), self.shown)
        await self._base.check_writing()

    def limited_to(self, tenant: str) -> PostgresStore:
        """The same connections, in transactions that the database's policies limit to a tenant. Not closed itself."""
        limited = copy.copy(self)
        limited._tenant = tenant
        return limited

    def records(self) -> Records:
        """See ``SessionStore.records``."""
        return self._base.records

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
        values = append_values(session, events, strict=False)
        began = events[0].at if events else 0.0

        async def job(connection: PgConnection) -> Record:
            code = await connection.fetchval(
                call_of("create_session", 5), session, began, origin, tenant, place
            )
            if code == Code.ID_TAKEN:
                raise id_taken(session)
            if keeps_of and not await connection.fetchval(
                call_of("keep_as", 2), session, keeps_of
            ):
                raise no_session(keeps_of)
            stands = folded_standing(RESTS, session, events, 0)
            return await connection.fetchrow(
                call_of("append_events", len(values) + len(stands)), *values, *stands
            )

        created = await self._write(
            session, lambda row: _written(session, events, row), durable=True, job=job
        )
        await self._index(session)
        return created

    async def delete(self, session: str, *, changed_before: float = math.inf) -> None:
        if not await self._delete(session, changed_before):
            await self.about(session)
            raise changed_since(session)

    async def _delete(self, session: str, changed_before: float) -> bool:
        """Whether there was such a session, unchanged since; raises ``SessionBusy``."""
        dead = ""
        while True:
            row = await self._write(
                session,
                lambda row: (row, Change(session) if row["code"] == Code.DONE else None),
                durable=True,
                function="delete_session",
                values=(session, dead, changed_before),
            )
            if row["code"] != Code.BUSY:
                await self._base.read(lambda found: records.forget(found, session))
                return bool(row["code"] == Code.DONE)
            dead = await self._dead_holder(session, row, dead)

    async def sessions(
        self,
        *,
        limit: int = 100,
        before: SessionCursor | None = None,
        tenant: str = "",
        states: Sequence[StandingState] = (),
    ) -> list[SessionRow]:
        after = before or SessionCursor(math.inf, 0)
        rows = await self._rows("list_sessions", *after, limit, tenant, list(states))
        return [session_row(row) for row in rows]

    async def standing_counts(
        self, tenant: str = ""
    ) -> Mapping[StandingState, StandingCount]:
        rows = await self._rows(*counting(tenant))
        return {state: StandingCount(*count) for state, *count in rows}

    async def find(
        self, terms: Sequence[str], *, before: int, tenant: str
    ) -> list[TextPlace]:
        query = query_of(terms, tenant)
        rows = await self._rows("find_texts", query, before, PLACES_AT_ONCE)
        return [TextPlace(*row) for row in rows]

    async def _index(self, session: str) -> None:
        """Put the words of events that are not in the index yet there."""
        after, is_all = 0, False
        while not is_all:
            rows = await self._rows("read_unindexed", session, after, AT_ONCE)
            values = await asyncio.to_thread(text_values, session, rows)
            if values is not None:
                await self._write(
                    session, lambda _: (None, None), function="add_texts", values=values
                )
            is_all = len(rows) < AT_ONCE
            after = 0 if is_all else rows[-1]["seq"]

    async def about(self, session: str) -> SessionRow:
        rows = await self._rows("about_session", session)
        if not rows:
            raise no_session(session)
        return session_row(rows[0])

    async def read(
        self, session: str, *, after: int = 0, limit: int | None = None, at: float = 0.0
    ) -> list[Event]:
        most = MOST_LISTED if limit is None else limit
        rows = await self._joined("read_events", session, after, most)
        if at and not is_same_event(at, rows[0]["last_at"]):
            raise history_lost(session, after)
        return await self._events(session, _present(rows))

    async def read_these(self, session: str, seqs: Sequence[int]) -> list[Event]:
        rows = await self._rows_of("read_these_events", session, list(seqs))
        return await self._events(session, rows)

    # -- the driver --

    async def unattended(
        self, limit: int, places: Sequence[str] | None = None
    ) -> list[Unattended]:
        of = None if places is None else list(places)
        owners = [owner for (owner,) in await self._rows("living_owners")]
        dead = await self._base.dead_among(owners)
        rows = await self._rows("unattended", dead, of, limit)
        return [Unattended(*row) for row in rows]

    async def acquire(self, session: str, owner: str, *, ttl_s: float) -> Lease:
        await self._base.until_seen()
        dead = ""
        while True:
            row = await self._write(
                session,
                lambda row: (row, None),
                function="acquire_session",
                values=(session, owner, ttl_s, dead),
            )
            if row["code"] == Code.NO_SESSION:
                raise no_session(session)
            if row["code"] == Code.DONE:
                self._stands(session, row["standing"])
                if row["owner"]:
                    self._watchers.observer.took_over()
                return Lease(session, owner, row["generation"])
            dead = await self._dead_holder(session, row, dead)

    async def _dead_holder(self, session: str, row: Record, known: str) -> str:
        """The holder of a lease, which is dead. Raises ``SessionBusy`` while it lives, and if it was ``known`` to be
        dead: then it took the lease again."""
        owner: str = row["owner"]
        if owner == known or not await self._base.dead_among([owner]):
            raise busy(session, owner, row["expires"])
        return owner

    async def renew(self, lease: Lease, *, ttl_s: float) -> None:
        await self._write(
            lease.session,
            lambda row: _plain_held(lease, row),
            function="renew_lease",
            values=(*lease, ttl_s),
        )

    async def release(
        self, lease: Lease, *, rests_at: int | None = None, due_at: float | None = None
    ) -> None:
        await self._index(lease.session)
        await self._write(
            lease.session,
            lambda row: (
                None,
                Change(lease.session) if row["code"] == Code.DONE else None,
            ),
            function="release_lease",
            values=(*lease, rests_at, due_at),
        )

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
        values = append_values(
            lease.session,
            events,
            lease=lease,
            after=after,
            exact=exact,
            ends_draft=ends_draft,
        )

        def finish(row: Record) -> tuple[tuple[int, tuple[Event, ...]], Change | None]:
            _check_held(lease, row)
            if row["code"] == Code.AHEAD:
                raise history_lost(lease.session, after)
            if row["code"] == Code.OTHERS_CAME:
                return (row["seq"], ()), None
            written, change = _written(lease.session, events, row)
            return (row["seq"], written), change

        before, written = await self._append(
            lease.session, events, values, finish, base=after, durable=durable
        )
        if before // INDEXED_EVENTS < (before + len(written)) // INDEXED_EVENTS:
            await self._index(lease.session)
        if after >= before:
            return tuple(written)
        others = await self.read(lease.session, after=after, limit=before - after)
        return (*others, *written)

    async def draft(
        self,
        lease: Lease,
        pieces: Sequence[DraftPiece],
        *,
        after: int = 0,
        at: float = 0.0,
    ) -> int:
        group, told = group_of(pieces), tuple(pieces)

        def finish(row: Record) -> tuple[int, Change | None]:
            _check_held(lease, row)
            if row["code"] == Code.AHEAD:
                raise history_lost(lease.session, after)
            is_stored = row["next"] == group.last + 1
            change = Change(lease.session, row["seq"], told) if is_stored else None
            return row["next"], change

        return await self._write(
            lease.session,
            finish,
            function="add_pieces",
            values=(*lease, after, at, *group),
        )

    async def read_draft(self, session: str, *, call: str = "") -> list[DraftPiece]:
        pieces: list[DraftPiece] = []
        for row in await self._rows_of("read_drafts", session):
            found = to_row(session, *row)
            pieces += found.pieces if found is not None else ()
        return [piece for piece in pieces if call in ("", piece.call)]

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        packed = await asyncio.to_thread(packed_checkpoint, checkpoint.data)
        await self._write(
            lease.session,
            lambda row: _plain_held(lease, row),
            function="keep_checkpoint",
            values=(*lease, checkpoint.seq, checkpoint.made_by, *packed),
        )

    async def checkpoint(self, session: str, made_by: str) -> Checkpoint | None:
        rows = await self._rows_of("checkpoint", session, made_by)
        return to_checkpoint(*rows[0]) if rows else None

    # -- everybody --

    async def command(self, session: str, events: Sequence[Event]) -> tuple[Event, ...]:
        values = append_values(session, events)
        return await self._append(
            session, events, values, lambda row: _written(session, events, row)
        )

    async def send(
        self, session: str, message: Message, kind: QueueKind, *, trace: str = ""
    ) -> Receipt:
        check_message(message)

        def values(place: int) -> tuple[Any, ...]:
            return queued_values(session, message, kind, place, trace)

        def again(row: Record) -> tuple[Any, ...] | None:
            return values(row["place"]) if row["code"] == Code.OTHER_PLACE else None

        def finish(row: Record) -> tuple[Receipt, Change | None]:
            if row["code"] == Code.NO_SESSION:
                raise no_session(session)
            is_new = row["code"] == Code.DONE
            receipt = Receipt(message.id, row["place"], row["at"], row["state"], is_new)
            if not is_new:
                return receipt, None
            place = row["place"]
            queued = Queued(message=message, kind=kind, position=place, trace=trace)
            stored = number([queued], session, row["seq"] - 1, row["at"])
            return receipt, Change(session, row["seq"], stored)

        return await self._write(
            session,
            finish,
            durable=True,
            function="send_message",
            values=values(1),
            again=again,
        )

    async def receipt(self, session: str, message_id: str) -> Receipt | None:
        row = await self._queued(session, message_id)
        if row is None:
            return None
        return Receipt(message_id, row["place"], row["at"], row["state"], is_new=False)

    async def pending(self, session: str) -> list[tuple[Receipt, Message, QueueKind]]:
        waiting: list[tuple[Receipt, Message, QueueKind]] = []
        for place, row in enumerate(await self._rows_of("pending", session), 1):
            content = _content(session, row)
            if content is not None:
                receipt = Receipt(row["message"], place, row["at"], is_new=False)
                waiting.append((receipt, content, row["kind"]))
        return waiting

    async def keep(self, session: str, data: bytes) -> str:
        handle = await asyncio.to_thread(handle_of, data)
        await self._write(
            session,
            lambda row: _plain(session, row),
            function="keep_bytes",
            values=(session, handle, data),
        )
        return handle

    async def kept(
        self, session: str, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        first = max(start, 0) + 1
        most = 2**31 - 1 - first if size is None else max(size, 0)

        rows = await self._rows_of("kept_bytes", session, handle, first, most)
        if not rows:
            raise not_kept(session, handle)
        return bytes(rows[0][0])

    async def handles(self, session: str) -> list[str]:
        return [row[0] for row in await self._rows_of("kept_handles", session)]

    async def shared(
        self, kind: str, names: Sequence[str] | None = None
    ) -> Mapping[str, str]:
        return await self._base.read(
            lambda connection: records.read(connection, kind, names)
        )

    async def revise(self, keys: Sequence[SharedKey], change: Revise[T]) -> T:
        return await self._base.read(
            lambda connection: records.revise(connection, keys, change)
        )

    def watch(
        self, session: str, *, has_pieces: bool = False
    ) -> AbstractAsyncContextManager[Subscription]:
        return self._watchers.watching(
            session, lambda: self._base.watch(session), has_pieces=has_pieces
        )

    def follow(
        self, session: str, *, after: int = 0, offset: int = -1, at: float = 0.0
    ) -> AsyncIterator[Event | DraftPiece]:
        follower = Follower(session, after, offset, at)
        news = self.watch(session, has_pieces=True)
        return follower.follow(news, lambda: self._look(session, follower))

    async def _look(self, session: str, follower: Follower) -> FoundEvents:
        limit = follower.limit
        values = (session, follower.seq, follower.row, limit)
        rows = await self._fetched(statements()["look"], values)
        if not rows:
            raise no_session(session)
        stored = [row for row in rows if row["what"] == 1]
        events, size = await self._sized_events(session, stored)
        drafts: list[DraftRow] = []
        for row in rows:
            if row["what"] == 2:
                found = to_row(
                    session,
                    row["number"],
                    row["name"],
                    row["first"],
                    row["seq"],
                    row["body"],
                )
                drafts += [] if found is None else [found]
        is_all = rows[0]["number"] - follower.seq < limit
        return FoundEvents(events, drafts, is_all, rows[0]["last_at"], size)

    async def open(self) -> None:
        """Open the database, if it was not. Raises ``StoreUnavailable``."""
        await self._base.open()

    async def close(self) -> None:
        self._watchers.end()
        await asyncio.to_thread(self._base.close)

    # -- inside --

    def _append(
        self,
        session: str,
        events: Sequence[Event],
        values: tuple[Any, ...],
        finish: Callable[[Any], tuple[T, Change | None]],
        *,
        base: int = 0,
        durable: bool = True,
    ) -> asyncio.Future[T]:
        """Write events with the standing that they lead to, made again where the session's row has another one."""
        before = self._standings.get(session, RESTS)
        stands = folded_standing(before, session, events, base)

        def again(row: Record) -> tuple[Any, ...] | None:
            nonlocal stands
            if row["code"] != Code.OTHER_STANDING:
                return None
            stands = folded_standing(row["standing"], session, events, row["seq"])
            return *values, *stands

        def finished(row: Record) -> tuple[T, Change | None]:
            if row["code"] == Code.DONE:
                self._stands(session, stands.text)
            return finish(row)

        return self._write(
            session,
            finished,
            durable=durable,
            function="append_events",
            values=(*values, *stands),
            again=again,
        )

    def _stands(self, session: str, standing: str) -> None:
        """Remember what the session's row has, so that the next append need not ask."""
        self._standings.pop(session, None)
        self._standings[session] = standing
        if len(self._standings) > STANDINGS_KEPT:
            del self._standings[next(iter(self._standings))]

    def _write(
        self,
        session: str,
        finish: Callable[[Any], tuple[T, Change | None]],
        **how: Any,
    ) -> asyncio.Future[T]:
        """See ``OpenDatabase.write``."""
        return self._base.write(session, finish, tenant=self._tenant, **how)

    async def _fetched(self, statement: str, values: Sequence[object]) -> list[Record]:
        async def work(connection: PgConnection) -> list[Record]:
            rows: list[Record]
            if self._tenant:
                async with connection.transaction():
                    await connection.execute(SET_TENANT, self._tenant)
                    rows = await connection.fetch(statement, *values)
            else:
                rows = await connection.fetch(statement, *values)
            return rows

        return await self._base.read(work)

    async def _rows(self, name: str, *values: object) -> list[Record]:
        return await self._fetched(statements()[name], values)

    async def _rows_of(self, name: str, session: str, *values: object) -> list[Record]:
        """The rows of a session, none where it has none of the kind. Raises ``SessionNotFound``."""
        return _present(await self._joined(name, session, *values))

    async def _joined(self, name: str, session: str, *values: object) -> list[Record]:
        """The same with one row of nulls where the session has none of the kind."""
        rows = await self._rows(name, session, *values)
        if not rows:
            raise no_session(session)
        return rows

    async def _events(self, session: str, rows: Sequence[Record]) -> list[Event]:
        """The events of rows. For a damaged row that ended a message's wait, the queue still has what it said."""
        return (await self._sized_events(session, rows))[0]

    async def _sized_events(
        self, session: str, rows: Sequence[Record]
    ) -> tuple[list[Event], int]:
        """The same, with the bytes of their JSON."""
        events: list[Event] = []
        size = 0
        for row in rows:
            body = EventRow(row["seq"], row["name"], row["at"], row["body"])
            event, event_size = sized_event(session, body)
            size += event_size
            if isinstance(event, RowDamaged):
                for message, how in await self._rows("left_queue_at", session, event.seq):
                    event = QueueLeft(
                        session=session,
                        seq=event.seq,
                        id=event.id,
                        at=event.at,
                        message_id=message,
                        how=how,
                    )
            events.append(event)
        return events, size

    async def _queued(self, session: str, message: str) -> Record | None:
        rows = await self._rows_of("queued", session, message)
        return rows[0] if rows else None


def _present(rows: list[Record]) -> list[Record]:
    return [] if rows[0][0] is None else rows


def _content(session: str, row: Record) -> Message | None:
    """The message that an event of the queue holds; ``None`` where its row is damaged."""
    body = EventRow(row["seq"], row["name"], row["event_at"], row["body"])
    event = to_event(session, body)
    return event.message if isinstance(event, Queued | QueueEdited) else None


def _plain(session: str, row: Record) -> tuple[None, None]:
    """The end of a write that gives nothing and tells nobody. Raises ``SessionNotFound``."""
    _check_session(session, row)
    return None, None


def _plain_held(lease: Lease, row: Record) -> tuple[None, None]:
    """The same, of a driver. Raises ``LeaseLost``."""
    _check_held(lease, row)
    return None, None


def _check_session(session: str, row: Record) -> None:
    if row["code"] == Code.NO_SESSION:
        raise no_session(session)


def _check_held(lease: Lease, row: Record) -> None:
    _check_session(lease.session, row)
    if row["code"] == Code.LEASE_LOST:
        raise lost(lease, row["owner"])


def _written(
    session: str, events: Sequence[Event], row: Record
) -> tuple[tuple[Event, ...], Change | None]:
    """The events with their envelopes, as the database wrote them, and the change to tell of."""
    _check_session(session, row)
    if row["code"] == Code.NOT_WAITING:
        is_again = row["what"] == "queued"
        message = row["message"]
        raise CommandRefused(
            queued_before(message) if is_again else not_waiting(message, row["state"])
        )
    written = number(events, session, row["seq"], row["at"])
    if not written:
        return (), None
    return written, Change(session, written[-1].seq, written)
