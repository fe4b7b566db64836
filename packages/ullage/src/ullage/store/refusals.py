"""Errors that every store raises in the same words."""

from __future__ import annotations

from typing import Final

from ullage.display.text import quoted
from ullage.errors import (
    CommandRefused,
    HistoryLost,
    SessionNotFound,
    StoreUnavailable,
)


def no_session(session: str) -> SessionNotFound:
    """There is no such session."""
    return SessionNotFound(
        f"There is no session {session!r} in this store. Check its id, or list the store's sessions."
    )


def other_version(shown: str, version: int, known: int) -> StoreUnavailable:
    """The tables of a store are of another version than the one that is ``known``."""
    return StoreUnavailable(
        f"The store {shown} was written by another Ullage: its tables are of version {version}, and this one reads "
        f"version {known}. Export its sessions as JSON lines with that one (`ullage admin store prune STORE "
        "--unchanged 1m --archive DIRECTORY`), and bring them into a new store with `ullage admin store restore`. "
        "Nothing was changed."
    )


def id_taken(session: str) -> CommandRefused:
    """A session of this id exists."""
    return CommandRefused(
        f"There is a session {session!r} already. Choose another id, or continue that session."
    )


def no_id() -> CommandRefused:
    """A session was to begin without an id."""
    return CommandRefused(
        "A session needs an id that is not empty. Choose one, or leave it out."
    )


LONGEST_ID: Final = 1_000
"""Bytes of an id. PostgreSQL indexes 2,704 (https://www.postgresql.org/docs/current/btree.html), a NOTIFY has 7,999."""


def check_new_id(session: str) -> None:
    """Raise ``CommandRefused`` for an id under which a new session could not be driven and used everywhere.

    Restate's workers drive none with characters that can't be printed, and a path of the HTTP API has no ``.`` and
    ``..`` as segments. Sessions that exist with such ids can still be read and copied.
    """
    if not session.strip():
        raise no_id()
    reason = ""
    if not session.isprintable():
        reason = "it has characters that can't be printed"
    elif len(session.encode()) > LONGEST_ID:
        reason = f"it has more than {LONGEST_ID:,} bytes"
    elif not {"", ".", ".."}.isdisjoint(session.split("/")):
        reason = "no part of it may be empty, . or .."
    if reason:
        raise CommandRefused(
            f"{quoted(session)} can't be the id of a session: {reason}. Choose another id."
        )


def history_lost(session: str, seq: int) -> HistoryLost:
    """The ledger has no such event, or another one, than was read before."""
    return HistoryLost(
        f"Event {seq} of the session {session!r} is not in the ledger any more: the database lost its last events in a "
        "crash or a failover. Read the session again."
    )


def not_kept(session: str, handle: str) -> SessionNotFound:
    """The session keeps no bytes of this handle."""
    return SessionNotFound(f"Session {session!r} keeps nothing under {handle!r}.")


def was_closed(place: str) -> StoreUnavailable:
    """A closed store was used."""
    return StoreUnavailable(
        f"The store of {place} was closed. Open another one to continue."
    )


def was_forked(place: str) -> StoreUnavailable:
    """A store was used in another process than the one that opened it."""
    return StoreUnavailable(
        f"The store of {place} was opened before this process was forked from another one, which has its threads. Open "
        "another one in each process."
    )


def changed_since(session: str) -> CommandRefused:
    """The session is not the one that was looked at before."""
    return CommandRefused(
        f"The session {session!r} has changed meanwhile, so it was not deleted. Look at it again."
    )
