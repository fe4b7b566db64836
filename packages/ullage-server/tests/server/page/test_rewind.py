"""Going back to before a message, from the page."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.server.page.screen import Open, Screen
from tests.server.served import Local


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
