"""What a store tells its observer, and the trace that it keeps with a message."""

from __future__ import annotations

import pytest

from ullage.errors import SessionBusy, StoreUnavailable
from ullage.events import Queued
from ullage.messages import Message, TextPart
from ullage.store.store import SessionStore, StoreObserver

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Observed(StoreObserver):
    def __init__(self) -> None:
        self.waits: list[float] = []
        self.takeovers = 0

    def waited(self, seconds: float) -> None:
        self.waits.append(seconds)

    def took_over(self) -> None:
        self.takeovers += 1


async def test_the_wait_of_each_write_for_its_transaction_is_told(
    store: SessionStore,
) -> None:
    observed = Observed()
    store.observe(observed)
    await store.create("a")
    await store.command("a", [])
    assert len(observed.waits) == 2
    assert all(0 <= wait < 60 for wait in observed.waits)


async def test_a_takeover_is_told_and_a_released_session_is_none(
    store: SessionStore,
) -> None:
    observed = Observed()
    store.observe(observed)
    await store.create("s")
    first = await store.acquire("s", "one", ttl_s=60)
    await store.release(first)
    await store.acquire("s", "two", ttl_s=60)
    held = await store.acquire("s", "two", ttl_s=60)
    with pytest.raises(SessionBusy):
        await store.acquire("s", "three", ttl_s=60)
    assert observed.takeovers == 0
    await store.renew(held, ttl_s=0)
    lease = await store.acquire("s", "three", ttl_s=60)
    assert observed.takeovers == 1
    assert (lease.owner, lease.generation) == ("three", 4)


async def test_a_store_in_use_fits_and_a_closed_one_does_not(store: SessionStore) -> None:
    await store.check()
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.check()


async def test_the_trace_of_a_message_is_in_its_event(store: SessionStore) -> None:
    await store.create("s")
    message = Message(id="m", role="user", parts=(TextPart(id="m.1", text="Hello."),))
    await store.send("s", message, "steer", trace=TRACE)
    (queued,) = await store.read("s")
    assert isinstance(queued, Queued)
    assert queued.trace == TRACE
