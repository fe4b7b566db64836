"""Every view of the page, checked by axe-core: three sizes, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

import pytest
from playwright.sync_api import FilePayload, ViewportSize, expect

from tests.server.page.screen import Open, Screen
from tests.server.page.test_look import FIXTURES
from tests.server.page.test_window import ANSWERS, SMALL, read_log
from tests.server.running_logs import GrowingSession, live_in, metered
from tests.server.served import Local, script, serving
from tests.server.test_conversation import png
from ullage_simulators import running

AXE: Final = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

RULES: Final = {"label-content-name-mismatch": {"enabled": True}}
"""Rules that axe-core runs only where they are named."""

SIZES: Final = (
    ViewportSize(width=1440, height=900),
    ViewportSize(width=820, height=1100),
    ViewportSize(width=390, height=844),
)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, provider: str) -> Iterator[Local]:
    place = tmp_path_factory.mktemp("axe")
    GrowingSession(place, "11111111-aaaa").turn("Which price?")
    metered(place, "main")
    with serving(provider, place / "s.db", shows=live_in(place)) as server:
        server.api.session("own")
        server.api.say("own", "Look at the files.")
        server.api.until("own")
        yield server


def violations(screen: Screen) -> list[str]:
    """What axe-core finds, each with the first place."""
    expression = "(options) => axe.run(document, options)"
    options = {"resultTypes": ["violations"], "rules": RULES}
    screen.page.evaluate(AXE)
    found: dict[str, Any] = screen.page.evaluate(expression, options)
    lines: list[str] = []
    for each in found["violations"]:
        lines.append(f"{each['id']}: {each['nodes'][0]['html'][:200]}")
    return lines


def dialogs(screen: Screen) -> dict[str, list[str]]:
    """The views that open over the conversation, and a message with files."""
    found: dict[str, list[str]] = {}
    message = screen.find("article.user").first
    message.hover()
    message.get_by_role("button", name="Summarise").click()
    found["summary choices"] = violations(screen)
    for name in ("Rewind …", "Where?"):
        message.get_by_role("button", name=name).click()
        expect(screen.find("#dialog")).to_be_visible()
        found[name] = violations(screen)
        screen.page.keyboard.press("Escape")
    screen.find("#menu summary").click()
    found["menu"] = violations(screen)
    for name in ("rename", "delete"):
        screen.find("#menu").evaluate("(menu) => { menu.open = true; }")
        screen.find(f"#{name}").click()
        expect(screen.find("#dialog")).to_be_visible()
        found[name] = violations(screen)
        screen.page.keyboard.press("Escape")
    archive = FilePayload(name="a.zip", mimeType="application/zip", buffer=b"PK\xff\0")
    picture = FilePayload(name="a.png", mimeType="image/png", buffer=png(40, 30))
    screen.find("#attach-files").set_input_files([archive, picture])
    expect(screen.find("#send-problem")).to_be_visible()
    found["attached"] = violations(screen)
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_no_view_has_a_violation(
    local: Local, open_page: Open, size: ViewportSize, scheme: str
) -> None:
    look: dict[str, Any] = {"viewport": size, "color_scheme": scheme}
    screen = open_page(local.url, "own", **look)
    found = {"conversation": violations(screen)}
    found |= dialogs(screen)
    screen.press("?")
    expect(screen.find("#dialog")).to_be_visible()
    found["help"] = violations(screen)
    screen.press("Escape")
    for tab in ("sessions", "window"):
        chosen = screen.find(f"#tabs [data-tab={tab}]")
        if chosen.is_visible():
            chosen.click()
        if tab == "sessions":
            screen.find("#search").fill("files")
            expect(screen.find(".search-foot")).to_contain_text("found")
        else:
            screen.find("#advice-fold summary").click()
            expect(screen.find("#advice :is(.hint, .suggestion)").first).to_be_visible()
            screen.find("#tools-fold summary").click()
            screen.find("#settings-fold summary").click()
            expect(screen.find("#settings input").first).to_be_visible()
        found[tab] = violations(screen)
    screen.find("#search").evaluate(
        "(box) => { box.value = ''; box.dispatchEvent(new Event('input')); }"
    )
    line = screen.find(".live-session", has_text="Question").first
    line.evaluate("(line) => line.click()")
    expect(screen.find("#looked .item").first).to_be_visible()
    found["running session"] = violations(screen)
    assert not any(found.values()), found


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A server without a session, whose model asks for a call that needs approval."""
    asks = {"calls": [{"name": "note", "arguments": {"text": "wine"}}]}
    with running(script({"when": {"after": "user"}, **asks}, {"text": "Done."})) as at:
        place = tmp_path_factory.mktemp("asking") / "s.db"
        url = at.url("anthropic")
        with serving(url, place, tools=[note], approve=["note"]) as server:
            yield server


def note(text: str) -> str:
    """Note something."""
    return text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_no_view_of_a_beginner_has_a_violation(
    asking: Local, open_page: Open, size: ViewportSize, scheme: str
) -> None:
    look: dict[str, Any] = {"viewport": size, "color_scheme": scheme}
    screen = open_page(asking.url, **look)
    expect(screen.find("#nothing")).to_be_visible()
    found = {"empty": violations(screen)}
    screen.find("#log-file").set_input_files(FIXTURES / "claude_code" / "session.jsonl")
    expect(screen.find("#looked .item").first).to_be_visible()
    found["log"] = violations(screen)
    bad = FilePayload(name="a.jsonl", mimeType="text/plain", buffer=b"no log")
    screen.find("#log-file").set_input_files(bad)
    expect(screen.find(".notice", has_text="is no session log")).to_be_visible()
    found["bad log"] = violations(screen)
    name = f"{size['width']}-{scheme}"
    screen = open_page(asking.url, asking.api.session(name), **look)
    found["new session"] = violations(screen)
    screen.say("Note the wine.")
    expect(screen.page.get_by_role("button", name="Allow", exact=True)).to_be_enabled()
    found["approval"] = violations(screen)
    screen.press("a")
    expect(screen.find("#dialog .call-whole")).to_be_visible()
    found["review"] = violations(screen)
    screen.page.keyboard.press("Escape")
    if screen.find("#tabs").is_visible():
        screen.find("#tabs [data-tab=sessions]").click()
    expect(screen.find("#session-list .group").first).to_be_visible()
    found["inbox"] = violations(screen)
    if screen.find("#tabs").is_visible():
        screen.find("#tabs [data-tab=conversation]").click()
    screen.page.get_by_role("button", name="Allow", exact=True).click()
    expect(screen.answers().last).to_contain_text("Done.")
    screen.is_at_rest()
    screen.press("c")
    screen.page.keyboard.press("Enter")
    expect(screen.find("#compact-outcome.failed")).to_be_visible()
    found["failed compaction"] = violations(screen)
    asking.api.delete(f"/v1/sessions/{name}")
    assert not any(found.values()), found


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A server whose small window was compacted several times in a session."""
    with (
        running(script(*ANSWERS, models=[SMALL])) as at,
        serving(
            at.url("anthropic"),
            tmp_path_factory.mktemp("compacted") / "s.db",
            model="anthropic:small",
            window=16_000,
            tools=[read_log],
        ) as server,
    ):
        server.api.session("long")
        for turn in range(12):
            server.api.say("long", f"Turn {turn}: look at the logs.")
            server.api.until("long")
        server.api.post("/v1/sessions/long/compact", json={})
        server.api.until_event("long", "compaction_committed")
        server.api.until("long")
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_what_a_compaction_removed_can_be_read(
    compacted: Local, open_page: Open, size: ViewportSize, scheme: str
) -> None:
    look: dict[str, Any] = {"viewport": size, "color_scheme": scheme}
    screen = open_page(compacted.url, "long", **look)
    away = screen.find("article.away")
    expect(away.first).to_be_attached()
    away.locator(".fold summary").first.evaluate("(summary) => summary.click()")
    found: dict[str, list[str]] = {}
    for place in (0, away.count() // 2, away.count() - 1):
        away.nth(place).evaluate("(message) => message.scrollIntoView()")
        found[f"removed {place}"] = violations(screen)
    assert not any(found.values()), found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_a_preview_and_what_can_be_dropped_have_no_violation(
    compacted: Local, open_page: Open, size: ViewportSize, scheme: str
) -> None:
    name = f"previewed-{size['width']}-{scheme}"
    compacted.api.session(name)
    for turn in range(3):
        compacted.api.say(name, f"Turn {turn}: look at the logs.")
        compacted.api.until(name)
    look: dict[str, Any] = {"viewport": size, "color_scheme": scheme}
    screen = open_page(compacted.url, name, **look)
    if screen.find("#tabs").is_visible():
        screen.find("#tabs [data-tab=window]").click()
    screen.find("#drop-fold summary").click()
    expect(screen.find(".droppable li").first).to_be_visible()
    found = {"droppable": violations(screen)}
    screen.find("#preview").click()
    expect(screen.find("#preview-summary")).to_be_visible()
    for moved in screen.find(".moved summary").all():
        moved.click()
    found["preview"] = violations(screen)
    assert not any(found.values()), found


def test_a_violation_is_found(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "own")
    screen.page.evaluate("document.querySelector('#say').removeAttribute('aria-label')")
    screen.page.evaluate("document.querySelector('#say').removeAttribute('placeholder')")
    assert any(line.startswith("label:") for line in violations(screen))
