"""Connections to PostgreSQL: the two addresses that a URL names, and how long anything may take."""

from __future__ import annotations

import asyncio
import socket
import ssl
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from ullage.errors import StoreUnavailable
from ullage.store.leases import this_process
from ullage.store.urls import shown_place

PgConnection: TypeAlias = Any
PgPool: TypeAlias = Any
Record: TypeAlias = Any

CONNECT_S: Final = 10.0
"""How long a connection may take to be made."""

COMMAND_S: Final = 30.0
"""How long one statement may take: three times the wait for a row's lock that ``begin_writes`` allows."""


_FILES: Final = ("sslrootcert", "sslcert", "sslkey")
"""Options of a URL that name files of TLS."""


class PostgresAddress(NamedTuple):
    """Where a database is. ``pool`` is the address of all statements, ``direct`` of the one connection that listens.

    They differ behind a pooler in transaction mode (``is_pooled``), which passes on no notifications and keeps no
    prepared statements. ``shown`` is the place without its password.
    """

    pool: str
    direct: str
    shown: str

    @property
    def is_pooled(self) -> bool:
        return self.pool != self.direct


def database_of(url: str) -> PostgresAddress:
    """The database of a URL. Its option ``direct=HOST:PORT`` names PostgreSQL itself behind a pooler.

    Raises ``StoreUnavailable`` for a URL that can't be read.
    """
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError as problem:
        raise StoreUnavailable(
            f"The URL {shown_place(url)} can't be read ({problem}). Write it as postgresql://USER@HOST:PORT/DATABASE."
        ) from problem
    for name in _FILES:
        path = dict(options).get(name, "")
        if path and not Path(path).expanduser().is_file():
            raise StoreUnavailable(
                f"The URL {shown_place(url)} names {path} as {name}, and there is no such file. Correct the URL."
            )
    direct_host = dict(options).get("direct", "")
    options = [(name, value) for name, value in options if name != "direct"]
    pool = urlunsplit(parts._replace(query=urlencode(options)))
    if not direct_host:
        return PostgresAddress(pool, pool, shown_place(url))
    user, at, _ = parts.netloc.rpartition("@")
    others = [(name, value) for name, value in options if name not in ("host", "port")]
    direct = parts._replace(netloc=f"{user}{at}{direct_host}", query=urlencode(others))
    return PostgresAddress(pool, urlunsplit(direct), shown_place(url))


async def connect(database: PostgresAddress, *, direct: bool = False) -> PgConnection:
    """A new connection. Raises what asyncpg and the system raise: ``failures.failure`` says it in our words."""
    place = database.direct if direct else database.pool
    async with asyncio.timeout(CONNECT_S):
        return await asyncpg.connect(place, **_options(database, direct=direct))


def _options(database: PostgresAddress, *, direct: bool = False) -> dict[str, Any]:
    is_pooled = database.is_pooled and not direct
    return {
        "timeout": CONNECT_S,
        "command_timeout": COMMAND_S,
        "statement_cache_size": 0 if is_pooled else 100,
        "server_settings": {"application_name": "ullage"},
    }


async def pool_of(database: PostgresAddress, size: int) -> PgPool:
    """A pool of at most ``size`` connections, each made when it is first needed, and again after it was lost."""

    async def keep(_connection: PgConnection) -> None:
        """Nothing: no work leaves a setting or a listener behind, and asyncpg's reset is a round trip for each use."""

    return await asyncpg.create_pool(
        database.pool,
        min_size=0,
        max_size=size,
        init=None if database.is_pooled else show_living,
        reset=keep,
        **_options(database),
    )


_SHOW_LIVING: Final = """
SET tcp_keepalives_idle = 3;
SET tcp_keepalives_interval = 1;
SET tcp_keepalives_count = 3;
SET tcp_user_timeout = '6s';
SELECT pg_advisory_lock_shared({})
"""
"""So PostgreSQL ends a connection after 6 seconds without an answer, as of a machine without power. On a Unix socket
the settings change nothing (https://www.postgresql.org/docs/current/runtime-config-connection.html)."""


async def show_living(connection: PgConnection) -> None:
    """Hold this process's lock on a connection, until it ends or its machine is silent: see ``news``."""
    await connection.execute(_SHOW_LIVING.format(lock_of(this_process())))


def lock_of(process: str) -> int:
    """The number of a process's advisory lock."""
    return int.from_bytes(sha256(process.encode()).digest()[:8], "big", signed=True)


_GONE: Any = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,  # a connection that was ended just before a statement
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
)


def is_lost(connection: PgConnection | None, problem: BaseException) -> bool:
    """Whether a statement failed because its connection, or the server behind it, is gone."""
    if connection is None or connection.is_closed():
        return True
    return isinstance(problem, _GONE)


def is_away(problem: BaseException) -> bool:
    """Whether a connection could not be made since its server is away or starting, so that it may come."""
    is_wrong = isinstance(problem, socket.gaierror | ssl.SSLError)
    return isinstance(problem, _GONE) and not is_wrong and not lacks_tls(problem)


def lacks_tls(problem: BaseException) -> bool:
    """Whether the server offers no TLS, and the URL asks for it."""
    return isinstance(problem, ConnectionError) and "rejected SSL" in str(problem)


def drop(connection: PgConnection | None) -> None:
    """Close a connection at once, whatever state it is in."""
    if connection is not None and not connection.is_closed():
        connection.terminate()


Failures: Any = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""All that a use of a connection raises when the database can't do it."""
