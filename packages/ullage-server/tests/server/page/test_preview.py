"""A compaction that is read before it is made, and parts that are dropped, with their price before."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.server.page.screen import Open, Screen
from tests.server.page.test_window import fill, local
from tests.server.served import Local

__all__ = ["local"]


def full(local: Local, open_page: Open, name: str) -> Screen:
    """A session that has room to compact."""
    screen = open_page(local.url, local.api.session(name))
    fill(screen, local, name, 3)
    screen.is_at_rest()
    return screen


def test_a_compaction_is_read_edited_and_undone(local: Local, open_page: Open) -> None:
    screen = full(local, open_page, "previewed")
    before = local.api.messages("previewed")
    screen.find("#preview").click()
    summary = screen.find("#preview-summary")
    expect(summary).to_be_focused()
    dialog = screen.find("#dialog")
    expect(dialog).to_contain_text("stored in the cache again")
    dialog.locator("summary", has_text="Leaves:").click()
    expect(dialog.locator(".moved li").first).to_be_visible()
    assert local.api.messages("previewed") == before
    summary.fill("Three logs were read. The rule is number 1.")
    dialog.get_by_role("button", name="Compact like this").click()
    expect(dialog).to_be_hidden()
    expect(screen.marks("Compacted")).to_be_visible()
    texts = str(local.api.messages("previewed"))
    assert "Three logs were read. The rule is number 1." in texts
    screen.find("#undoable").get_by_role("button", name="Undo").click()
    expect(screen.marks("Undone")).to_be_visible()
    assert local.api.messages("previewed") == before


def test_a_preview_that_is_rejected_changes_nothing(
    local: Local, open_page: Open
) -> None:
    screen = full(local, open_page, "rejected")
    before = local.api.messages("rejected")
    screen.find("#compact-instructions").fill("Keep the rules.")
    screen.find("#preview").click()
    screen.find("#dialog").get_by_role("button", name="Reject").click()
    expect(screen.find("#dialog")).to_be_hidden()
    expect(screen.find("#undoable")).to_be_empty()
    assert local.api.messages("rejected") == before


def test_what_can_not_be_previewed_says_why(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("nothing"))
    screen.find("#preview").click()
    close = screen.find("#dialog").get_by_role("button", name="Close")
    expect(close).to_be_visible()
    assert screen.refused == [409]


def test_a_part_is_dropped_for_the_price_that_was_shown(
    local: Local, open_page: Open
) -> None:
    screen = full(local, open_page, "dropped")
    with screen.page.expect_response("**/droppable?**") as listed:
        screen.find("#drop-fold summary").click()
    parts = listed.value.json()["droppable"]
    place = next(n for n, part in enumerate(parts) if len(part["messages"]) == 1)
    part = parts[place]
    line = screen.find(".droppable li").nth(place)
    expect(line).to_contain_text(f"−{part['freed']:,}")
    expect(line).to_contain_text(f"{part['cache_lost']:,} tokens cached again")
    used = screen.used
    line.get_by_role("button", name="Drop").press("Enter")
    undo = screen.find("#undoable").get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    expect(screen.find(".used-number")).to_have_text(f"{used - part['freed']:,}")
    undo.click()
    expect(screen.find(".used-number")).to_have_text(f"{used:,}")


def test_what_must_stay_says_why(local: Local, open_page: Open) -> None:
    screen = full(local, open_page, "staying")
    (largest, *_) = local.api.get("/v1/sessions/staying/largest").json()["largest"]
    local.api.post("/v1/sessions/staying/pins", json={"messages": [largest["message"]]})
    screen.find("#drop-fold summary").click()
    stays = screen.find(".droppable li", has_text="it is pinned").first
    expect(stays).to_be_visible()
    expect(stays.get_by_role("button", name="Drop")).to_have_count(0)
