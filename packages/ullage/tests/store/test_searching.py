"""The search over all sessions of a store."""

from __future__ import annotations

from tests.store.sessions import said
from ullage.events import MessageAdded, Renamed, SessionStarted
from ullage.messages import Message, TextPart
from ullage.store.searching import FoundMessage, SearchPlace, excerpt_of, search
from ullage.store.store import SessionStore


async def fill(store: SessionStore) -> None:
    """Three sessions, the first one the oldest."""
    for name, text in (
        ("wine", "The cask in the CELLAR leaks."),
        ("bread", "Bake two loaves."),
        ("attic", "Nothing here."),
    ):
        await store.create(name, [SessionStarted(model="small")])
        await store.command(name, [MessageAdded(message=said(name, text))])
        answer = Message(
            id=f"{name}-answer",
            role="assistant",
            parts=(TextPart(id="p", text=f"Answer about {name}."),),
        )
        await store.command(name, [MessageAdded(message=answer)])


async def test_titles_and_texts_are_found_in_any_case(store: SessionStore) -> None:
    await fill(store)
    await store.command("attic", [Renamed(title="Cellar plans")])
    page = await search(store, "cellar")
    assert [(one.row.id, one.hit) for one in page.found] == [
        ("attic", None),
        ("wine", None),
    ]
    found = (await search(store, "ANSWER wine")).found
    hit = FoundMessage("wine-answer", "Answer about wine.")
    assert [(one.row.id, one.hit) for one in found] == [("wine", hit)]
    nothing = await search(store, "cellar loaves")
    assert (nothing.found, nothing.searched, nothing.next) == ((), 3, None)


async def test_words_that_are_only_the_name_of_a_field_find_nothing(
    store: SessionStore,
) -> None:
    await fill(store)
    assert (await search(store, "message_added")).found == ()


async def test_pages_hold_each_session_once(store: SessionStore) -> None:
    await fill(store)
    seen: list[str] = []
    place: SearchPlace | None = SearchPlace()
    while place is not None:
        page = await search(store, "answer", limit=1, place=place)
        seen += [one.row.id for one in page.found]
        place = page.next
    assert seen == ["attic", "bread", "wine"]


async def test_a_search_without_time_goes_on_inside_a_long_session(
    store: SessionStore,
) -> None:
    many = [
        MessageAdded(message=said(f"m{number}", f"Line {number}."))
        for number in range(450)
    ]
    await store.create("long", [SessionStarted(title="t"), *many])
    places: list[SearchPlace] = []
    page = await search(store, "449.", seconds=0)
    while not page.found:
        assert page.next is not None
        places.append(page.next)
        page = await search(store, "449.", seconds=0, place=page.next)
    assert [place.seq for place in places] == [200, 400]
    assert page.found[0].hit == FoundMessage("m449", "Line 449.")


def test_an_excerpt_is_one_line_around_the_word() -> None:
    text = "a " * 100 + "the\nCask\tleaks" + " b" * 100
    assert excerpt_of(text, "cask").startswith("…a a")
    assert "the Cask leaks" in excerpt_of(text, "cask")
    whole = excerpt_of("considerably " * 20 + "cask", "cask")
    assert whole.startswith("…considerably considerably")
    assert excerpt_of(text, "cask").endswith("b …") or excerpt_of(text, "cask").endswith(
        "…"
    )
