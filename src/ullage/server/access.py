"""What handlers are given: the host, the session that the path names, and ids that may begin something."""

from __future__ import annotations

from typing import TypeAlias, cast

from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.exceptions import ClientException
from litestar.params import FromPath

from ullage.runtime.hosting import Host
from ullage.runtime.session import Session
from ullage.server.guard import unescaped

TheHost: TypeAlias = NamedDependency[Host]
"""The host behind this server, as handlers ask for it."""

Opened: TypeAlias = NamedDependency[Session]
"""The session that the path names, open, as handlers ask for it."""

RESERVED = frozenset({"import"})
"""Paths below ``/v1/sessions`` that are no session."""


def host_of(state: State) -> Host:
    """The host behind this server."""
    return cast(Host, state.host)


async def session_named(host: TheHost, session: FromPath[str]) -> Session:
    """The session that the path names, open. Raises ``SessionNotFound``, ``StoreUnavailable``."""
    return await host.session(unescaped(session))


def usable_id(said: str | None) -> str:
    """An id that can stand in a path; empty where none was given. Raises ``ClientException``."""
    if said is None:
        return ""
    if said in RESERVED or said.endswith("\n"):
        raise ClientException(f"{said!r} can't be the id of a session: choose another one.")
    return said
