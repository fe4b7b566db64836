"""A session as it happens: what is written appears, the gauge moves, and a cancel stops it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open
from tests.server.served import Local, script, serving
from ullage_simulators import running

TABLE = "## Casks\n\n| cask | level |\n|---|---|\n| 7 | **90** |\n\n- one\n- `two`"
ANSWERS = (
    {
        "when": {"contains": "at length"},
        "text": "The cask was filled in spring, and then it stood. " * 4_000,
    },
    {"when": {"contains": "table"}, "text": TABLE},
    {
        "when": {"contains": "Think"},
        "reasoning": "A cask is a barrel.",
        "text": "It is round.",
    },
    {"text": "A hand's breadth of air stands over the wine."},
)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with (
        running(script(*ANSWERS, delay_s=0.02)) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path_factory.mktemp("live") / "sessions.db",
            model="anthropic:claude-opus-4-6",
            params={"thinking": {"type": "adaptive"}},
        ) as server,
    ):
        yield server


def test_an_answer_appears_and_the_gauge_grows(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("growing"))
    before = screen.used
    screen.say("Tell me of the cask.")
    expect(screen.find("article.user")).to_contain_text("Tell me of the cask.")
    expect(screen.answers()).to_contain_text("A hand's breadth of air")
    screen.is_at_rest()
    expect(screen.find("article.draft")).to_have_count(0)
    expect(screen.find(".used-number")).not_to_have_text(f"{before:,}")
    screen.say("And at length, please.")
    draft = screen.find("article.draft")
    expect(draft).to_contain_text("The cask was filled in spring")
    for often in (10, 20):
        expect(draft).to_contain_text(re.compile(rf"(it stood.*){{{often}}}", re.DOTALL))
    screen.find("#cancel").click()
    screen.is_at_rest()


def test_the_number_on_the_page_is_the_api_s(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("one-number"))
    for count, said in enumerate(("Hello.", "Again.", "And once more."), 1):
        screen.say(said)
        expect(screen.answers()).to_have_count(count)
        screen.is_at_rest()
        local.api.until("one-number")
        reading = local.api.get("/v1/sessions/one-number/context").json()
        expect(screen.find(".meter")).to_have_attribute(
            "data-snapshot", reading["snapshot_id"]
        )
        expect(screen.find("#window")).to_have_attribute(
            "data-snapshot", reading["snapshot_id"]
        )
        assert screen.used == reading["used"]["tokens"]
        meter = screen.find(".meter")
        assert meter.get_attribute("aria-valuenow") == str(reading["used"]["tokens"])
        found = meter.get_attribute("aria-valuetext") or ""
        assert f"compacts at {reading['compaction_point']['tokens']:,}" in found
        shown = screen.find("#rows .top > .row:not(.rest) .row-tokens").all_inner_texts()
        given = [int(one.replace(",", "")) for one in shown]
        assert given == [row["tokens"] for row in reading["rows"]]


def test_who_reads_a_draft_keeps_a_place_when_it_is_gone(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, local.api.session("read"))
    screen.say("Tell me at length.")
    draft = screen.find("article.draft")
    draft.focus()
    expect(draft).to_be_focused()
    local.api.post("/v1/sessions/read/cancel", json={})
    expect(draft).to_have_count(0)
    expect(screen.find("article:focus")).to_have_count(1)


def test_a_cancel_in_the_middle_keeps_the_text(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("cancelled"))
    screen.say("Tell me at length.")
    draft = screen.find("article.draft .prose")
    expect(draft).to_contain_text("The cask was filled in spring")
    shown = draft.inner_text().rstrip("▍ ")[:200]
    screen.find("#say").press("Escape")
    screen.is_at_rest()
    expect(screen.answers()).to_contain_text(shown)
    expect(screen.marks("Cancelled: the partial answer is kept")).to_be_visible()
    expect(screen.find(".interrupted")).to_have_count(0)
    (kept,) = [
        message
        for message in local.api.messages("cancelled")
        if message["role"] == "assistant"
    ]
    assert kept["parts"][0]["text"].startswith(shown)


@pytest.mark.sweep
def test_an_answer_is_drawn_as_markdown(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("drawn"))
    screen.say("A table, please.")
    expect(screen.answers().locator("table td").first).to_have_text("7")
    expect(screen.answers().locator("strong")).to_have_text("90")
    expect(screen.answers().locator("li")).to_have_text(["one", "two"])
    screen.say("Think about it.")
    expect(screen.answers().last).to_contain_text("It is round.")
    fold = screen.answers().last.locator("details.reasoning")
    expect(fold).not_to_have_attribute("open", "")
    fold.locator("summary").click()
    expect(fold).to_contain_text("A cask is a barrel.")


@pytest.mark.sweep
def test_a_whole_answer_is_said_to_a_screen_reader(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("heard"))
    screen.say("Hello.")
    expect(screen.find("#said")).to_have_text(
        "Answer: A hand's breadth of air stands over the wine."
    )
    expect(screen.find("#said")).to_have_attribute("aria-live", "polite")


@pytest.mark.sweep
def test_a_message_without_a_session_begins_one(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("other"))
    screen.find("#new").click()
    expect(screen.find(".session.chosen")).not_to_have_attribute("data-session", "other")
    expect(screen.find("#nothing")).to_be_visible()
    expect(screen.find("#connection")).to_have_text("live")
    screen.say("Hello.")
    expect(screen.answers()).to_contain_text("A hand's breadth of air")
    expect(screen.find(".session.chosen")).to_have_attribute(
        "data-session", re.compile(r"^\d{8}-")
    )


def test_the_list_has_a_new_title_in_its_turn(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("titled-at-once"))
    screen.page.route(
        re.compile(r"/v1/sessions(\?.*)?$"), lambda route: route.abort()
    )  # what the server's list says of it comes later
    screen.say("Which cask is empty?")
    expect(screen.find(".session.chosen .session-title")).to_have_text(
        "Which cask is empty?"
    )


def test_without_a_session_little_is_offered(tmp_path: Path, open_page: Open) -> None:
    with (
        running(script(*ANSWERS)) as provider,
        serving(provider.url("anthropic"), tmp_path / "s.db") as server,
    ):
        screen = open_page(server.url)
        expect(screen.find("#no-sessions")).to_be_in_viewport()
        expect(screen.find(".window-hint")).to_be_visible()
        expect(screen.find("#settings-fold")).to_be_hidden()
        with screen.page.expect_file_chooser():
            screen.find("#nothing [data-opens-log]").click()
        screen.say("Hello.")
        screen.is_live()
        expect(screen.find(".window-hint")).to_be_hidden()
        expect(screen.find("#settings-fold")).to_be_visible()
