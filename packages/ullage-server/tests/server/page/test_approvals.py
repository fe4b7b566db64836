"""The question whether a call may run, on the page: all of the call, its answers, and what is allowed for good."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open
from tests.server.served import Local, script, serving
from ullage_simulators import running

LONG = "\n".join([*(f"echo {number}" for number in range(199)), "touch hidden"])
HIDDEN = "echo safe \u202e ; rm \u200bx \x1b[2K <img src=x onerror=alert(1)>"

noted: list[str] = []


async def note(text: str) -> str:
    """Note something."""
    noted.append(text)
    return "noted"


@pytest.fixture(autouse=True)
def nothing_noted() -> None:
    noted.clear()


def calls(word: str, text: str) -> dict[str, object]:
    return {
        "when": {"contains": word, "after": "user"},
        "calls": [{"name": "note", "arguments": {"text": text}}],
    }


IS_AT_END = "box => box.scrollTop + box.clientHeight >= box.scrollHeight - 1"
SCROLLS = "box => { window.still = new Promise((done) => (box.onscrollend = done)); }"
"""The page must see every part of a box, and two pages at once are a gap: each is waited for."""


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    answers = (
        calls("long", LONG),
        calls("hidden", HIDDEN),
        calls("short", "wine"),
        {"text": "Done."},
    )
    with (
        running(script(*answers)) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path_factory.mktemp("notes") / "s.db",
            tools=[note],
            approve=["note"],
        ) as server,
    ):
        yield server


def test_a_long_call_is_allowed_once_it_was_read(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("long"))
    screen.say("A long one.")
    allow = screen.page.get_by_role("button", name="Allow", exact=True)
    whole = screen.page.get_by_role("region", name="All of the call: note")
    expect(whole).to_contain_text("touch hidden")
    expect(allow).to_be_disabled()
    expect(screen.page.get_by_role("button", name="Don't allow")).to_be_enabled()
    whole.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(screen.page.get_by_text("Scroll the call to its end")).to_be_visible()
    expect(allow).to_be_disabled()
    whole.evaluate("box => box.scrollTo(0, 0)")
    whole.focus()
    while not whole.evaluate(IS_AT_END):
        whole.evaluate(SCROLLS)
        whole.press("PageDown")
        screen.page.evaluate("window.still.then(() => null)")
    expect(allow).to_be_enabled()
    allow.click()
    expect(allow).to_be_hidden()
    local.api.until("long")
    assert noted == [LONG]


def test_what_cannot_be_seen_is_spelled_and_nothing_becomes_markup(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, local.api.session("hidden"))
    screen.say("A hidden one.")
    whole = screen.page.get_by_role("region", name="All of the call: note")
    spelled = r"text: echo safe \u202e ; rm \u200bx \x1b[2K <img src=x onerror=alert(1)>"
    expect(whole).to_contain_text(spelled)
    expect(whole.locator(".piece.escape")).to_have_text([r"\u202e", r"\u200b", r"\x1b"])
    expect(screen.find(".fold.tool .arguments")).to_contain_text(
        r"\u202e ; rm \u200bx \u001b[2K <img"
    )
    assert screen.page.locator("#messages img").count() == 0


def test_always_is_listed_and_can_be_revoked(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("always"))
    screen.say("A short one.")
    always = screen.page.get_by_role(
        "button", name="Always allow “every note call” in this session"
    )
    always.click()
    expect(always).to_be_hidden()
    local.api.until("always")
    local.api.say("always", "Another short one.")
    local.api.until("always")
    assert noted == ["wine", "wine"]
    screen.find("#grants-fold summary").click()
    expect(screen.find("#grants")).to_contain_text("every note call")
    screen.page.get_by_role(
        "button", name="Revoke: every note call in this session"
    ).click()
    expect(screen.find("#grants")).to_contain_text(
        "Nothing: each call that needs approval is asked about."
    )
