"""What was given to be shown is stored, however the block that streams is left."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from ullage.codec.stream import TextDelta
from ullage.events import DraftPiece
from ullage.store.store import Lease, SessionStore
from ullage_agent.runtime.drafting import drafting


class SlowStore:
    """Takes pieces when it is let to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may = asyncio.Event()
        self.stored: list[DraftPiece] = []

    async def draft(self, lease: Lease, pieces: Sequence[DraftPiece], **_: float) -> int:
        self.begun.set()
        await self.may.wait()
        self.stored += pieces
        return len(self.stored)


async def test_leaving_waits_for_what_is_stored_however_often_it_is_cancelled() -> None:
    store = SlowStore()
    left: list[int] = []
    given = asyncio.Event()

    async def stream() -> None:
        try:
            async with drafting(
                cast(SessionStore, store), cast(Any, None), "c", flush_s=0
            ) as draft:
                draft.put(TextDelta("p", "one"))
                await store.begun.wait()
                draft.put(TextDelta("p", "two"))
                given.set()
                await asyncio.Event().wait()
        finally:
            left.append(len(store.stored))

    task = asyncio.create_task(stream())
    await given.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    store.may.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left == [2]
    assert [piece.text for piece in store.stored] == ["one", "two"]
