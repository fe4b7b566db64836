"""A search over all sessions: what was found is marked in the list, and shown where it is in its session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open, Screen
from tests.server.served import Local, script, serving
from ullage.events import Event, MessageAdded, SessionStarted
from ullage.messages import Message, Role, TextPart, ToolCallPart, ToolResultPart
from ullage.store.sqlite.store import SqliteStore
from ullage_simulators import running

LONG = 2_000
"""Messages, of which the page loads the last 1,500 at first."""


def said(name: str, text: str, role: Role = "user") -> Event:
    part = TextPart(id=f"{name}/0", text=text)
    return MessageAdded(message=Message(id=name, role=role, parts=(part,)))


def tool() -> list[Event]:
    """A call and its long result, with words in the middle."""
    arguments = '{"path": "logs/gate.log"}'
    call = ToolCallPart(id="c/0", call_id="call", name="read", arguments=arguments)
    text = "GET /health\n" * 200 + "😀 PoolTimeoutError\n" + "GET /health\n" * 200
    content = (TextPart(id="r/1", text=text),)
    result = ToolResultPart(id="r/0", call_id="call", name="read", content=content)
    return [
        MessageAdded(message=Message(id="c", role="assistant", parts=(call,))),
        MessageAdded(message=Message(id="r", role="tool", parts=(result,))),
    ]


async def written(path: Path) -> None:
    """Sessions to search."""
    store = SqliteStore(path)
    begin = SessionStarted(model="small", wire="messages", provider="anthropic")
    roles: list[Role] = ["user", "assistant"]
    many = [said(f"m{at}", f"Cask {at}: full.", roles[at % 2]) for at in range(LONG)]
    await store.create("long", [begin, *many])
    await store.create("log", [begin, said("q", "Read the log."), *tool()])
    await store.create("other", [begin, said("o", "Nothing of it-self.")])
    await store.close()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    path = tmp_path_factory.mktemp("searched") / "sessions.db"
    with ThreadPoolExecutor(1) as apart:  # the browser's event loop has this thread
        apart.submit(asyncio.run, written(path)).result()
    with (
        running(script({"text": "Yes."})) as provider,
        serving(provider.url("anthropic"), path) as server,
    ):
        yield server


def highlighted(screen: Screen) -> list[str]:
    """The words that are highlighted in the conversation, and can be seen."""
    script = """() => [...(CSS.highlights.get("found") ?? [])].filter((range) => {
        const { top, bottom } = range.getBoundingClientRect();
        return top > 0 && bottom < innerHeight;
    }).map(String)"""
    found: list[str] = screen.page.evaluate(script)
    return found


def until_highlighted(screen: Screen, words: list[str]) -> None:
    for _ in range(600):
        if highlighted(screen) == words:
            return
        screen.page.wait_for_timeout(100)
    raise AssertionError(highlighted(screen))


def test_a_word_of_a_tools_result_is_marked_and_shown(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, "other")
    box = screen.find("#search")
    box.fill("pooltime")
    line = screen.find('[data-session="log"]')
    expect(line.locator("mark")).to_have_text("PoolTime")
    expect(screen.find(".search-foot")).to_have_text("1 session found")
    box.press("Enter")
    expect(screen.find("#subtitle")).to_contain_text("log")
    until_highlighted(screen, ["PoolTime"])


def test_a_message_before_what_is_loaded_is_shown(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "other")
    screen.find("#search").fill("cask 123:")
    screen.find('[data-session="long"]').click()
    until_highlighted(screen, ["Cask", "123:"])
    expect(screen.find("article.shown")).to_contain_text("Cask 123: full.")


def test_a_word_with_a_hyphen_is_marked(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "log")
    screen.find("#search").fill("it-self")
    line = screen.find('[data-session="other"]')
    expect(line.locator("mark").first).to_have_text("it-self")


def test_keys_lead_into_the_list_and_end_the_search(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, "other")
    box = screen.find("#search")
    box.fill("nothing full")
    expect(screen.find(".search-foot")).to_have_text("0 sessions found")
    box.fill("fu")
    expect(screen.find(".session mark").first).to_have_text("fu")
    box.press("ArrowDown")
    line = screen.find('[data-session="long"]')
    expect(line).to_be_focused()
    line.press("Enter")
    expect(screen.find("#subtitle")).to_contain_text("long")
    box.press("Escape")
    expect(box).to_have_value("")
    expect(screen.find('[data-session="other"]')).to_be_visible()


def test_marks_are_counted_in_code_units(local: Local) -> None:
    (found,) = local.api.get("/v1/search", params={"q": "PoolTimeoutError"}).json()[
        "sessions"
    ]
    units = found["excerpt"].encode("utf-16-le")
    ((start, end),) = found["marks"]
    assert units[2 * start : 2 * end].decode("utf-16-le") == "PoolTimeoutError"
    assert "😀" in found["excerpt"]
    assert (found["id"], found["message"]) == ("log", "r")


@pytest.mark.parametrize("before", ["bm8", "", "MTg0NDY3NDQwNzM3MDk1NTE2MTU", "LTE", "é"])
def test_another_place_is_refused(local: Local, before: str) -> None:
    answer = local.api.get("/v1/search", params={"q": "cask", "before": before})
    assert answer.status_code == 400
    assert "`before`" in answer.json()["detail"]
