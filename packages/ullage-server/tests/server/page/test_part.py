"""Summarising up to a message or from it on: asked for at the message, with what came of it shown there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.server.page.screen import Open, Screen
from tests.server.page.test_window import ANSWERS, SMALL, fill, read_log
from tests.server.served import Local, script, serving
from ullage_simulators import running

PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with (
        running(script(*ANSWERS, models=[SMALL | {"window": 64_000}])) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path_factory.mktemp("part") / "sessions.db",
            model="anthropic:small",
            window=64_000,
            tools=[read_log],
        ) as server,
    ):
        yield server


def turn(screen: Screen, number: int) -> Locator:
    """What was said in a turn."""
    return screen.find("article.user", has_text=f"Turn {number}:")


def choose(screen: Screen, message: Locator, side: str) -> None:
    """Ask for a summary at a message."""
    message.hover()
    message.get_by_role("button", name="Summarise", exact=True).click()
    message.get_by_role("button", name=side).click()


def names(local: Local, session: str) -> list[str]:
    """The ids of the messages in view."""
    answer = local.api.get(f"/v1/sessions/{session}/messages?limit=100").json()
    return [message["id"] for message in answer["messages"]]


def test_a_summary_from_a_message_is_shown_there(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("from"))
    fill(screen, local, "from", 6)
    screen.is_at_rest()
    before = names(local, "from")
    chosen = turn(screen, 3)
    start = before.index(chosen.get_attribute("data-message") or "")
    choose(screen, chosen, "From here")
    expect(chosen.locator(".outcome")).to_contain_text("Summarised")
    expect(chosen.locator(".tag")).to_have_text("summarised")
    expect(turn(screen, 2).locator(".tag")).to_have_count(0)
    assert names(local, "from")[:-1] == before[:start]
    expect(screen.marks("Compacted")).to_be_visible()
    screen.page.reload()
    screen.is_live()
    expect(turn(screen, 3).locator(".outcome")).to_contain_text("Summarised")
    screen.marks("Compacted").get_by_role("button", name="Undo").click()
    expect(screen.marks("Undone:")).to_be_visible()
    expect(turn(screen, 3).locator(".outcome")).to_have_count(0)
    assert names(local, "from") == before


def test_a_summary_up_to_a_message_by_keys_alone(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("upto"), **PHONE)
    fill(screen, local, "upto", 6)
    screen.is_at_rest()
    before = names(local, "upto")
    chosen = turn(screen, 4)
    toggle = chosen.get_by_role("button", name="Summarise", exact=True)
    toggle.focus()
    screen.page.keyboard.press("Enter")
    expect(chosen.get_by_role("button", name="Up to here")).to_be_focused()
    expect(chosen.get_by_role("button", name="From here")).to_be_in_viewport(ratio=1)
    screen.page.keyboard.press("Escape")
    expect(toggle).to_be_focused()
    expect(toggle).to_have_attribute("aria-expanded", "false")
    screen.page.keyboard.press("Enter")
    screen.page.keyboard.press("Enter")
    expect(chosen.locator(".outcome")).to_contain_text("Summarised")
    start = before.index(chosen.get_attribute("data-message") or "")
    assert names(local, "upto")[1:] == before[start:]


def test_the_choice_stays_open_while_the_message_is_drawn_again(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, local.api.session("open"))
    fill(screen, local, "open", 1)
    screen.is_at_rest()
    said = turn(screen, 0)
    said.hover()
    said.get_by_role("button", name="Summarise", exact=True).click()
    message = said.get_attribute("data-message")
    local.api.post("/v1/sessions/open/pins", json={"messages": [message]})
    expect(said.locator(".tag")).to_have_text("pinned")
    expect(said.get_by_role("button", name="Up to here")).to_be_focused()
    said.get_by_role("button", name="Up to here").click()
    expect(said.locator(".outcome")).to_contain_text("Nothing was summarised")
    expect(said.get_by_role("button", name="Up to here")).to_be_hidden()


def test_why_nothing_was_summarised_is_said(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("nothing"))
    fill(screen, local, "nothing", 2)
    screen.is_at_rest()
    choose(screen, turn(screen, 0), "Up to here")
    expect(turn(screen, 0).locator(".outcome")).to_contain_text(
        "Nothing was summarised: No message before"
    )
    last = turn(screen, 1)
    last.hover()
    last.get_by_role("button", name="Pin").click()
    screen.page.route("**/compact", lambda route: route.abort())
    choose(screen, last, "From here")
    expect(last.locator(".outcome")).to_have_text(
        "Nothing was summarised: The server can't be reached."
    )
