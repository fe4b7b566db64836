"""The page as a person has it: what stands there, and what can be done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, Self

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, expect

WAIT_MS = 60_000
"""After which something that should appear is given up; this machine may be busy."""

CHROMIUMS_OWN = (
    "Failed to load resource: net::ERR_",
    "Ignored attempt to cancel a touchstart event",
)
"""What Chromium writes itself when a server is away, whose handling is tested, and when Playwright's taps, which may be
cancelled, come while something scrolls: the page listens to no touch."""


LASTING = """const later = setTimeout;
window.setTimeout = (act, ms, ...more) => later(act, ms === 4_000 ? 60_000 : ms, ...more);"""
"""What the page says for four seconds stays for a minute: a busy machine would look for it too late."""


class Screen:
    """A page in a browser. ``problems`` are its errors, what its policy refused among them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.refused: list[int] = []

    @classmethod
    def opened(
        cls, browser: Browser, url: str, session: str, context: Mapping[str, Any]
    ) -> Self:
        """The page at this address, with a session shown."""
        page = browser.new_context(
            **{"viewport": {"width": 1440, "height": 900}, **context}
        ).new_page()
        page.add_init_script(LASTING)
        page.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        screen = cls(page)
        page.on("console", screen._heard)
        page.on("pageerror", screen._failed)
        page.goto(f"{url}/#session={session}" if session else url)
        if session:
            screen.is_live()
        return screen

    def _heard(self, said: ConsoleMessage) -> None:
        text = said.text
        if said.type not in ("error", "warning") or text.startswith(CHROMIUMS_OWN):
            return
        if refused := re.search(r"server responded with a status of (\d+)", text):
            self.refused.append(int(refused.group(1)))
            return
        self.problems.append(text)

    def _failed(self, error: Error) -> None:
        self.problems.append(str(error))

    # -- what stands there --

    def find(self, selector: str, **more: Any) -> Locator:
        """What this CSS selector finds."""
        return self.page.locator(selector, **more)

    def is_live(self) -> None:
        """Wait until the page follows its session."""
        expect(self.find("#connection")).to_have_text("live")
        expect(self.find("#window")).not_to_have_class(re.compile("empty"))

    def is_at_rest(self) -> None:
        """Wait until the page knows that nothing is under way."""
        expect(self.find("#cancel")).to_be_hidden()
        expect(self.find("#activity")).to_have_text("")

    @property
    def used(self) -> int:
        """The number on the gauge."""
        return int(self.find(".used-number").inner_text().replace(",", ""))

    @property
    def snapshot(self) -> str:
        """Of which reading the gauge is."""
        return self.find(".meter").get_attribute("data-snapshot") or ""

    def answers(self) -> Locator:
        """The model's answers that are finished."""
        return self.find("article.assistant:not(.draft)")

    def marks(self, text: str) -> Locator:
        """Lines between the messages with this text."""
        return self.find(".mark", has_text=text)

    # -- what can be done --

    def say(self, text: str, key: str = "Enter") -> None:
        """Write and send."""
        box = self.find("#say")
        box.fill(text)
        box.press(key)

    def press(self, key: str) -> None:
        """A key, with the focus on nothing in particular."""
        self.page.evaluate("document.activeElement.blur()")
        self.page.keyboard.press(key)

    @contextmanager
    def held(self, node: Locator) -> Iterator[None]:
        """The mouse button is down over this as long as the block lasts, and what happened is drawn before it is up."""
        node.hover()
        self.page.mouse.down()
        yield
        self.page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
        self.page.mouse.up()

    def row(self, path: str) -> Locator:
        """A row of the breakdown."""
        return self.find(f'[data-path="{path}"]')


class Open(Protocol):
    """Opens the page; ``context`` is what Playwright's contexts take, such as a viewport."""

    def __call__(self, url: str, session: str = "", **context: Any) -> Screen: ...
