"""A real browser, which the tests of the page share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.programs import needed
from tests.server.page.screen import Open, Screen

ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window. Not for longer than a file: its event loop is in the way of asynchronous tests."""
    path = needed("chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens pages, each in a context of its own; what goes wrong in them fails the test."""
    opened: list[Screen] = []

    def opener(url: str, session: str = "", **context: object) -> Screen:
        screen = Screen.opened(browser, url, session, context)
        opened.append(screen)
        return screen

    yield opener
    problems = [problem for screen in opened for problem in screen.problems]
    for screen in opened:
        screen.page.context.close()
    assert not problems
