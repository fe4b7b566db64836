"""A real browser, which the tests of the page share. It has to be installed: without it they fail and say how."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.server.page.screen import Open, Screen

CHROMIUM = "/usr/bin/chromium"
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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    path = os.environ.get("CHROMIUM", CHROMIUM)
    if not Path(path).exists():
        pytest.fail(
            f"There is no Chromium at {path}. The page is tested in a real one: `apt-get install chromium`, "
            "or set CHROMIUM to where it is.",
            pytrace=False,
        )
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
