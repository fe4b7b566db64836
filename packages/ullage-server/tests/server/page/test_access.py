"""Who can use the page, and how: with a token, with keys, with a screen reader, on a small screen, in the dark."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Response, Route, expect

from tests.server.page.screen import Open, Screen
from tests.server.served import Local, script, serving
from ullage_simulators import running

LARGEST_PAINT = 82_000
"""Bytes that may come over the wire, compressed and with their headers, until the page stands there with a session."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with (
        running(script({"text": "Yes."})) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path_factory.mktemp("guarded") / "sessions.db",
            token="a-long-word-for-tests",
            headers={"authorization": "Bearer a-long-word-for-tests"},
        ) as server,
    ):
        yield server


def test_the_token_is_asked_for_once_and_kept_in_the_tab(
    guarded: Local, open_page: Open
) -> None:
    name = guarded.api.session("guarded")
    screen = open_page(f"{guarded.url}/#session={name}")
    box = screen.find("dialog input")
    box.fill("wrong")
    box.press("Enter")
    expect(screen.find("dialog")).to_contain_text("does not take this token")
    screen.find("dialog input").fill("a-long-word-for-tests")
    screen.find("dialog input").press("Enter")
    screen.is_live()
    screen.say("Hello?")
    expect(screen.answers()).to_contain_text("Yes.")
    screen.page.reload()
    screen.is_live()
    expect(screen.find("dialog")).to_be_hidden()
    assert "a-long-word-for-tests" not in screen.page.url
    assert screen.page.evaluate("localStorage.length + document.cookie.length") == 0
    assert set(screen.refused) == {401}


def test_the_link_opens_the_page_once_for_tabs(guarded: Local, open_page: Open) -> None:
    name = guarded.api.session("linked")
    link = f"{guarded.url}/#link={guarded.accepted.new_link()}"
    screen = open_page(link)
    screen.find(f'[data-session="{name}"]').click()
    screen.is_live()
    assert screen.page.url == f"{guarded.url}/#session={name}"
    assert screen.refused == []
    other = screen.page.context.new_page()
    other.goto(f"{guarded.url}/#session={name}")
    expect(other.locator("#subtitle")).to_contain_text(name)
    expect(other.locator("dialog")).to_be_hidden()
    other.goto("about:blank")
    other.goto(link)
    expect(other.locator(f'[data-session="{name}"]')).to_be_visible()
    expect(other.locator("#notices")).to_be_empty()
    expect(other.locator("dialog")).to_be_hidden()
    late = open_page(link)
    expect(late.find("dialog")).to_contain_text("this one was used")
    assert set(late.refused) == {401, 403}


def test_the_link_answers_tabs_that_want_a_token(guarded: Local, open_page: Open) -> None:
    name = guarded.api.session("asking")
    screen = open_page(guarded.url)
    other = screen.page.context.new_page()
    other.goto(guarded.url)
    for page in (screen.page, other):
        expect(page.locator("dialog")).to_contain_text("The server asks for a token.")
    screen.page.goto(f"{guarded.url}/#link={guarded.accepted.new_link()}")
    for page in (screen.page, other):
        expect(page.locator(f'[data-session="{name}"]')).to_be_visible()
        expect(page.locator("dialog")).to_be_hidden()


def test_the_first_paint_is_small_and_local(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("painted"))
    expect(screen.find("#accuracy")).not_to_be_empty()  # nothing of it comes late
    answers: list[Response] = []

    def heard(answer: Response) -> None:
        is_late = answer.url.endswith("/silence.js")  # eight seconds after the last event
        if "/v1/" not in answer.url and not is_late:
            answers.append(answer)

    screen.page.on("response", heard)
    screen.page.reload()
    expect(screen.find("#accuracy")).not_to_be_empty()
    assert all(answer.url.startswith(local.url) for answer in answers)
    assert len(answers) > 10
    sizes = [answer.request.sizes() for answer in answers]
    paint = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
    assert paint <= LARGEST_PAINT, paint


def test_the_list_says_where_a_session_is_and_whether_it_waits_for_a_worker(
    local: Local, open_page: Open
) -> None:
    local.api.session("placed", place="attic")
    screen = open_page(local.url, local.api.session("here"))
    line = screen.find('[data-session="placed"]')
    expect(line).to_contain_text("at attic · ")
    expect(screen.find('[data-session="here"]')).not_to_contain_text(" · ")
    local.api.say("placed", "Hello.")
    expect(line).to_contain_text("no worker of the place attic", timeout=60_000)
    expect(line.locator(".dot")).to_have_attribute("aria-label", "waits")


def test_sessions_are_found_by_their_names(local: Local, open_page: Open) -> None:
    for name in ("cellar-one", "cellar-two", "attic"):
        local.api.session(name)
    screen = open_page(local.url, "attic")
    screen.find("#search").fill("cellar")
    expect(screen.find(".session", has_text="cellar-one")).to_be_visible()
    expect(screen.find(".session", has_text="attic")).to_have_count(0)
    screen.find(".session", has_text="cellar-two").click()
    expect(screen.find("#subtitle")).to_contain_text("cellar-two")
    assert screen.page.url.endswith("#session=cellar-two")
    screen.page.go_back()
    expect(screen.find("#subtitle")).to_contain_text("attic")


def test_sessions_are_found_by_what_was_said(local: Local, open_page: Open) -> None:
    for name, text in (("vault", "The zinfandel is corked."), ("larder", "Bread.")):
        local.api.session(name)
        for each in ("Good morning.", text):
            local.api.say(name, each)
            local.api.until(name)
    screen = open_page(local.url, "larder")
    screen.find("#search").fill("corked ZINFANDEL")
    line = screen.find(".session:has(.session-excerpt)")
    held: list[Route] = []
    expect(line).to_have_attribute("data-session", "vault")
    expect(line).to_contain_text("The zinfandel is corked.")
    expect(screen.find(".search-foot")).to_contain_text("found")

    def hold(route: Route) -> None:
        held.append(route)

    screen.page.route("**/sessions/vault/**", hold)
    with screen.page.expect_request("**/sessions/vault/**"):
        line.click()
    screen.find("#search").press("End")
    assert held
    screen.page.route("**/sessions/vault/**", lambda route: route.continue_())
    for request in held:  # what was found is only loaded now: who types goes on typing
        request.continue_()
    expect(screen.find(".shown")).to_contain_text("zinfandel")
    expect(screen.find("#search")).to_be_focused()
    expect(screen.find("#subtitle")).to_contain_text("vault")
    screen.find("#search").fill("")
    expect(screen.find('[data-session="larder"]')).to_be_visible()


def test_the_list_shows_the_fullness_of_the_gauge(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("filled"))
    line = screen.find('[data-session="filled"] .session-full')
    for turn in range(2):
        screen.say(f"Turn {turn}: " + "how is the cask? " * 200 * turn)
        expect(screen.answers()).to_have_count(turn + 1)
        screen.is_at_rest()
        window = local.api.get("/v1/sessions/filled/context").json()["window"]["tokens"]
        expect(screen.find(".meter")).to_have_attribute(
            "data-snapshot",
            local.api.get("/v1/sessions/filled/context").json()["snapshot_id"],
        )
        title = re.compile(f"^[0-9,]+ of {window:,} tokens$")
        expect(line).to_have_attribute("title", title)
        listed = local.api.get("/v1/sessions").json()["sessions"]
        used = [one["used"] for one in listed if one["id"] == "filled"]
        assert used == [pytest.approx(screen.used, abs=window / 100)]


def test_a_session_is_renamed_and_others_see_it(local: Local, open_page: Open) -> None:
    name = local.api.session("unnamed")
    watcher, screen = open_page(local.url, name), open_page(local.url, name)
    screen.find("#menu summary").click()
    screen.find("#rename").click()
    box = screen.find("dialog input")
    expect(box).to_be_focused()
    box.fill("  The cellar,\tonce more ")
    box.press("Enter")
    for each in (screen, watcher):
        expect(each.find("#title")).to_have_text("The cellar, once more")
        line = each.find(f'[data-session="{name}"] .session-title')
        expect(line).to_have_text("The cellar, once more")
    assert local.api.state(name)["title"] == "The cellar, once more"
    refused = local.api.post(f"/v1/sessions/{name}/rename", json={"title": "x" * 201})
    assert refused.status_code == 422
    assert refused.json()["detail"][:29] == "The title has 201 characters:"


def test_a_session_is_forked_and_deleted(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("origin"))
    screen.say("Hello.")
    expect(screen.answers()).to_have_count(1)
    screen.is_at_rest()
    screen.find("#menu summary").click()
    screen.find("#fork").click()
    expect(screen.marks("Copied from origin")).to_be_visible()
    expect(screen.answers()).to_have_count(1)
    fork = screen.page.url.rpartition("=")[2]
    assert fork != "origin"
    screen.find("#menu summary").click()
    screen.find("#delete").click()
    screen.find("dialog").get_by_role("button", name="Delete").click()
    expect(screen.find(f'[data-session="{fork}"]')).to_have_count(0)
    assert local.api.get(f"/v1/sessions/{fork}").status_code == 404
    assert local.api.get("/v1/sessions/origin").status_code == 200


def test_everything_can_be_reached_with_keys(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("keys"))
    screen.say("Hello.")
    expect(screen.answers()).to_have_count(1)
    screen.press("?")
    expect(screen.find("dialog")).to_contain_text("to the message box")
    screen.page.keyboard.press("Escape")
    screen.press("/")
    expect(screen.find("#say")).to_be_focused()
    screen.page.keyboard.type("/?jk")
    expect(screen.find("#say")).to_have_value("/?jk")
    screen.press("j")
    expect(screen.find("article.user")).to_be_focused()
    screen.page.keyboard.press("j")
    expect(screen.answers()).to_be_focused()
    screen.press("w")
    expect(screen.find("#window")).to_be_focused()
    screen.press("s")
    expect(screen.find("#search")).to_be_focused()


def test_single_keys_can_be_switched_off(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("no-keys"))
    screen.find("#help").click()
    screen.find("dialog input[type=checkbox]").uncheck()
    screen.page.keyboard.press("Escape")
    screen.press("/")
    expect(screen.find("#say")).not_to_be_focused()


def test_light_and_dark_follow_system_and_switch(local: Local, open_page: Open) -> None:
    name = local.api.session("coloured")

    def paper(screen: Screen) -> int:
        colour = screen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return int(colour.removeprefix("rgb(").split(",")[0])

    screen = open_page(local.url, name, color_scheme="dark")
    assert paper(screen) < 60
    screen.find("#theme").click()
    expect(screen.find("#theme")).to_have_text("Light")
    assert paper(screen) > 200
    screen.page.reload()
    screen.is_live()
    assert paper(screen) > 200
    assert paper(open_page(local.url, name, color_scheme="light")) > 200


def test_a_small_screen_shows_one_column_at_a_time(local: Local, open_page: Open) -> None:
    viewport = {"width": 390, "height": 844}
    screen = open_page(local.url, local.api.session("small"), viewport=viewport)
    screen.say("Hello.")
    expect(screen.answers()).to_have_count(1)
    expect(screen.find("#window")).to_be_hidden()
    screen.page.wait_for_function(
        "() => document.querySelector('#brief').textContent"
        ".startsWith(document.querySelector('.used-number').textContent + ' ')"
    )
    screen.find("#tabs").get_by_role("button", name="Window").click()
    expect(screen.find(".meter")).to_be_visible()
    expect(screen.find("#conversation")).to_be_hidden()
    wide = screen.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= viewport["width"]
    screen.find("#tabs").get_by_role("button", name="Sessions").click()
    screen.find('[data-session="small"]').click()
    expect(screen.find("#conversation")).to_be_visible()


def test_nothing_moves_for_who_asked_for_that(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("still"), reduced_motion="reduce")
    screen.say("Hello.")
    expect(screen.answers()).to_have_count(1)
    assert screen.page.evaluate("document.getAnimations().length") == 0
