"""The page under a finger: targets that it can hit, nothing that only hovering shows, no scrolling that is trapped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open, Screen
from tests.server.page.test_axe import note
from tests.server.served import Local, script, serving
from ullage_simulators import running

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}
STILL = """async () => {
  const later = () => new Promise((done) => setTimeout(done, 200));
  const boxes = [...document.querySelectorAll("#session-list, #conversation, .call-whole")];
  const tops = () => boxes.map((box) => box.scrollTop).join();
  for (let before = ""; before !== tops(); ) {
    before = tops();
    await later();
  }
}"""
"""Waits until nothing scrolls: the page must see every part of a call, and two swipes at once are a gap."""

LEAST_PX = 44
"""WCAG 2.2, success criterion 2.5.5."""

SMALL = """(least) => [...document.querySelectorAll("button, summary, select, input, textarea, a[href]")]
  .filter((one) => one.checkVisibility() && one.type !== "checkbox" && !one.closest(".unseen, .skip"))
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.width < least || box.height < least))
  .map(([one, box]) => `${one.outerHTML.slice(0, 90)} ${box.width} x ${box.height}`)"""


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    asks = {"calls": [{"name": "note", "arguments": {"text": "wine\n" * 60}}]}
    with (
        running(script({"when": {"after": "user"}, **asks}, {"text": "Done."})) as at,
        serving(
            at.url("anthropic"),
            tmp_path_factory.mktemp("touch") / "s.db",
            tools=[note],
            approve=["note"],
        ) as server,
    ):
        for number in range(30):
            server.api.session(f"s{number}")
        server.api.session("asks")
        server.api.say("asks", "Note it.")
        server.api.until("asks", "waiting")
        yield server


def small(screen: Screen) -> list[str]:
    """The visible targets that are smaller than a finger's."""
    return list(screen.page.evaluate(SMALL, LEAST_PX))


def test_every_target_is_large_enough_for_a_finger(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "asks", **PHONE)
    allow = screen.find(".approval .button").first
    expect(allow).to_be_visible()
    found = {"approval": small(screen)}
    screen.find("#menu summary").tap()
    expect(screen.find("#share")).to_be_visible()
    found["menu"] = small(screen)
    screen.page.keyboard.press("Escape")
    screen.find("article.user .acts-toggle").tap()
    expect(screen.find("article.user .message-acts")).to_be_visible()
    found["message"] = small(screen)
    screen.find("#tabs [data-tab=sessions]").tap()
    found["list"] = small(screen)
    screen.find("[data-review]").tap()
    expect(screen.find("#dialog .call-whole")).to_be_visible()
    found["review"] = small(screen)
    screen.find("#dialog").get_by_role("button", name="Close").tap()
    screen.find("#tabs [data-tab=window]").tap()
    for fold in ("advice", "tools", "grants", "settings"):
        screen.find(f"#{fold}-fold summary").first.tap()
    expect(screen.find("#settings input").first).to_be_visible()
    found["window"] = small(screen)
    assert not any(found.values()), found


def test_what_a_pointer_shows_by_hovering_a_tap_opens(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, "asks", **PHONE)
    message = screen.find("article.user")
    toggle = message.get_by_role("button", name="What can be done with this message")
    expect(message.get_by_role("button", name="Where?")).to_be_hidden()
    toggle.tap()
    message.get_by_role("button", name="Where?").tap()
    expect(screen.find("#dialog")).to_contain_text("It is in the window as it was said.")
    screen.find("#dialog").get_by_role("button", name="Close").tap()
    named = {"messages": [message.get_attribute("data-message")]}
    local.api.post("/v1/sessions/asks/pins", json=named)
    expect(message.locator(".tag")).to_have_text("pinned")
    expect(message.get_by_role("button", name="Where?")).to_be_visible()
    expect(toggle).to_have_attribute("aria-expanded", "true")


def swipe(screen: Screen, x: float, y: float, distance: float) -> None:
    """A finger that moves up by ``distance``."""
    session = screen.page.context.new_cdp_session(screen.page)

    def touch(kind: str, *points: float) -> None:
        at = [{"x": x, "y": each} for each in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    touch("touchStart", y)
    for step in range(1, 11):
        touch("touchMove", y - distance * step / 10)
    touch("touchEnd")
    session.detach()
    screen.page.evaluate(STILL)


def is_below(screen: Screen, selector: str, least: int) -> None:
    """Wait until so much was scrolled."""
    scrolled = "([selector, least]) => document.querySelector(selector).scrollTop > least"
    screen.page.wait_for_function(scrolled, arg=[selector, least])


def test_a_swipe_scrolls_the_list_and_the_whole_call_and_what_is_around_it(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, "asks", **PHONE)
    screen.find("#tabs [data-tab=sessions]").tap()
    swipe(screen, 195, 600, 300)
    is_below(screen, "#session-list", 100)
    screen.find("#session-list").evaluate("(box) => box.scrollTo(0, 0)")
    screen.find("[data-review]").tap()
    whole = screen.find("#dialog .call-whole")
    expect(whole).to_be_visible()
    box = whole.bounding_box()
    assert box is not None
    for _ in range(8):
        swipe(screen, box["x"] + 80, box["y"] + 200, 180)
    allow = screen.find("#dialog").get_by_role("button", name="Allow", exact=True)
    expect(allow).to_be_enabled()
    screen.find("#dialog").get_by_role("button", name="Show the session").tap()
    expect(screen.find("#conversation .call-whole")).to_be_visible()
    conversation = screen.find("#conversation")
    conversation.evaluate("(box) => box.scrollTo(0, 0)")
    swipe(screen, 195, 250, 80)
    is_below(screen, "#conversation", 20)
