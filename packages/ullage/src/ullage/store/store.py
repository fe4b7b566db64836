"""What a store promises, whichever database is under it.

A session's ledger is the only truth. Who drives a session holds its **lease** and appends to the ledger; everybody else
gives **commands** (a message for the queue, a cancel, an approval), which are events too and need no lease. A driver
learns of them from what ``append`` gives back, or by waiting.

Every write is one transaction: all of it is stored or nothing. Cancelling a write that has begun does not undo it: it
ends, and the ledger tells whether it happened. All methods raise ``StoreUnavailable`` when the database can't do it.

Three promises that callers rely on:

- Writes of one store to one session happen in the order they were asked for, also those whose caller was cancelled.
- A write without ``durable`` survives the process, not a power cut or a failover to another database server. Lost
  events are noticed by their times: another event of the same number has another one.
- Order is ``seq`` within a session. Nothing orders the events of different sessions.

A session is **due** from ``send`` or ``command`` until a driver releases it at rest. ``unattended`` lists the sessions
that are due and have no living driver, so that any process that serves this store can drive them.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from typing import Final, Generic, Literal, NamedTuple, Protocol, TypeVar

from ullage.events import DraftPiece, Event
from ullage.messages import Message
from ullage.store.records import Records
from ullage.turns.standing import (
    AT_REST,
    Standing,
    StandingState,
    standing_now,
)

T = TypeVar("T")

QueueKind = Literal["steer", "follow_up"]
QueueState = Literal["pending", "delivered", "returned", "withdrawn"]

DEFAULT_TENANT: Final = "default"
"""Whose the sessions are that were begun for no tenant, or before there were tenants."""


class Lease(NamedTuple):
    """The right to drive a session for a time. ``generation`` grows with each owner."""

    session: str
    owner: str
    generation: int


class Receipt(NamedTuple):
    """What ``send`` answers: the message is stored. ``position`` is its place in the queue, from 1; 0 once it left.

    ``at`` is seconds since 1970. ``is_new`` is False when a message of that id had been sent before.
    """

    id: str
    position: int
    at: float
    state: QueueState = "pending"
    is_new: bool = True


class Checkpoint(NamedTuple):
    """A fold of the events up to ``seq``, stored to save time. ``made_by`` names the code that can read it."""

    seq: int
    made_by: str
    data: bytes


class SessionCursor(NamedTuple):
    """A place in the list of sessions: behind the one with this ``listed`` and this ``key``."""

    listed: float
    key: int


class SessionRow(NamedTuple):
    """One session in a list. Times are seconds since 1970; ``held_by`` is its driver while it has one.

    ``drivers`` is how often a driver has taken it up in this store: 0 for what was only begun or brought here. ``key``
    is the store's own number of the session. ``due_at`` is from when on it has to be driven, if it has to be.
    ``tenant`` is whose it is. ``place`` is where its files are: only drivers of that place drive it, and those without
    a place one without a place. ``listed`` orders lists: the time of
    its last message, command or rest, and while it is driven at most a minute before ``changed``.
    """

    id: str
    title: str
    model: str
    created: float
    changed: float
    seq: int
    held_by: str = ""
    origin: str = ""
    drivers: int = 0
    key: int = 0
    due_at: float | None = None
    tenant: str = DEFAULT_TENANT
    place: str = ""
    standing: Standing = AT_REST
    listed: float = 0.0

    def standing_now(self, now: float) -> Standing:
        """How it stands, with what only the lease and the clock tell.

        Args:
            now: Seconds since 1970.
        """
        return standing_now(
            self.standing,
            now=now,
            held_by=self.held_by,
            due_at=self.due_at,
            place=self.place,
            changed=self.changed,
        )

    @property
    def cursor(self) -> SessionCursor:
        """The place in a list behind this session."""
        return SessionCursor(self.listed, self.key)

    @property
    def is_due(self) -> bool:
        """Whether it has to be driven, now or at a later time."""
        return self.due_at is not None


class Unattended(NamedTuple):
    """A session that is due and has no living driver. ``seq`` is its last event, ``place`` where its files are.

    ``waits_s`` is for how many seconds any process of its place could have driven it.
    """

    id: str
    seq: int
    waits_s: float = 0.0
    place: str = ""


class StandingCount(NamedTuple):
    """How many sessions are in a state, and since when, in seconds since 1970, one has been left in it the longest.

    A message or a command to a session begins that again.
    """

    sessions: float
    since: float


class TextPlace(NamedTuple):
    """An event in which words are. ``number`` grows in the order in which events went into the index."""

    number: int
    session: str
    seq: int


class WaitingPlace(NamedTuple):
    """How many sessions of a place are due and have no living driver, and for how long the first of them."""

    place: str
    sessions: int
    oldest_s: float


class SharedKey(NamedTuple):
    """The name of a value that all processes of a store share."""

    kind: str
    name: str


QUOTA: Final = "quota"
"""The kind of value that has a tenant's quota and what was used of it; its name is the tenant's."""

SPENT_BY: Final = "spent_by"
"""The kind of value that has what a session had spent when that was last counted. It is deleted with the session."""


class Revision(NamedTuple, Generic[T]):
    """The values to store in the place of those that were read, an empty one for none, and what to give the caller."""

    values: tuple[str, ...]
    result: T


Revise = Callable[[tuple[str, ...], float], Revision[T]]
"""Makes new values of those that are stored, an empty text for each that is not, and the database's time in seconds
since 1970. Pure: it runs in another thread, and again where the connection was lost."""


PLACE_PATTERN: Final = r"^[a-z0-9][a-z0-9_-]{0,39}$(?!\n)"
"""The name of a place, as a regular expression: it is part of a channel's and of a Restate object's name."""

MOST_LISTED: Final = 2**62
"""A limit that limits nothing."""

AT_ONCE: Final = 200
"""Events, lines or rows that one who goes through all of them holds in memory at a time."""

ASKED_S: Final = 1.0
"""Seconds for which a session that became due is left to the process that stored its message or command."""


def handle_of(data: bytes) -> str:
    """The handle of kept bytes: the first 128 bits of their SHA-256."""
    return sha256(data).hexdigest()[:32]


class StoreObserver:
    """Is told what happens inside a store, from the store's own threads. Must not wait. This one ignores it."""

    def waited(self, seconds: float) -> None:
        """A write waited so long for its transaction to begin."""

    def took_over(self) -> None:
        """A session was acquired here whose last driver had not released it."""

    def lost_notifications(self, count: int) -> None:
        """So many sessions had changed without a notification, as a look at them found."""


class Watch(Protocol):
    """Tells that something happened in a session, in this process or another."""

    async def wait(self, timeout_s: float | None = None) -> bool:
        """True once an event was stored since the last call; False after ``timeout_s``. Safe to cancel.

        It may also be True for nothing. Raises ``StoreUnavailable`` once the store was closed.
        """
        ...

    def newest(self) -> int | None:
        """The last event there was by all news since the last call; ``None`` where only the ledger can say.

        Who has that event need not read the ledger: the news was of its own writes.
        """
        ...


class SessionStore(Protocol):
    """See the head of the file."""

    def observe(self, observer: StoreObserver) -> None:
        """Tell ``observer`` what happens from here on."""
        ...

    async def check(self) -> None:
        """Raises ``StoreUnavailable`` unless the database answers and has the tables of this version of Ullage.

        Where the last write could not be stored, it has to take a small one too; otherwise nothing is written.
        """
        ...

    def limited_to(self, tenant: str) -> SessionStore:
        """The same database, of which it shows one tenant's sessions alone if it can tell tenants apart itself.

        That is a second lock: ``ullage.store.tenants`` has the check.
        """
        ...

    def records(self) -> Records | None:
        """Where a service keeps its tokens, grants and what was learnt, for all machines of this store.

        ``None`` for a store of one machine: there they are files in the user's data directory, which all programs of
        that machine share.
        """
        ...

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
        """Begin a session with these events, numbered from 1. Raises ``CommandRefused`` when the id is taken.

        They may be another session's: what they say of the queue is taken as it stands. What the session ``keeps_of``
        keeps is kept by both, and either may be deleted without the other.
        """
        ...

    async def delete(self, session: str, *, changed_before: float = math.inf) -> None:
        """Remove a session and all that is its alone. Raises ``SessionNotFound``, ``SessionBusy``.

        With ``changed_before``, in seconds since 1970, raises ``CommandRefused`` for one that changed at that time or
        later.
        """
        ...

    async def sessions(
        self,
        *,
        limit: int = 100,
        before: SessionCursor | None = None,
        tenant: str = "",
        states: Sequence[StandingState] = (),
    ) -> list[SessionRow]:
        """Sessions, the one ``listed`` last first; ``before`` is the ``cursor`` of an earlier list's last row.

        Those of ``tenant``; of all tenants without one. With ``states``, of ``COUNTED``, only those in one of them.

        Pages hold each session once; a session that changes meanwhile moves to the front.
        """
        ...

    async def find(
        self, terms: Sequence[str], *, before: int, tenant: str
    ) -> list[TextPlace]:
        """At most ``PLACES_AT_ONCE`` events of a tenant's sessions that have all of these words, what was indexed last
        first.

        An event is in the index from the creation of its session on, or from the next release, or from the event on
        whose number is the next multiple of ``INDEXED_EVENTS``. ``ullage.store.searching`` reads what was found.

        Args:
            terms: Words and beginnings of words, as ``Wanted.terms`` has them.
            before: The ``number`` of the last place of an earlier answer, or ``MOST_LISTED``.
            tenant: Whose sessions.
        """
        ...

    async def standing_counts(
        self, tenant: str = ""
    ) -> Mapping[StandingState, StandingCount]:
        """The sessions of ``tenant``, or of all without one, in each state of ``COUNTED`` that some are in."""
        ...

    async def about(self, session: str) -> SessionRow:
        """One session's row. Raises ``SessionNotFound``."""
        ...

    async def read(
        self, session: str, *, after: int = 0, limit: int | None = None, at: float = 0.0
    ) -> list[Event]:
        """Events with a higher ``seq`` than ``after``, in order. Raises ``SessionNotFound``.

        With ``at``, the time of the event ``after`` as it was read before: raises ``HistoryLost`` if the ledger has no
        such event, or one of another time.
        """
        ...

    async def read_these(self, session: str, seqs: Sequence[int]) -> list[Event]:
        """The events of these numbers, in order. Raises ``SessionNotFound``."""
        ...

    # -- the driver --

    async def unattended(
        self, limit: int, places: Sequence[str] | None = None
    ) -> list[Unattended]:
        """At most ``limit`` sessions that are due and have no living driver, the longest without one first.

        Those of ``places``; of all places without them.

        A driver lives until its lease ends, or until the store knows that its process has ended. A session is left to
        the process that made it due for ``ASKED_S``; later it is listed as soon as it has no driver. The own sessions
        of tool calls are never listed: their ids contain a slash, and the session that made the call drives them.
        """
        ...

    async def acquire(self, session: str, owner: str, *, ttl_s: float) -> Lease:
        """Become the session's driver. Raises ``SessionBusy`` while another one lives, ``SessionNotFound``."""
        ...

    async def renew(self, lease: Lease, *, ttl_s: float) -> None:
        """Hold on to it. Raises ``LeaseLost``."""
        ...

    async def release(
        self, lease: Lease, *, rests_at: int | None = None, due_at: float | None = None
    ) -> None:
        """Let it go. Quiet when it was lost before.

        ``rests_at`` is the last event up to which the driver found no more to do. If it is the session's last one, the
        session is due no longer, or again from ``due_at`` on, in seconds since 1970; a message or a command makes it
        due before.
        """
        ...

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
        """Write the driver's events; gives every event behind ``after`` in order: commands of others, then these.

        ``seq``, ``id``, ``session`` and ``at`` are filled in where they are empty. With ``exact`` nothing is written
        when others' commands lie in between, and only those are given. ``durable`` is on the disk when this returns,
        whatever happens to the machine; otherwise it survives the process. ``ends_draft`` removes that call's draft in
        the same transaction. Raises ``LeaseLost``; ``CommandRefused`` when one of them ends or edits the wait of a
        message that no longer waits, or queues one a second time; ``HistoryLost`` for an ``after`` beyond the ledger.
        """
        ...

    async def draft(
        self,
        lease: Lease,
        pieces: Sequence[DraftPiece],
        *,
        after: int = 0,
        at: float = 0.0,
    ) -> int:
        """Store pieces of one call's answer, and give the offset of the piece that the call lacks next.

        Where these begin at another offset nothing is stored: the database lost those before in a crash, or has these
        already. So a call's stored pieces never have a gap. ``after`` and ``at`` are the event behind which the call
        began and its time: raises ``HistoryLost`` for the first pieces where the ledger has no such event, else
        ``LeaseLost``, and ``LedgerError`` for pieces that are not of one call in a row.
        """
        ...

    async def read_draft(self, session: str, *, call: str = "") -> list[DraftPiece]:
        """Pieces of the answers under way in order, those of one call where it is given."""
        ...

    async def save_checkpoint(self, lease: Lease, checkpoint: Checkpoint) -> None:
        """Keep this one in the place of the last. Raises ``LeaseLost``."""
        ...

    async def checkpoint(self, session: str, made_by: str) -> Checkpoint | None:
        """The last one, when ``made_by`` made it."""
        ...

    # -- everybody --

    async def command(self, session: str, events: Sequence[Event]) -> tuple[Event, ...]:
        """Append events that need no lease (``CancelAsked``, ``ApprovalGiven``, ``SettingsChanged`` …), durably.

        The session is due then, also without an event.
        """
        ...

    async def send(
        self, session: str, message: Message, kind: QueueKind, *, trace: str = ""
    ) -> Receipt:
        """Put a message into the queue, durably, as a ``Queued`` event. The same id again changes nothing.

        ``trace`` is the ``traceparent`` of the request that sent it.
        """
        ...

    async def receipt(self, session: str, message_id: str) -> Receipt | None:
        """What ``send`` would answer for a message that was sent before; ``None`` for another id.

        Raises ``SessionNotFound``.
        """
        ...

    async def pending(self, session: str) -> list[tuple[Receipt, Message, QueueKind]]:
        """What waits, in the order of delivery."""
        ...

    async def keep(self, session: str, data: bytes) -> str:
        """Store bytes beside the ledger (a long result, an image); gives their handle, the same for the same bytes."""
        ...

    async def kept(
        self, session: str, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        """Bytes stored by ``keep``. Raises ``SessionNotFound`` for a handle that this session does not have."""
        ...

    async def handles(self, session: str) -> list[str]:
        """The handles of all that the session keeps. Raises ``SessionNotFound``."""
        ...

    async def shared(
        self, kind: str, names: Sequence[str] | None = None
    ) -> Mapping[str, str]:
        """The values of a kind that all processes of the store share, by their names: of these, or of all."""
        ...

    async def revise(self, keys: Sequence[SharedKey], change: Revise[T]) -> T:
        """Store what ``change`` makes of these values, and give its result. Nobody else changes them meanwhile."""
        ...

    def watch(self, session: str) -> AbstractAsyncContextManager[Watch]:
        """Notice what others and oneself store in this session from here on, but for pieces that stream."""
        ...

    def follow(
        self, session: str, *, after: int = 0, offset: int = -1, at: float = 0.0
    ) -> AsyncIterator[Event | DraftPiece]:
        """All events behind ``after`` and every draft piece, as they are stored, without end, gap or duplicate.

        A call's pieces come before the event that ends it. ``offset`` is the last piece had of the call that was under
        way at ``after``. Pieces of a call that has ended since are left out, its events hold them whole. Raises
        ``SessionNotFound``, also when the session is deleted, and ``StoreUnavailable`` when the store is closed;
        ``HistoryLost``, now or later, when the ledger lacks the event ``after`` or one that was given: ``at`` is the
        time of ``after``, if that is known.
        """
        ...

    async def close(self) -> None:
        """Finish what is being written, and let the database go."""
        ...


async def every_session(
    store: SessionStore, *, tenant: str = "", before: SessionCursor | None = None
) -> AsyncIterator[SessionRow]:
    """All sessions in the order of ``SessionStore.sessions``, ``AT_ONCE`` in memory at a time."""
    while rows := await store.sessions(limit=AT_ONCE, before=before, tenant=tenant):
        for row in rows:
            yield row
        before = rows[-1].cursor


async def waiting_places(store: SessionStore) -> list[WaitingPlace]:
    """The places of all sessions that ``unattended`` would list without a limit."""
    waits: dict[str, list[float]] = {}
    for each in await store.unattended(MOST_LISTED):
        waits.setdefault(each.place, []).append(each.waits_s)
    return [
        WaitingPlace(place, len(found), max(found))
        for place, found in sorted(waits.items())
    ]
