import random

from ullage.store.store import Checkpoint, SessionStore


async def test_a_checkpoint_is_given_to_the_code_that_made_it(
    store: SessionStore,
) -> None:
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=60)
    assert await store.checkpoint("s", "fold-1") is None
    for data in (
        b"",
        b"\x78\x9c no zlib at all",
        b"state " * 10_000,
        random.Random(1).randbytes(5_000),
    ):
        made = Checkpoint(7, "fold-1", data)
        await store.save_checkpoint(lease, made)
        assert await store.checkpoint("s", "fold-1") == made
        assert await store.checkpoint("s", "fold-2") is None
