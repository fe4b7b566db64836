"""A session log of another agent, dropped on the page."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import expect

from tests.places import CLIENT_LOGS
from tests.server.page.screen import Open, Screen
from tests.server.served import Local
from ullage.importers import read
from ullage.meter.meter import Meter

FIXTURES = CLIENT_LOGS
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><b>bold</b>"


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
    expect(screen.find("#growth .calls-said")).to_contain_text(
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


def test_a_file_that_is_no_log_gets_a_reason(local: Local, open_page: Open) -> None:
    screen = open_page(local.url)
    drop(screen, "shopping.txt", b"bread, wine, candles")
    expect(screen.find(".notice")).to_be_visible()
    expect(screen.find(".notice")).to_contain_text(re.compile("session", re.IGNORECASE))
    expect(screen.find("#looked")).to_be_hidden()
    assert screen.refused == [422]


def hostile_log() -> bytes:
    """A log of Claude Code with a tool, a path and a result that are markup, and one label of a megabyte."""
    lines: list[dict[str, Any]] = []
    for number, path in enumerate([HOSTILE, "\x1b[31m\u202e" + "x" * 1_000_000]):
        tool_input = {"file_path": path}
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": HOSTILE,
            "input": tool_input,
        }
        usage = {"input_tokens": 900 + number, "output_tokens": 9}
        answer = {
            "role": "assistant",
            "id": f"m{number}",
            "model": "claude-haiku-4-5",
            "content": [use],
            "usage": usage,
        }
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": HOSTILE * 9,
        }
        lines.append({"type": "assistant", "message": answer})
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
    common = {"sessionId": "s", "version": "2.1.0", "cwd": "/w", "isSidechain": False}
    parent: str | None = None
    for place, line in enumerate(lines):
        line.update(common)
        line.update(uuid=f"u{place}", parentUuid=parent)
        line["timestamp"] = f"2026-11-20T10:00:0{place}.000Z"
        parent = f"u{place}"
    return b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"


def test_names_stay_text_and_short_in_a_log(local: Local, open_page: Open) -> None:
    screen = open_page(local.url)
    drop(screen, "hostile.jsonl", hostile_log())
    expect(screen.find("#looked")).to_contain_text("onerror")
    assert screen.find("#looked img, #looked b, #looked script").count() == 0
    assert "taken" not in screen.page.title()
    assert len(screen.find("#looked").inner_html()) < 200_000
