"""The picture of a session as a person sees it in a browser: the page and the card as an image."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.picture.sessions import HOSTILE, session
from tests.server.page.screen import Screen
from tests.server.page.test_axe import violations
from ullage.picture.html import html
from ullage.picture.model import picture_of
from ullage.picture.svg import svg

DRAWN = picture_of(session(f"{HOSTILE}{'long' * 200}"), title=HOSTILE * 9)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 820, 390])
def test_the_page_runs_nothing_does_not_scroll_sideways_and_has_no_violation(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    file = tmp_path / "picture.html"
    file.write_text(html(DRAWN), "utf-8")
    look = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    screen = Screen.opened(browser, file.as_uri(), "", {**look, "bypass_csp": True})
    page = screen.page
    page.evaluate(
        "document.querySelectorAll('details').forEach((one) => one.open = true)"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.scripts.length") == 0
    assert violations(screen) == []
    assert screen.problems == []
    page.context.close()


def test_the_card_is_an_image_of_a_page(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "card.svg").write_text(svg(DRAWN), "utf-8")
    page = tmp_path / "page.html"
    page.write_text('<img src="card.svg">', "utf-8")
    screen = Screen.opened(browser, page.as_uri(), "", {})
    shown = screen.page.evaluate(
        "document.images[0].decode().then(() => document.images[0].naturalWidth)"
    )
    assert shown == 1_000
    screen.page.context.close()
