"""Failed attempts on the page: in words, and the same error once."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open
from tests.server.served import Local, serving

AWAY = "http://127.0.0.1:9"
"""An address at which nothing listens."""


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with serving(AWAY, tmp_path_factory.mktemp("away") / "s.db", tries=3) as server:
        yield server


def test_the_same_error_is_one_line_that_counts(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("away"))
    screen.say("Hello?")
    mark = screen.find(".mark.warn")
    trying = r"Attempt \d failed, again in \d+ s"  # for a second: a busy page may only show the end
    expect(mark).to_have_text(
        re.compile(rf"^({trying}|Failed after 3 attempts): anthropic")
    )
    local.api.until("away", "waiting")
    expect(mark).to_have_text(
        re.compile(r"^Failed after 3 attempts: anthropic .* can't be reached: .*Resume$")
    )
    expect(mark).to_have_count(1)
    screen.page.reload()
    screen.is_live()
    expect(mark).to_have_text(re.compile("^Failed after 3 attempts"))
    mark.get_by_role("button", name="Resume").click()
    expect(mark).to_have_count(2)
    expect(mark.last).to_have_text(re.compile("^Failed after 3 attempts"))


def test_what_was_overcome_is_past(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("overcome"))
    told = screen.page.evaluate(
        """async () => {
            const { Ledger } = await import("./assets/ledger.js");
            const { drawMark } = await import("./assets/marks.js");
            const ledger = new Ledger(() => {});
            const apply = (event) => (ledger.line({ seq: event.seq, text: "x", style: "warn" }), ledger.apply(event));
            const told = { type: "call_retried", call: "c", wait_s: 2.041 };
            const retried = (seq, attempt, error) => apply({ ...told, seq, attempt, error });
            const shown = () => [...ledger.items.values()].map((item) => drawMark(item, {}, ledger).textContent);
            const all = [];
            retried(1, 1, "Overloaded.");
            all.push(shown());
            retried(2, 2, "Overloaded.");
            all.push(shown());
            retried(3, 3, "Cut off.");
            all.push(shown());
            ledger.apply({ type: "call_ended", seq: 4, call: "c" });
            all.push(shown());
            return all;
        }"""
    )
    assert told == [
        ["Attempt 1 failed, again in 2 s: Overloaded."],
        ["Attempt 2 failed, again in 2 s: Overloaded."],
        [
            "Attempt 2 failed, again in 2 s: Overloaded.",
            "Attempt 3 failed, again in 2 s: Cut off.",
        ],
        [
            "Attempt 2 failed, again in 2 s: Overloaded.",
            "3 attempts failed, the next did not: Cut off.",
        ],
    ]
