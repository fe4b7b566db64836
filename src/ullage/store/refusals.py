"""Errors that every store raises in the same words."""

from __future__ import annotations

from ullage.errors import (
    CommandRefused,
    HistoryLost,
    LedgerError,
    SessionNotFound,
    StoreUnavailable,
)


def no_session(session: str) -> SessionNotFound:
    """There is no such session."""
    return SessionNotFound(
        f"There is no session {session!r} in this store. Check its id, or list the store's sessions."
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


def history_lost(session: str, seq: int) -> HistoryLost:
    """The ledger has no such event, or another one, than was read before."""
    return HistoryLost(
        f"Event {seq} of the session {session!r} is not in the ledger any more: the database lost its last events in a "
        "crash or a failover. Read the session again."
    )


def no_such_event(session: str, last: int, through: int) -> LedgerError:
    """A copy was to reach to an event that the ledger does not have."""
    return LedgerError(
        f"Session {session!r} has no event {through}: its last one is {last}."
    )


def offset_used(session: str) -> LedgerError:
    """Pieces of an answer were to be stored a second time."""
    return LedgerError(
        f"Pieces of these offsets were stored before in the session {session!r}."
    )


def not_kept(session: str, handle: str) -> SessionNotFound:
    """The session keeps no bytes of this handle."""
    return SessionNotFound(f"Session {session!r} keeps nothing under {handle!r}.")


def damaged_message(message: str) -> CommandRefused:
    """The content of a waiting message can't be read."""
    return CommandRefused(
        f"The message {message!r} is damaged and can't be given back. Send it again."
    )


def was_closed(place: str) -> StoreUnavailable:
    """A closed store was used."""
    return StoreUnavailable(
        f"The store of {place} was closed. Open another one to continue."
    )


def changed_since(session: str) -> CommandRefused:
    """The session is not the one that was looked at before."""
    return CommandRefused(
        f"The session {session!r} has changed meanwhile, so it was not deleted. Look at it again."
    )
