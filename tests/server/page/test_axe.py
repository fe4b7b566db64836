"""Every view of the page, checked by axe-core: three sizes, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.server.page.screen import Open, Screen
from tests.server.running_logs import GrowingSession, live_in, metered
from tests.server.served import Local, serving

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
    metered(place, "main.child-1", origin="main")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size["width"]))
def test_no_view_has_a_violation(
    local: Local, open_page: Open, size: ViewportSize, scheme: str
) -> None:
    look: dict[str, Any] = {"viewport": size, "color_scheme": scheme}
    screen = open_page(local.url, "own", **look)
    found = {"conversation": violations(screen)}
    screen.press("m")
    expect(screen.find("#mapped .cell").first).to_be_visible()
    found["map"] = violations(screen)
    screen.press("?")
    expect(screen.find("#dialog")).to_be_visible()
    found["help"] = violations(screen)
    screen.press("Escape")
    for tab in ("sessions", "window"):
        chosen = screen.find(f"#tabs [data-tab={tab}]")
        if chosen.is_visible():
            chosen.click()
            found[tab] = violations(screen)
    line = screen.find(".live-session", has_text="Question").first
    line.evaluate("(line) => line.click()")
    expect(screen.find("#looked .cell").first).to_be_visible()
    expect(screen.find("#subagents a")).to_have_count(1)
    found["running session"] = violations(screen)
    assert not any(found.values()), found


def test_a_violation_is_found(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, "own")
    screen.page.evaluate("document.querySelector('#say').removeAttribute('aria-label')")
    screen.page.evaluate("document.querySelector('#say').removeAttribute('placeholder')")
    assert any(line.startswith("label:") for line in violations(screen))
