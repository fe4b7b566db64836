"""A session log of another agent, dropped on the page."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.places import CLIENT_LOGS
from tests.server.page.screen import Open, Screen
from tests.server.served import Local
from ullage.importers import read
from ullage.meter.meter import Meter

FIXTURES = CLIENT_LOGS


def drop(screen: Screen, name: str, content: bytes) -> None:
    """Let a file fall on the page as a person would."""
    script = """([name, bytes]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], name));
        for (const type of ["dragover", "drop"])
            document.body.dispatchEvent(new DragEvent(type, {dataTransfer: transfer, bubbles: true, cancelable: true}));
    }"""
    screen.page.evaluate(script, [name, list(content)])


def test_a_dropped_log_shows_what_fills_its_window(local: Local, open_page: Open) -> None:
    path = FIXTURES / "claude_code" / "session.jsonl"
    meter = Meter()
    for event in read(path).events:
        meter.apply(event)
    reading = meter.reading()
    screen = open_page(local.url)
    drop(screen, path.name, path.read_bytes())
    expect(screen.find(".used-number")).to_have_text(f"{reading.used.tokens:,}")
    expect(screen.find("#window-model")).to_have_text(reading.model)
    expect(screen.find("#looked .item").first).to_be_visible()
    expect(screen.find("#composer")).to_be_hidden()
    expect(screen.find("#compaction")).to_be_hidden()
    shown = screen.find("#rows .top > .row:not(.rest) .row-tokens").all_inner_texts()
    assert [int(one.replace(",", "")) for one in shown] == [
        row.tokens for row in reading.rows
    ]
    expect(screen.find("#growth .chart-said")).to_contain_text(
        f"Call {len(meter.steps)}:"
    )


def test_a_log_can_be_chosen_and_closed_again(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("behind-the-log"))
    screen.find("#log-file").set_input_files(FIXTURES / "codex" / "session.jsonl")
    expect(screen.find("#looked")).to_be_visible()
    expect(screen.find("#looked")).to_contain_text("lines")
    screen.find("#looked").get_by_role("button", name="Close the log").click()
    expect(screen.find("#looked")).to_be_hidden()
    expect(screen.find("#composer")).to_be_visible()
    screen.is_live()


def test_a_file_that_is_no_log_is_refused_with_the_reason(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url)
    drop(screen, "shopping.txt", b"bread, wine, candles")
    expect(screen.find(".notice")).to_be_visible()
    expect(screen.find(".notice")).to_contain_text(re.compile("session", re.IGNORECASE))
    expect(screen.find("#looked")).to_be_hidden()
    assert screen.refused == [422]
