"""Going back to before a message, from the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open, Screen
from tests.server.served import Local, script, serving
from ullage_simulators import running


def three_turns(local: Local, open_page: Open, name: str) -> Screen:
    """A session in which three things were said."""
    local.api.session(name)
    for word in ("First", "Second", "Third"):
        local.api.say(name, f"{word} question.")
        local.api.until(name)
    screen = open_page(local.url, name)
    expect(screen.answers()).to_have_count(3)
    return screen


def test_a_rewind_by_keys_says_what_leaves(local: Local, open_page: Open) -> None:
    screen = three_turns(local, open_page, "rewound")
    second = screen.find("article.user", has_text="Second question.")
    second.focus()
    second.get_by_role("button", name="Rewind …").press("Enter")
    dialog = screen.find("#dialog")
    expect(dialog).to_contain_text(
        "“Second question.” and everything behind it, 4 messages"
    )
    expect(dialog.get_by_role("button", name="No")).to_be_focused()
    screen.page.keyboard.press("Tab")
    screen.page.keyboard.press("Enter")
    expect(screen.marks("Rewound")).to_be_visible()
    expect(screen.find("#say")).to_have_value("Second question.")
    expect(screen.find("#say")).to_be_focused()
    expect(second.locator(".tag")).to_have_text("rewound")
    expect(second.get_by_role("button", name="Pin")).to_have_count(0)
    said = [one["parts"][0]["text"] for one in local.api.messages("rewound")]
    assert said[0] == "First question."
    assert len(said) == 2


def test_a_no_changes_nothing(local: Local, open_page: Open) -> None:
    screen = three_turns(local, open_page, "kept")
    first = screen.find("article.user", has_text="First question.")
    first.hover()
    first.get_by_role("button", name="Rewind …").click()
    expect(screen.find("#dialog")).to_be_visible()
    screen.page.keyboard.press("Escape")
    expect(screen.find("#dialog")).to_be_hidden()
    assert len(local.api.messages("kept")) == 6
    first.get_by_role("button", name="Rewind …").click()
    screen.find("#dialog").get_by_role("button", name="Rewind").click()
    expect(screen.marks("Rewound")).to_be_visible()
    assert local.api.messages("kept") == []


@pytest.fixture(scope="module")
def writing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Local, Path]]:
    """A server whose model writes a file at each turn, and the root of its tools."""
    place = tmp_path_factory.mktemp("writing")
    root = place / "root"
    root.mkdir()
    writes: list[dict[str, Any]] = []
    for content in ("one\n", "two\n"):
        call = {"name": "write", "arguments": {"path": "a.txt", "content": content}}
        writes.append({"when": {"after": "user"}, "calls": [call], "times": 1})
    with running(script(*writes, {"text": "Done."})) as at:
        url = at.url("anthropic")
        with serving(url, place / "s.db", tools=["write"], root=root) as server:
            yield server, root


def test_a_rewind_shows_and_restores_files_and_is_undone(
    writing: tuple[Local, Path], open_page: Open
) -> None:
    local, root = writing
    written = root / "a.txt"
    local.api.session("files")
    for word in ("First", "Second"):
        local.api.say("files", f"{word} file.")
        local.api.until("files")
    assert written.read_text() == "two\n"
    screen = open_page(local.url, "files")
    second = screen.find("article.user", has_text="Second file.")
    second.hover()
    second.get_by_role("button", name="Rewind …").click()
    dialog = screen.find("#dialog")
    dialog.locator(".changed-files summary").click()
    expect(dialog.locator(".diff .minus").last).to_have_text("-one\n")
    expect(dialog.locator(".diff .plus").last).to_have_text("+two\n")
    dialog.get_by_role("button", name="Rewind with 1 file").click()
    expect(screen.marks("Rewound")).to_be_visible()
    expect(screen.find("#say")).to_have_value(
        "Second file."
    )  # files come behind the event
    assert written.read_text() == "one\n"
    undo = screen.find("#undoable").get_by_role("button", name="Undo")
    expect(screen.find("#undoable")).to_contain_text("rewound with files")
    undo.click()
    expect(second.locator(".tag")).to_have_count(0)
    expect(screen.find("#said")).to_have_text("Undone, 1 file restored")
    assert written.read_text() == "two\n"
