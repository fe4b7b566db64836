"""What you write to keep sessions in a database of your own. docs/store.md has the steps and an example.

A session is a list of rows that only grows, some named values, and a version that counts its writes. Everything else
(leases, the queue, drafts, checkpoints, followers) is made of these by ``ullage.store.adapter``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from ullage.store.policy import POLL_S

ABOUT: Final = "about"
"""The value that ``Store.sessions`` gives with each id."""


class Store(Protocol):
    """A place for sessions in a database of your own. Subclass it, write five methods, and give it to ``Agent``.

    Text and bytes come back exactly as they were written. What ``write`` and ``delete`` answer must hold for all
    processes that use the database: one session never has two writes of the same version. An error of the database
    may be raised as it is; the agent raises it as ``StoreUnavailable``, and a write that failed so is stored whole or
    not at all. Each method is awaited in whatever event loop the agent runs in: ``run_sync`` has one of its own.
    ``ullage.testing.check_store`` tries all of it.
    """

    async def read_values(
        self, session: str, names: Sequence[str]
    ) -> tuple[int, Mapping[str, bytes]]:
        """The version of a session, and those of the named values that it has; ``0`` and none for no such session.

        Args:
            session: The id of a session. It may hold any character.
            names: Names of values; none: only the version is wanted.
        """
        ...

    async def read_rows(self, session: str, *, after: int, limit: int) -> Sequence[bytes]:
        """Rows in the order of writing. None for no such session.

        Args:
            session: The id of a session.
            after: How many of the first rows are left out.
            limit: The most rows to give.
        """
        ...

    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        """Do all of it if the session still has this ``version``, and then it has the next one; otherwise nothing.

        Args:
            session: The id of a session; with version 0 there is none yet, and this begins it.
            version: The version that was read before.
            rows: To add behind the others.
            values: To set in the place of those of the same names; ``None`` removes one.

        Returns:
            Whether it was written. It is stored then, as safely as this database stores.
        """
        ...

    async def delete(self, session: str, version: int) -> bool:
        """Remove a session with all that it has, if it still has this version; gives whether that was done.

        Args:
            session: The id of a session.
            version: The version that was read before.
        """
        ...

    async def sessions(self, *, after: str, limit: int) -> Sequence[tuple[str, bytes]]:
        """Sessions in any fixed order of ids, each with its value ``about``, or with empty bytes.

        Args:
            after: Only those behind this id; ``""`` for the first ones.
            limit: The most to give. Fewer than these: there are no more.
        """
        ...

    async def wait(self, session: str, version: int, timeout_s: float) -> None:
        """Return once the session has another version, or after the time; now and then for nothing.

        It is cancelled often, and then ends. This one looks every 0.1 seconds; a database that can notify makes it
        quicker.

        Args:
            session: The id of a session.
            version: The version that was read before.
            timeout_s: The longest to wait, in seconds.
        """
        end = time.monotonic() + timeout_s
        while (await self.read_values(session, ()))[0] == version:
            if time.monotonic() >= end:
                return
            await asyncio.sleep(min(POLL_S, timeout_s))

    async def close(self) -> None:
        """Let connections go. An agent does not close a store that it was given: whoever made it does."""
        return


METHODS: Final = tuple(name for name in vars(Store) if not name.startswith("_"))
"""The names of a store's methods."""
