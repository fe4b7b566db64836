import random
from pathlib import Path

import pytest

from tests.store.sessions import content_bytes, step
from ullage.events import DraftPiece
from ullage.store.sqlite.store import SqliteStore

STEPS = 10_000


@pytest.mark.timeout(1_800)
async def test_ten_thousand_steps_take_a_fifth_more_at_most(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    chance, content, after = random.Random(1), 0, 0
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=600)
    for number in range(STEPS):
        events = step(chance, number)
        content += content_bytes(events)
        await store.draft(
            lease, [DraftPiece(f"call-{number}", 0, "text", "p", "x" * 500)]
        )
        after = (
            await store.append(lease, events, after=after, ends_draft=f"call-{number}")
        )[-1].seq
    assert after == 6 * STEPS
    await store.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s.db"], (
        "a closed store is one file"
    )
    assert store.path.stat().st_size <= 1.2 * content
