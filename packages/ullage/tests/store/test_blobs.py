import random

import pytest

from ullage.errors import SessionNotFound
from ullage.store.store import SessionStore


async def test_kept_bytes_are_read_back_whole_or_in_part(store: SessionStore) -> None:
    await store.create("s")
    data = random.Random(1).randbytes(300_000)
    handle = await store.keep("s", data)
    assert await store.kept("s", handle) == data
    assert await store.kept("s", handle, start=1_000, size=50) == data[1_000:1_050]
    assert await store.kept("s", handle, start=299_990) == data[299_990:]
    assert await store.kept("s", handle, start=299_990, size=1_000) == data[299_990:]
    assert await store.kept("s", handle, start=400_000) == b""
    assert await store.kept("s", handle, size=0) == b""


async def test_nothing_can_be_kept_too(store: SessionStore) -> None:
    await store.create("s")
    assert await store.kept("s", await store.keep("s", b"")) == b""


async def test_a_session_reads_only_what_it_keeps_itself(store: SessionStore) -> None:
    await store.create("s")
    await store.create("other")
    handle = await store.keep("s", b"secret")
    for session, asked in (("other", handle), ("s", "unheard of")):
        with pytest.raises(SessionNotFound, match="keeps nothing"):
            await store.kept(session, asked)
