"""The search over all sessions of a store."""

from __future__ import annotations

import pytest

from tests.store.sessions import said
from ullage.events import Event, MessageAdded, MessageReplaced, Renamed, SessionStarted
from ullage.messages import Message, TextPart, ToolResultPart
from ullage.store.forking import fork
from ullage.store.policy import INDEXED_EVENTS, MOST_LOOKED_AT, SEARCHED_CHARACTERS
from ullage.store.searching import SearchPage, excerpt_of, search
from ullage.store.store import DEFAULT_TENANT, SessionStore
from ullage.store.words import Wanted

HOSTILE = (
    "a*",
    "NEAR(",
    "a NEAR b",
    "a AND NOT",
    "word:x",
    "-a",
    "a:* & b",
    "':*",
    "{a}",
    "^a",
)


def added(name: str, text: str) -> Event:
    return MessageAdded(message=said(name, text))


def result(text: str) -> Event:
    part = ToolResultPart(id="r", call_id="c", content=(TextPart(id="p", text=text),))
    return MessageAdded(message=Message(id="result", role="tool", parts=(part,)))


def hits(page: SearchPage) -> list[tuple[str, str]]:
    """The sessions and messages that were found."""
    return [(one.row.id, one.message) for one in page.found]


async def found(
    store: SessionStore, text: str, tenant: str = DEFAULT_TENANT
) -> list[tuple[str, str]]:
    return hits(await search(store, text, tenant=tenant))


async def write(store: SessionStore, session: str, *events: Event) -> None:
    """As a driver does that gives the session back."""
    row = await store.about(session)
    lease = await store.acquire(session, "driver", ttl_s=60)
    await store.append(lease, events, after=row.seq)
    await store.release(lease)


async def fill(store: SessionStore) -> None:
    """Three sessions, the first one the oldest."""
    for name, text in (
        ("wine", "The cask in the CELLAR leaks."),
        ("bread", "Bake two loaves."),
        ("attic", "Nothing here."),
    ):
        about = f"Answer about {name}."
        begin = SessionStarted(title=f"On {name}", model="small")
        await store.create(name, [begin, added(f"{name}-1", text)])
        await write(store, name, added(f"{name}-2", about))


async def test_texts_are_found_in_any_case(store: SessionStore) -> None:
    await fill(store)
    page = await search(store, "ANSWER wine")
    assert hits(page) == [("wine", "wine-2")]
    assert page.found[0].excerpt == "Answer about wine."
    assert page.found[0].marks == ((0, 6), (13, 17))
    assert hits(await search(store, "cellar loaves")) == []


async def test_what_was_said_last_is_first_and_pages_go_on_behind_it(
    store: SessionStore,
) -> None:
    await fill(store)
    seen: list[tuple[str, str]] = []
    page = await search(store, "answer", limit=2)
    seen += hits(page)
    assert page.next is not None
    page = await search(store, "answer", limit=2, before=page.next)
    seen += hits(page)
    assert page.next is None
    assert seen == [("attic", "attic-2"), ("bread", "bread-2"), ("wine", "wine-2")]


@pytest.mark.parametrize(
    "text",
    [
        "src/app.py",
        "src/app.p",
        "app",
        "foo_bar",
        "bar",
        "ValueError:",
        "東京",
        "京",
        "京都に",
        "ошиб",
        "한국",
        "café",
        "C++",
        "--force",
    ],
)
async def test_paths_names_errors_and_scripts_are_found(
    store: SessionStore, text: str
) -> None:
    said_here = "src/app.py: foo_bar raised ValueError: bad. C++ needs --force, café"
    await store.create("s", [added("m", f"{said_here} 東京都に行く ошибка 한국어")])
    await store.create("other", [added("m", "src foo py app other 東北 error")])
    assert ("s", "m") in await found(store, text)


@pytest.mark.parametrize("text", ["pp", "rror", "app.y", "foo-bar", "京東", "cafe", "→"])
async def test_the_middle_of_a_word_and_other_letters_are_not_found(
    store: SessionStore, text: str
) -> None:
    await store.create("s", [added("m", "src/app.py foo_bar error 東京都 café →")])
    assert await found(store, text) == []


@pytest.mark.parametrize(
    "text",
    [*"\"*('\\\0\ud800%", *HOSTILE, "a " * 10_000, "x" * 10_000],
)
async def test_no_text_is_an_error(store: SessionStore, text: str) -> None:
    await store.create("s", [added("m", "Something else.")])
    assert await found(store, text) == []


async def test_tools_results_are_found_up_to_a_length(store: SessionStore) -> None:
    long = "x " * (SEARCHED_CHARACTERS // 2)
    await store.create("s", [result(f"quince {long} medlar")])
    assert await found(store, "quince") == [("s", "result")]
    assert await found(store, "medlar") == []


async def test_a_title_is_found_as_long_as_it_is_one(store: SessionStore) -> None:
    await fill(store)
    assert await found(store, "on wine") == [("wine", "")]
    await write(store, "wine", Renamed(title="Of casks"))
    assert await found(store, "on wine") == []
    page = await search(store, "of cas")
    assert [(one.excerpt, one.marks) for one in page.found] == [
        ("Of casks", ((0, 2), (3, 6)))
    ]


async def test_a_session_is_found_by_its_id(store: SessionStore) -> None:
    await fill(store)
    assert hits(await search(store, " bread "))[0] == ("bread", "")


async def test_a_message_that_was_replaced_is_found_by_what_it_was_and_is(
    store: SessionStore,
) -> None:
    await store.create("s", [added("m", "quince")])
    await write(store, "s", MessageReplaced(message=said("m", "medlar")))
    assert await found(store, "quince") == [("s", "m")]
    assert await found(store, "medlar") == [("s", "m")]


async def test_a_deleted_session_is_found_no_more(store: SessionStore) -> None:
    await fill(store)
    await store.delete("attic")
    assert await found(store, "answer") == [("bread", "bread-2"), ("wine", "wine-2")]
    await store.create("new", [added("m", "Other words.")])
    assert await found(store, "nothing") == []
    assert await found(store, "other") == [("new", "m")]


async def test_a_fork_is_found(store: SessionStore) -> None:
    await fill(store)
    await fork(store, "wine", "copy", through=2)
    assert await found(store, "cellar") == [("copy", "wine-1"), ("wine", "wine-1")]


async def test_of_a_turn_under_way_words_are_found_after_some_events(
    store: SessionStore,
) -> None:
    await store.create("s", [added("m1", "first")])
    lease = await store.acquire("s", "driver", ttl_s=60)
    many = [added(f"m{number}", "another") for number in range(2, INDEXED_EVENTS)]
    await store.append(lease, [*many, added("m", "quince")], after=1)
    assert await found(store, "quince") == [("s", "m")]


async def test_a_tenant_finds_its_own_words(store: SessionStore) -> None:
    await store.create("s", [added("m", "quince and medlar")])
    await store.create("acme-9:t", [added("m", "quince")], tenant="acme-9")
    assert await found(store, "quince") == [("s", "m")]
    assert await found(store, "quince", tenant="acme-9") == [("acme-9:t", "m")]
    assert await found(store, "medlar", tenant="acme-9") == []
    assert await found(store, "s", tenant="acme-9") == []
    await store.delete("acme-9:t")
    assert await found(store, "quince", tenant="acme-9") == []


async def test_one_search_reads_so_many_messages(store: SessionStore) -> None:
    many = [added(f"m{number}", "py src") for number in range(MOST_LOOKED_AT + 1)]
    await store.create("s", [added("m", "src/py"), *many])
    page = await search(store, "src/py")
    if page.next is not None:  # a store without an index looks at one message of each
        assert hits(page) == []
        page = await search(store, "src/py", before=page.next)
        assert hits(page) == [("s", "m")]


def test_an_excerpt_does_not_mark_the_whole_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = Wanted("a . . . . . . .")
    assert len(wanted._patterns) == 2, "a word that is typed again is no other one"
    monkeypatch.setattr(Wanted, "marks", lambda _, text: pytest.fail(text))
    assert excerpt_of("." * 65_000 + " a", wanted).startswith("....")


def test_an_excerpt_is_one_line_around_the_word() -> None:
    text = "a " * 100 + "the\nCask\tleaks" + " b" * 100
    excerpt = excerpt_of(text, Wanted("cask"))
    assert excerpt.startswith("…a a")
    assert excerpt.endswith("…")
    assert "the Cask leaks" in excerpt
    whole = excerpt_of("considerably " * 20 + "cask", Wanted("cask"))
    assert whole.startswith("…considerably considerably")
