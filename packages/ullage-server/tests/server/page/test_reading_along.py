"""Reading along: the page opens at the end and stays there, and few stops lie between a person and the message box."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, ViewportSize, expect

from tests.server.page.screen import Open, Screen
from tests.server.page.test_look import FIXTURES, drop
from tests.server.served import Local, script, serving
from ullage_simulators import running

TURNS = 10
ANSWER = "## The cask\n\n" + "\n\n".join(
    f"Day {day}: " + "the level was read and written down, as on the day before. " * 8
    for day in range(6)
)
SIZES = (
    ViewportSize(width=1440, height=900),
    ViewportSize(width=820, height=1100),
    ViewportSize(width=390, height=844),
)
AT_THE_END = """() => {
    const node = document.querySelector("#conversation");
    return node.scrollTop > 0 && node.scrollHeight - node.scrollTop - node.clientHeight < 4;
}"""
STOPS = """() => {
    const all = [...document.querySelectorAll("a[href], button, input, summary, textarea, [tabindex]")];
    const stops = all.filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility());
    return stops.indexOf(document.querySelector("#say"));
}"""


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    answers = ({"when": {"contains": "at length"}, "text": ANSWER * 4}, {"text": ANSWER})
    with (
        running(script(*answers, delay_s=0.002)) as provider,
        serving(
            provider.url("anthropic"), tmp_path_factory.mktemp("along") / "sessions.db"
        ) as server,
    ):
        server.api.session("told")
        for turn in range(TURNS):
            server.api.say("told", f"Turn {turn}: " + "how is the cask? " * 5 * turn)
            server.api.until("told")
        for number in range(12):
            server.api.session(f"other-{number}")
        yield server


def is_at_the_end(screen: Screen) -> None:
    """Wait until the end of the conversation is on the screen."""
    screen.page.wait_for_function(AT_THE_END)


def scroll(screen: Screen, by: int) -> None:
    """Turn the wheel over the conversation."""
    screen.find("#conversation").hover()
    screen.page.mouse.wheel(0, by)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_it_opens_at_the_end_and_follows_the_answer(
    local: Local, open_page: Open, size: ViewportSize
) -> None:
    name = f"follows-{size['width']}"
    local.api.post("/v1/sessions/told/fork", json={"id": name})
    look: dict[str, Any] = {"viewport": size}
    screen = open_page(local.url, name, **look)
    is_at_the_end(screen)
    screen.say("Tell me at length. " * 60)
    expect(screen.answers()).to_have_count(TURNS + 1)
    screen.is_at_rest()
    is_at_the_end(screen)
    expect(screen.find("#newest")).to_be_hidden()


def test_who_scrolls_up_stays_until_the_button(local: Local, open_page: Open) -> None:
    local.api.post("/v1/sessions/told/fork", json={"id": "scrolled"})
    screen = open_page(local.url, "scrolled")
    is_at_the_end(screen)
    scroll(screen, -900)
    screen.page.wait_for_function(f"() => !({AT_THE_END})()")
    local.api.say("scrolled", "Tell me at length.")
    expect(screen.find("#newest")).to_be_visible()
    expect(screen.answers()).to_have_count(TURNS + 1)
    assert not screen.page.evaluate(AT_THE_END)
    screen.find("#newest").click()
    is_at_the_end(screen)


def test_another_column_keeps_the_place(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "told", viewport=SIZES[2])
    is_at_the_end(screen)
    screen.find("#tabs [data-tab=window]").click()
    screen.find("#tabs [data-tab=conversation]").click()
    is_at_the_end(screen)


def test_few_stops_lie_before_the_message_box(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "told")
    expect(screen.answers()).to_have_count(TURNS)
    assert screen.page.evaluate(STOPS) <= 20


def test_messages_and_sessions_are_reached_by_keys(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "told")
    expect(screen.answers()).to_have_count(TURNS)
    screen.press("k")
    newest = screen.find("article").last
    expect(newest).to_be_focused()
    newest.press("Alt+ArrowUp")
    before = screen.find("article").nth(-2)
    expect(before).to_be_focused()
    screen.page.keyboard.press("Tab")
    expect(before.get_by_role("button", name="Pin")).to_be_focused()
    expect(newest.get_by_role("button", name="Pin")).to_have_attribute("tabindex", "-1")
    chosen = screen.find(".session.chosen")
    chosen.press("ArrowUp")
    expect(screen.find(".session").filter(has_text="other-0")).to_be_focused()


def test_why_nothing_was_compacted_is_said_there(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "other-1", viewport=SIZES[2])
    screen.find("#tabs [data-tab=window]").click()
    screen.find("#compact").click()
    outcome = screen.find("#compact-outcome")
    expect(outcome).to_contain_text("Nothing was compacted: ")
    expect(outcome).not_to_contain_text("pieces")
    expect(outcome).to_be_in_viewport(ratio=0.99)


def test_what_is_typed_early_is_the_new_session_s(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "told")
    waiting: list[Route] = []
    screen.page.route("**/v1/sessions", lambda route: hold(route, waiting))
    with screen.page.expect_request("**/v1/sessions"):
        screen.press("n")
    expect(screen.find("#say")).to_be_focused()
    screen.page.keyboard.type("Of the new one.")
    with screen.page.expect_response("**/v1/sessions"):
        waiting.pop().continue_()
    expect(screen.find("#title")).not_to_contain_text("Turn 0")
    screen.is_live()
    expect(screen.find("#say")).to_have_value("Of the new one.")
    screen.find('[data-session="told"]').click()
    expect(screen.find("#title")).to_contain_text("Turn 0")
    expect(screen.find("#say")).to_have_value("")


def hold(route: Route, waiting: list[Route]) -> None:
    """Let a request for a new session wait, and all others pass."""
    if route.request.method == "POST":
        waiting.append(route)
    else:
        route.continue_()


def area(node: Locator) -> float:
    """The pixels that it covers."""
    box = node.bounding_box()
    assert box is not None
    return box["width"] * box["height"]


def test_a_bad_log_covers_little_and_leaves(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "told", viewport=SIZES[2])
    drop(screen, "bad.jsonl", b'{"a": 1}\n')
    notice = screen.find(".notice")
    expect(notice).to_contain_text("is no session log")
    assert area(notice) < 0.2 * 390 * 844
    notice.get_by_text("Details").click()
    expect(notice).to_contain_text("claude-code")
    assert area(notice) < 0.4 * 390 * 844
    drop(screen, "s.jsonl", (FIXTURES / "claude_code" / "session.jsonl").read_bytes())
    expect(screen.find("#looked .item").first).to_be_visible()
    expect(notice).to_have_count(0)


def test_reading_a_log_shows_and_can_stop(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "told", viewport=SIZES[2])
    waiting: list[Route] = []
    screen.page.route("**/v1/look", lambda route: hold(route, waiting))
    drop(screen, "s.jsonl", b"{}")
    reading = screen.find(".notice", has_text="Reading s.jsonl, 2 B")
    expect(reading.locator("progress")).to_be_visible()
    reading.get_by_role("button", name="Stop").click()
    expect(reading).to_have_count(0)
    expect(screen.find("#looked")).to_be_hidden()
