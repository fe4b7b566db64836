"""Tells of the waits of a model call: for its place within a rate limit, and before it is sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from ullage.events import CallRetried
from ullage.wire.call import Retrying
from ullage.wire.endpoints import Endpoint

SHOWN_WAIT_S: Final = 1.0
"""Seconds from which on a wait for the rate limit is told of."""


class CallWaits:
    """What ``wire.call.stream`` takes as ``on_retry``, ``on_wait`` and ``sleep`` for one call of a session.

    ``write`` stores events of the session.
    """

    def __init__(
        self,
        write: Callable[[Sequence[CallRetried]], Awaitable[Any]],
        call: str,
        endpoint: Endpoint,
    ) -> None:
        self._write = write
        self._call = call
        self._provider = endpoint.provider or endpoint.base_url
        self._waits: list[CallRetried] = []

    def note_retry(self, retrying: Retrying) -> None:
        """The call failed and will be sent again."""
        self._note(retrying.attempt, retrying.wait_s, str(retrying.error))

    def note_wait(self, seconds: float) -> None:
        """The call waits for its place within the rate limit."""
        if seconds >= SHOWN_WAIT_S:
            self._note(0, seconds, f"The rate limit of {self._provider} is used up.")

    async def pause(self, seconds: float) -> None:
        """Record what was noted, and wait."""
        waits, self._waits = self._waits, []
        if waits:
            await self._write(waits)
        await asyncio.sleep(seconds)

    def _note(self, attempt: int, wait_s: float, error: str) -> None:
        wait = CallRetried(call=self._call, attempt=attempt, wait_s=wait_s, error=error)
        self._waits.append(wait)
