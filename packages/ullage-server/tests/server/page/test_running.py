"""The sessions of other programs on the page: the list, and one of them while its log grows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open, Screen
from tests.server.running_logs import GrowingSession, live_in
from tests.server.served import Local, serving
from ullage.importers import read
from ullage.store.records import FileRecords
from ullage.watching.running import log_meter
from ullage_server.tokens import NamedTokens

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><b>bold</b>"


class Machine(NamedTuple):
    """A server, and the home directory whose sessions it shows."""

    local: Local
    home: Path


@pytest.fixture
def machine(provider: str, tmp_path: Path) -> Iterator[Machine]:
    home = tmp_path / "home"
    with serving(provider, tmp_path / "s.db", shows=live_in(home)) as local:
        yield Machine(local, home)


def used_in(log: Path) -> str:
    """The number that the gauge should have."""
    imported = read(log)
    meter = log_meter(imported)
    for event in imported.events:
        meter.apply(event)
    return f"{meter.reading().used.tokens:,}"


def followed(machine: Machine, open_page: Open) -> tuple[Screen, GrowingSession]:
    """A running session that is on show."""
    session = GrowingSession(machine.home, "11111111-aaaa")
    session.turn("Which price?")
    screen = open_page(machine.local.url)
    screen.find("#live-list .session").click()
    expect(screen.find("#connection")).to_have_text("live")
    return screen, session


def test_a_new_session_appears_in_the_list(machine: Machine, open_page: Open) -> None:
    screen = open_page(machine.local.url)
    expect(screen.find("#live")).to_be_hidden()
    GrowingSession(machine.home, "11111111-aaaa").turn("Which price?")
    line = screen.find("#live-list .session")
    expect(line).to_contain_text("Which price?")
    expect(line).to_contain_text("shop")
    expect(line.locator(".unseen")).to_have_text(re.compile(r"[\d,]+ tokens of 200,000"))


def test_its_window_is_shown_and_grows(machine: Machine, open_page: Open) -> None:
    screen, session = followed(machine, open_page)
    for _ in range(3):
        expect(screen.find(".used-number")).to_have_text(used_in(session.path))
        expect(screen.find("#looked .item").first).to_be_visible()
        session.turn("And the next one?")
    expect(screen.find(".used-number")).to_have_text(used_in(session.path))
    expect(screen.find("#growth .calls-said")).to_contain_text("Call 4:")


def test_its_address_shows_it_after_reload(machine: Machine, open_page: Open) -> None:
    screen, session = followed(machine, open_page)
    assert "/#live=" in screen.page.url
    screen.page.reload()
    expect(screen.find(".used-number")).to_have_text(used_in(session.path))
    expect(screen.find("#live-list .session")).to_have_attribute("aria-current", "true")


def test_leaving_it_ends_the_following(machine: Machine, open_page: Open) -> None:
    name = machine.local.api.session("own")
    screen, _ = followed(machine, open_page)
    screen.find(f'[data-session="{name}"]').click()
    screen.is_live()
    expect(screen.find("#looked")).to_be_hidden()
    expect(screen.find("#composer")).to_be_visible()
    expect(screen.find("#live-list [aria-current]")).to_have_count(0)
    asked: list[str] = []
    screen.page.on("request", lambda request: asked.append(request.url))
    with screen.page.expect_response(re.compile("/v1/live$")):
        pass
    with screen.page.expect_response(re.compile("/v1/live$")):
        pass
    assert not [url for url in asked if "/v1/live/" in url]


def test_it_is_clicked_while_the_list_changes(machine: Machine, open_page: Open) -> None:
    session = GrowingSession(machine.home, "11111111-aaaa")
    session.turn("Which price?")
    screen = open_page(machine.local.url)
    line = screen.find("[data-live]", has_text="Which price?")
    bar = line.locator(".live-bar > span")
    before = bar.get_attribute("style") or ""
    with screen.held(line):
        session.turn("And the next one?")
        expect(line.locator(".unseen")).to_contain_text(used_in(session.path))
    expect(bar).not_to_have_attribute("style", before)
    expect(screen.find("#connection")).to_have_text("live")


def test_names_that_are_markup_stay_text(machine: Machine, open_page: Open) -> None:
    session = GrowingSession(machine.home, "11111111-aaaa", project="x")
    session.cwd = f"/{HOSTILE.replace('/', '')}"
    session.turn(HOSTILE, answer=HOSTILE)
    screen = open_page(machine.local.url)
    line = screen.find("#live-list .session")
    expect(line).to_contain_text("onerror")
    line.click()
    expect(screen.find("#looked")).to_contain_text("onerror")
    assert screen.find("#live img, #live b, #looked img, #looked b").count() == 0
    assert "taken" not in screen.page.title()


def test_a_session_that_is_gone_says_so(machine: Machine, open_page: Open) -> None:
    screen = open_page(f"{machine.local.url}/#live=none")
    expect(screen.find(".notice")).to_contain_text("No session with this id runs")
    expect(screen.find("#connection")).to_have_text("session is gone")


def test_without_the_right_nothing_of_it_is_asked_for(
    provider: str, tmp_path: Path, open_page: Open
) -> None:
    home = tmp_path / "home"
    GrowingSession(home, "11111111-aaaa").turn("Which price?")
    kept = NamedTokens(FileRecords(tmp_path))
    token = kept.add("reader", ("read",), expires=None, now=0)
    shows = live_in(home)
    with serving(provider, tmp_path / "s.db", tokens=kept, shows=shows) as local:
        screen = open_page(local.url)
        asked: list[str] = []
        screen.page.on("request", lambda request: asked.append(request.url))
        screen.find("dialog input").fill(token)
        screen.find("dialog input").press("Enter")
        expect(screen.find("#access")).to_contain_text("reader")
        with screen.page.expect_response(re.compile("/v1/sessions")):
            pass
        assert not [url for url in asked if "/v1/live" in url]
        expect(screen.find("#live")).to_be_hidden()


def test_on_a_phone_list_and_gauge_fit(machine: Machine, open_page: Open) -> None:
    session = GrowingSession(machine.home, "11111111-aaaa")
    session.turn("Which price? " * 20)
    screen = open_page(machine.local.url, viewport={"width": 390, "height": 844})
    screen.find("#tabs").get_by_role("button", name="Sessions").click()
    screen.find("#live-list .session").click()
    expect(screen.find("#brief")).to_contain_text(used_in(session.path))
    expect(screen.find("#looked .item").first).to_be_visible()
    assert screen.page.evaluate("document.documentElement.scrollWidth") <= 390
