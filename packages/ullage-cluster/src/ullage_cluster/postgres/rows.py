"""Events as the values that the functions of ``schema.sql`` take."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ullage.events import Event, Forked, Queued, QueueEdited, QueueLeft
from ullage.messages import Message
from ullage.store.naming import naming
from ullage.store.rows import EventRow, json_of, number, pack, to_event
from ullage.store.store import Lease, QueueKind
from ullage.store.tenants import prefix_of
from ullage.store.words import searched_text, words_of
from ullage.turns.standing import counted, standing_of, stood, text_of_standing
from ullage_cluster.postgres.connecting import Record

_TSVECTOR_BYTES: Final = 2**20 - 1
"""Of all words. ``array_to_tsvector`` does not check it: what is behind is found under other words
(https://www.postgresql.org/docs/current/textsearch-limitations.html)."""

_LARGEST_VOLUME: Final = "999999999999999:"
"""A volume's number with the colon behind it."""

_ANY: Final = "any"
"""A title that a session may have: what replaces it replaces every title."""


def append_values(
    session: str,
    events: Sequence[Event],
    *,
    lease: Lease | None = None,
    after: int = 0,
    exact: bool = False,
    ends_draft: str = "",
    strict: bool = True,
) -> tuple[Any, ...]:
    """What ``append_events`` is called with for these events, but for the standing. Without ``lease`` they are a
    command.

    Raises ``WrongType``.
    """
    # Numbers and times are filled in by the database: neither is in a row's body.
    bodies = [pack(json_of(event)) for event in events]
    title, model = naming("", "", events)
    new_title, _ = naming(_ANY, "", events)
    origin = ""
    for event in events:
        if isinstance(event, Forked):
            origin = event.origin
    owner, generation = (None, None) if lease is None else lease[1:]
    return (
        session,
        owner,
        generation,
        after,
        exact,
        [event.id or None for event in events],
        [event.at for event in events],
        bodies,
        text_of(title),
        "" if new_title == _ANY else text_of(new_title),
        text_of(model),
        origin,
        ends_draft,
        *_queue_values(events),
        strict,
    )


def queued_values(
    session: str, message: Message, kind: QueueKind, place: int, trace: str
) -> tuple[Any, ...]:
    """What ``send_message`` is called with, for a message that would have this place."""
    queued = Queued(message=message, kind=kind, position=place, trace=trace)
    title, _ = naming("", "", [queued])
    body = pack(json_of(queued))
    return (session, message.id, kind, place, body, text_of(title))


class FoldedStanding(NamedTuple):
    """The last four values of ``append_events``: see there. ``text`` is what the row has once it is written."""

    before: str
    base: int
    changed: str | None
    state: str | None

    @property
    def text(self) -> str:
        return self.before if self.changed is None else self.changed


def folded_standing(
    before: str, session: str, events: Sequence[Event], base: int
) -> FoldedStanding:
    """The standing of a session after these events behind its event ``base``, made of the text that its row has.

    Events without a time have this machine's: the database's is not known before.
    """
    old = standing_of(before)
    new = stood(old, number(events, session, base, round(time.time(), 3)))
    changed = None if new == old else text_of_standing(new)
    return FoldedStanding(before, base, changed, counted(new))


class _QueueRow(NamedTuple):
    """What an event does to the queue; nothing without ``what``."""

    what: str | None = None
    message: str | None = None
    kind: str | None = None


def _queue_row(event: Event) -> _QueueRow:
    match event:
        case Queued(message=message, kind=kind):
            return _QueueRow("queued", message.id, kind)
        case QueueEdited(message=message):
            return _QueueRow("edited", message.id)
        case QueueLeft(message_id=message_id, how=how):
            return _QueueRow(how, message_id)
        case _:
            return _QueueRow()


def _queue_values(events: Sequence[Event]) -> tuple[Any, Any, Any]:
    rows = [_queue_row(event) for event in events]
    if not any(row.what for row in rows):
        return None, None, None
    whats, messages, kinds = (list(column) for column in zip(*rows, strict=True))
    return whats, messages, kinds


def text_values(session: str, rows: Sequence[Record]) -> tuple[Any, ...] | None:
    """What ``add_texts`` is called with for rows of ``read_unindexed``; ``None`` where no event has words."""
    found: dict[int, str] = {}
    prefix = prefix_of(rows[0]["tenant"]) if rows else ""
    for row in rows:
        stored = EventRow(row["seq"], row["name"], row["at"], row["body"])
        words = words_of(searched_text(to_event(session, stored)))
        if words:
            found[row["seq"]] = " ".join(_indexable(words, len(prefix)))
    if not found:
        return None
    return session, rows[0]["upto"], prefix, list(found), list(found.values())


def _indexable(words: Iterable[str], before: int) -> Iterator[str]:
    """The first of these words, as many as a ``tsvector`` has room for, with ``before`` characters before each."""
    left = _TSVECTOR_BYTES
    for word in words:
        left -= before + len(_LARGEST_VOLUME) + len(word.encode())
        if left < 0:
            return
        yield word


def query_of(terms: Sequence[str], tenant: str) -> str:
    """What ``find_texts`` makes a ``tsquery`` of. No character of a word has a meaning there."""
    prefix = f"{prefix_of(tenant)}~"
    return " & ".join(
        f"'{prefix}{term[:-1]}':*" if term.endswith("*") else f"'{prefix}{term}'"
        for term in terms
    )


def text_of(text: str) -> str:
    """Text as PostgreSQL takes it: it holds no NUL (https://www.postgresql.org/docs/current/datatype-character.html)."""
    return text.replace("\0", "")
