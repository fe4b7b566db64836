"""What a dispatch promises, of each one; and the one inside the process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from ullage.runtime.dispatch import Dispatch, Embedded
from ullage.runtime.lease_dispatch import LeaseDispatch
from ullage.tasks import background

DISPATCHES: dict[str, Callable[[], Dispatch]] = {
    "embedded": Embedded,
    "lease": LeaseDispatch,
}
"""Every dispatch by its name."""


@pytest.fixture(params=DISPATCHES)
def dispatch(request: pytest.FixtureRequest) -> Dispatch:
    return DISPATCHES[request.param]()


class Drives:
    """Counts drives, which last until they are let go."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.at_once: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.may_end = asyncio.Event()
        self.news = asyncio.Condition()

    def __call__(self, session: str) -> Awaitable[bool]:
        return self._drive(session)

    async def _drive(self, session: str) -> bool:
        self.begun[session] += 1
        self.at_once[session] += 1
        self.most[session] = max(self.most[session], self.at_once[session])
        async with self.news:
            self.news.notify_all()
        try:
            await self.may_end.wait()
        finally:
            self.at_once[session] -= 1
        return True

    async def until(self, session: str, times: int) -> None:
        async with self.news:
            await self.news.wait_for(lambda: self.begun[session] >= times)


async def test_a_session_is_driven_after_each_wake_once_at_a_time(
    dispatch: Dispatch,
) -> None:
    drives = Drives()
    async with background(dispatch.serve(drives)):
        for why in range(5):
            await dispatch.wake("one", why)
        await dispatch.wake("other", 1)
        await drives.until("one", 1)
        await drives.until("other", 1)
        await dispatch.wake("one", 5)
        drives.may_end.set()
        await drives.until("one", 2)
    assert drives.most == {"one": 1, "other": 1}
    assert +drives.at_once == {}


async def test_who_is_woken_before_anybody_serves_is_driven_then(
    dispatch: Dispatch,
) -> None:
    await dispatch.wake("one", 1)
    drives = Drives()
    async with background(dispatch.serve(drives)):
        await drives.until("one", 1)


async def test_the_end_of_serving_ends_the_drives_and_a_later_wake_waits(
    dispatch: Dispatch,
) -> None:
    drives = Drives()
    async with background(dispatch.serve(drives)):
        await dispatch.wake("one", 1)
        await drives.until("one", 1)
    assert +drives.at_once == {}
    await dispatch.wake("one", 2)
    assert drives.begun["one"] == 1
    async with background(dispatch.serve(drives)):
        await drives.until("one", 2)
