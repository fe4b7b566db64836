"""The list of sessions for a team: what needs a person first, and answering from there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.server.page.screen import Open, Screen
from tests.server.served import Local, script, serving
from ullage_simulators import running

LONG = "\n".join(f"echo {number}" for number in range(120))

ran: list[str] = []


async def note(text: str) -> str:
    """Note something."""
    ran.append(text)
    return "noted"


def calls(word: str, *texts: str) -> dict[str, object]:
    each = [{"name": "note", "arguments": {"text": text}} for text in texts]
    return {"when": {"contains": word, "after": "user"}, "calls": each}


@pytest.fixture
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A new server for each test: all of them count."""
    ran.clear()
    answers = (
        calls("one", "wine"),
        calls("two", "red", "white"),
        calls("long", LONG),
        {"text": "Done."},
    )
    with (
        running(script(*answers)) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path_factory.mktemp("inbox") / "s.db",
            tools=[note],
            approve=["note"],
            tries=1,
        ) as server,
    ):
        yield server


def asks(local: Local, name: str, word: str = "one") -> str:
    """A session in which a call needs approval."""
    local.api.session(name)
    local.api.post(f"/v1/sessions/{name}/rename", json={"title": name})
    local.api.say(name, f"Note {word}.")
    local.api.until(name, "waiting")
    return name


def fails(local: Local, name: str) -> str:
    """A session whose model there is not."""
    local.api.session(name, settings={"model": "anthropic:nosuch"})
    local.api.say(name, "Hello.")
    local.api.until(name, "waiting")
    return name


def rests(local: Local, name: str) -> str:
    local.api.session(name)
    local.api.say(name, "Hello.")
    local.api.until(name)
    return name


def order(screen: Screen) -> list[str]:
    """The listed sessions and headings, from above."""
    lines = screen.find("#session-list > li")
    shown = "(lines) => lines.map((line) => line.querySelector('[data-session]')?.dataset.session ?? line.textContent)"
    return list(lines.evaluate_all(shown))


def line(screen: Screen, name: str) -> Locator:
    return screen.find(f'[data-session="{name}"]')


def test_what_needs_a_person_is_first_with_its_count(
    local: Local, open_page: Open
) -> None:
    fails(local, "broken")
    asks(local, "first")
    asks(local, "second", "two")
    rests(local, "calm")
    screen = open_page(local.url, "calm")
    expect(line(screen, "second")).to_be_visible()
    assert order(screen) == [
        "Needs you · 3",
        "first",
        "second",
        "broken",
        "Others",
        "calm",
    ]
    expect(line(screen, "first")).to_contain_text(re.compile(r"note\s*for \d+ s"))
    expect(line(screen, "second")).to_contain_text("note and 1 more")
    expect(line(screen, "broken")).to_contain_text("failed: not found")
    expect(line(screen, "broken")).to_contain_text("has no such model or endpoint")
    for name, label in (
        ("first", "needs approval"),
        ("broken", "failed"),
        ("calm", "at rest"),
    ):
        dot = line(screen, name).locator(".dot")
        expect(dot).to_have_attribute("aria-label", label)
    signs = screen.find(".dot").evaluate_all(
        "(dots) => dots.map((dot) => getComputedStyle(dot, '::before').content)"
    )
    assert signs == ['"?"', '"?"', '"!"', "none"]


def test_the_tab_s_title_counts_and_forgets(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, rests(local, "calm"))
    expect(screen.page).to_have_title("Ullage")
    asks(local, "first")
    expect(screen.page).to_have_title("(1) Ullage")
    line(screen, "first").click()
    screen.page.get_by_role("button", name="Allow", exact=True).click()
    expect(screen.page).to_have_title("Ullage")
    expect(screen.find("#session-list .group")).to_have_count(0)


def test_a_call_is_read_and_allowed_without_leaving_the_session(
    local: Local, open_page: Open
) -> None:
    asks(local, "first")
    asks(local, "second", "two")
    screen = open_page(local.url, rests(local, "calm"))
    screen.page.get_by_role("button", name="Review note of first").click()
    dialog = screen.find("#dialog")
    expect(dialog.get_by_role("heading", name="first")).to_be_visible()
    expect(dialog.locator(".call-whole")).to_contain_text("text: wine")
    dialog.get_by_role("button", name="Allow", exact=True).click()
    expect(dialog).to_contain_text("Allowed: note runs.")
    local.api.until("first")
    assert ran == ["wine"]
    dialog.get_by_role("button", name="Next (2 more)").click()
    expect(dialog.locator(".call-whole")).to_contain_text("text: red")
    dialog.get_by_label("Reason for not allowing note").fill("White wine only.")
    dialog.get_by_role("button", name="Don't allow").click()
    expect(dialog).to_contain_text("Not allowed: the model is told so")
    dialog.get_by_role("button", name="Next (1 more)").click()
    expect(dialog.locator(".call-whole")).to_contain_text("text: white")
    dialog.get_by_role("button", name="Show the session").click()
    expect(screen.find("#subtitle")).to_contain_text("second")
    expect(screen.find(".tag.state-denied")).to_be_visible()
    assert ran == ["wine"]


def test_keys_alone_lead_to_an_answer(local: Local, open_page: Open) -> None:
    asks(local, "first")
    screen = open_page(local.url, rests(local, "calm"))
    expect(line(screen, "first")).to_be_visible()
    screen.press("a")
    whole = screen.find("#dialog .call-whole")
    expect(whole).to_be_focused()
    allow = screen.page.get_by_role("button", name="Allow", exact=True)
    expect(allow).to_be_enabled()
    screen.page.keyboard.press("Tab")
    expect(allow).to_be_focused()
    screen.page.keyboard.press("Enter")
    expect(screen.find("#dialog")).to_contain_text("Allowed: note runs.")
    screen.page.keyboard.press("Escape")
    expect(screen.find("#dialog")).to_be_hidden()
    local.api.until("first")
    assert ran == ["wine"]


def test_a_long_call_is_read_to_its_end_before_it_is_allowed(
    local: Local, open_page: Open
) -> None:
    asks(local, "first", "long")
    screen = open_page(local.url, rests(local, "calm"))
    screen.page.get_by_role("button", name="Review note of first").click()
    expect(screen.page.get_by_text("Scroll the call to its end")).to_be_visible()
    expect(screen.page.get_by_role("button", name="Don't allow")).to_be_enabled()
    expect(screen.page.get_by_role("button", name="Allow", exact=True)).to_be_disabled()


def test_a_second_click_on_what_opened_the_question_is_no_answer(
    local: Local, open_page: Open
) -> None:
    asks(local, "first")
    screen = open_page(local.url, rests(local, "calm"))
    screen.page.evaluate(
        """() => new MutationObserver(() => {
            const allow = document.querySelector("#dialog .allowing button");
            if (allow && !window.first) { window.first = allow; window.was = allow.disabled; allow.click(); }
        }).observe(document.querySelector("#dialog"), { childList: true, subtree: true, attributes: true })"""
    )
    screen.page.get_by_role("button", name="Review note of first").click()
    expect(screen.page.get_by_role("button", name="Allow", exact=True)).to_be_enabled()
    assert screen.page.evaluate("window.was") is True
    assert local.api.state("first")["state"] == "waiting"


def test_who_comes_second_is_told_so(local: Local, open_page: Open) -> None:
    asks(local, "first")
    rests(local, "calm")
    slow, quick = open_page(local.url, "calm"), open_page(local.url, "calm")
    for screen in (slow, quick):
        screen.page.get_by_role("button", name="Review note of first").click()
    allow = slow.page.get_by_role("button", name="Allow", exact=True)
    expect(allow).to_be_enabled()
    slow.page.route("**/v1/sessions?*", lambda route: route.abort())  # no list tells it
    quick.page.get_by_role("button", name="Don't allow").click()
    expect(quick.find("#dialog")).to_contain_text("Not allowed")
    allow.click()
    expect(slow.find("#dialog")).to_contain_text(
        "Another person was faster: the call note was answered before, and your answer changed nothing."
    )
    assert ran == []
    slow.problems.clear()


def test_a_question_that_was_answered_elsewhere_closes_itself(
    local: Local, open_page: Open
) -> None:
    asks(local, "first")
    screen = open_page(local.url, rests(local, "calm"))
    screen.page.get_by_role("button", name="Review note of first").click()
    expect(screen.find("#dialog .call-whole")).to_be_visible()
    (call,) = local.api.get("/v1/sessions/first/approvals").json()["approvals"]
    path = f"/v1/sessions/first/approvals/{call['call_id']}"
    local.api.post(path, json={"approved": False, "digest": call["digest"]})
    expect(screen.find("#dialog")).to_contain_text("This call was answered already")
    expect(screen.page.get_by_role("button", name="Allow", exact=True)).to_have_count(0)


def test_a_new_list_moves_neither_focus_nor_what_is_read(
    local: Local, open_page: Open
) -> None:
    for number in range(40):
        local.api.session(f"s{number:02}")
    screen = open_page(local.url, "s00", viewport={"width": 1440, "height": 500})
    scrolled = screen.find("#session-list")
    line(screen, "s05").focus()
    place = "(line) => line.getBoundingClientRect().top"
    node = line(screen, "s05").element_handle()
    before = line(screen, "s05").evaluate(place)
    assert scrolled.evaluate("(list) => list.scrollTop") > 0
    asks(local, "first")
    expect(screen.find("#session-list .group").first).to_be_attached()
    expect(line(screen, "s05")).to_be_focused()
    assert line(screen, "s05").evaluate("(line, old) => line === old", node)
    screen.page.wait_for_function(
        f"([line, before]) => Math.abs(({place})(line) - before) < 2", arg=[node, before]
    )
    local.api.say("s05", "Note one.")
    local.api.until("s05", "waiting")
    expect(line(screen, "s05")).to_contain_text("note")
    expect(line(screen, "s05")).to_be_focused()


def test_many_that_need_a_person_leave_the_others_in_sight(
    local: Local, open_page: Open
) -> None:
    for number in range(10):
        asks(local, f"ask{number}")
    screen = open_page(local.url, rests(local, "calm"))
    expect(screen.find("#session-list .group").first).to_have_text("Needs you · 10")
    expect(screen.find("[data-review]")).to_have_count(5)
    expect(line(screen, "calm")).to_be_in_viewport()
    screen.page.get_by_role("button", name="Show 5 more").click()
    expect(screen.find("[data-review]")).to_have_count(10)
