"""Calls for a driver between the servers and workers of one database: one NOTIFY for each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from ullage_cluster.postgres.connecting import (
    Failures,
    PgConnection,
    connect,
    database_of,
    drop,
)
from ullage_cluster.postgres.failures import failure
from ullage_cluster.postgres.news import LARGEST_BYTES

CALLS: Final = "ullage_calls"
"""The channel of sessions without a place, and the beginning of a place's. The payload is the id of a session."""


class PostgresCalls:
    """Calls through the database of a URL, on one connection of its own that is made with the first use.

    Belongs to one event loop. Raises ``StoreUnavailable`` for a URL that can't be read.
    """

    def __init__(self, url: str) -> None:
        self._database = database_of(url)
        self._connection: PgConnection | None = None
        self._lock = asyncio.Lock()

    async def call(self, session: str, place: str = "") -> None:
        """Ask for a driver of this session of this place. Raises ``StoreUnavailable``."""
        if len(session.encode()) > LARGEST_BYTES:
            return  # the sweep finds it
        try:
            async with self._lock:
                connection = await self._connected()
                await connection.execute(
                    "SELECT pg_notify($1, $2)", _channel_of(place), session
                )
        except Failures as problem:
            raise failure(problem, self._database.shown) from problem

    async def heard(self, place: str = "") -> AsyncIterator[str]:
        """The sessions of this place that others call for. Raises ``StoreUnavailable`` when the connection ends."""
        calls: asyncio.Queue[str | None] = asyncio.Queue()
        try:
            async with self._lock:
                connection = await self._connected()
                connection.add_termination_listener(lambda _: calls.put_nowait(None))
                await connection.add_listener(
                    _channel_of(place), lambda *call: calls.put_nowait(call[3])
                )
            while (session := await calls.get()) is not None:
                yield session
            raise ConnectionError("the connection ended")
        except Failures as problem:
            raise failure(problem, self._database.shown) from problem

    async def check(self) -> None:
        """Raises ``StoreUnavailable`` unless a call would be sent now."""
        try:
            async with self._lock:
                connection = await self._connected()
                await connection.execute("SELECT 1")
        except Failures as problem:
            raise failure(problem, self._database.shown) from problem

    async def close(self) -> None:
        """Let the connection go; the next use makes another one."""
        connection, self._connection = self._connection, None
        drop(connection)

    async def _connected(self) -> PgConnection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._database, direct=True)
        return self._connection


def _channel_of(place: str) -> str:
    return f"{CALLS}_{place}" if place else CALLS
