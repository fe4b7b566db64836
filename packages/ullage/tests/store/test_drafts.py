import pytest

from ullage.errors import HistoryLost, LedgerError
from ullage.events import CallEnded, CallStarted, DraftPiece
from ullage.store.places import store_at
from ullage.store.store import Lease, SessionStore


async def driven(store: SessionStore) -> Lease:
    await store.create("s")
    return await store.acquire("s", "o", ttl_s=60)


PIECES = [
    DraftPiece("c", 0, "reasoning", "p0", "Let me see. " * 100),
    DraftPiece("c", 1, "text", "p1", "Yes, \0\n\u2028 \U0001f600."),
    DraftPiece("c", 2, "call", "p2", '{"path":', call_id="t1", name="read"),
    DraftPiece("c", 3, "done", "p1", '{"id":"p1"}'),
]


async def test_pieces_read_back_as_they_were_stored(store: SessionStore) -> None:
    lease = await driven(store)
    await store.draft(lease, PIECES[:1])
    await store.draft(lease, PIECES[1:])
    assert await store.read_draft("s") == PIECES
    assert await store.read_draft("s", call="other") == []


async def test_a_draft_goes_with_the_event_that_ends_it(store: SessionStore) -> None:
    lease = await driven(store)
    other = DraftPiece("d", 0, "text", "p", "another")
    await store.draft(lease, PIECES)
    await store.draft(lease, [other])
    assert await store.read_draft("s", call="d") == [other]
    await store.append(lease, [CallEnded(call="c")], after=0, ends_draft="c")
    assert await store.read_draft("s") == [other]
    with pytest.raises(LedgerError):
        await store.append(lease, [CallEnded(call="d")], after=9, ends_draft="d")
    assert await store.read_draft("s") == [other], (
        "an append that was refused ends no draft"
    )


async def test_an_offset_is_used_once_and_in_a_row(store: SessionStore) -> None:
    lease = await driven(store)
    assert await store.draft(lease, PIECES[:2]) == 2
    assert await store.draft(lease, PIECES[:1]) == 2
    assert await store.draft(lease, PIECES[3:]) == 2
    for wrong in (PIECES[2]._replace(offset=5), PIECES[3]._replace(call="d")):
        with pytest.raises(LedgerError, match="gaps"):
            await store.draft(lease, [PIECES[2], wrong])
    assert await store.read_draft("s") == PIECES[:2]
    assert await store.draft(lease, PIECES[2:]) == 4


async def test_an_answer_begins_only_behind_the_event_it_began_behind(
    store: SessionStore,
) -> None:
    lease = await driven(store)
    (begun,) = await store.append(lease, [CallStarted(call="c")], after=0)
    for after, at in ((2, begun.at), (1, begun.at - 1)):
        with pytest.raises(HistoryLost):
            await store.draft(lease, PIECES[:1], after=after, at=at)
    assert await store.draft(lease, PIECES[:1], after=1, at=begun.at) == 1
    assert await store.draft(lease, PIECES[1:], after=2, at=begun.at) == 4


async def test_pieces_outlive_the_store(place: str) -> None:
    store = store_at(place)
    await store.draft(await driven(store), PIECES)
    await store.close()
    again = store_at(place)
    assert await again.read_draft("s") == PIECES
    await again.close()
