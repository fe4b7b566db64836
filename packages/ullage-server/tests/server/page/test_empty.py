"""The page before anything was said, and on a small screen what is wider than it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open
from tests.server.served import Local, script, serving
from ullage_simulators import running

PHONE = {"viewport": {"width": 390, "height": 844}}
NAMES = "abcdefghij"
WIDE = "\n".join(
    [
        "|" + "|".join(f"measurement{name}" for name in NAMES) + "|",
        "|" + "---|" * len(NAMES),
        "|" + "|".join("1,000,000" for _ in NAMES) + "|",
    ]
)


@pytest.fixture
def wide(tmp_path: Path) -> Iterator[Local]:
    with (
        running(script({"text": WIDE})) as provider,
        serving(provider.url("anthropic"), tmp_path / "sessions.db") as server,
    ):
        yield server


def test_an_example_is_clicked_and_sent_by_enter(local: Local, open_page: Open) -> None:
    screen = open_page(local.url)
    example = screen.find("[data-example]").first
    example.click()
    text = example.text_content() or ""
    expect(screen.find("#say")).to_have_value(text)
    screen.find("#say").press("Enter")
    expect(screen.find(".message", has_text=text).first).to_be_visible()
    expect(example).to_be_hidden()


def test_a_wide_table_scrolls_on_a_phone(wide: Local, open_page: Open) -> None:
    name = wide.api.session("wide")
    screen = open_page(wide.url, name, **PHONE)
    screen.say("Measure the casks.")
    table = screen.find(".message .table").first
    expect(table).to_be_visible()
    assert table.evaluate("box => box.scrollWidth > 2 * box.clientWidth")
    head = table.locator("th").first
    assert head.evaluate("cell => cell.clientHeight < 40")
    assert screen.page.evaluate("document.documentElement.scrollWidth") <= 390
