"""The right column: what fills the window, down to one message; how it grew; what was compacted, and undoing it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.server.page.screen import Open, Screen
from tests.server.served import Local, script, serving
from ullage_programs.line.drawing import interval
from ullage_simulators import running

SHOWN = re.compile("true|false")
SUMMARY = "## Goal\nLook at the logs.\n## State\nThree files were read, nothing failed so far. Next: the fourth."
ANSWERS = (
    {"when": {"contains": "summar"}, "text": SUMMARY},
    {
        "when": {"after": "user"},
        "calls": [{"name": "read_log", "arguments": {"n": n}} for n in (1, 2)],
    },
    {
        "when": {"after": "tool"},
        "text": "All fine in these logs, nothing to report but the usual. " * 5,
    },
)
SMALL = {
    "name": "small",
    "like": "claude-opus-4-6",
    "window": 16_000,
    "max_output": 2_000,
}


def read_log(n: int) -> str:
    """Read a log."""
    return f"log {n}: " + " ".join(f"line {i} cask {i * n % 97} ok" for i in range(120))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with (
        running(script(*ANSWERS, models=[SMALL])) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path_factory.mktemp("window") / "sessions.db",
            model="anthropic:small",
            window=16_000,
            tools=[read_log],
        ) as server,
    ):
        yield server


def fill(screen: Screen, local: Local, session: str, turns: int) -> None:
    """Turns that are said on the page, each until it rests."""
    for turn in range(turns):
        screen.say(f"Turn {turn}: never forget the rule number {turn}, look at the logs.")
        expect(screen.find("article.user", has_text=f"Turn {turn}:")).to_be_attached()
        local.api.until(session)


def test_three_clicks_lead_to_one_message(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("drilled"))
    fill(screen, local, "drilled", 2)
    screen.is_at_rest()
    screen.row("Messages/Tool results").click()
    screen.row("Messages/Tool results/read_log").click()
    item = screen.find("#rows .item").first
    largest = local.api.get("/v1/sessions/drilled/largest").json()["largest"]
    known = next(one for one in largest if one["row"] == "Tool results")
    expect(item).to_contain_text(f"{known['tokens']:,}")
    item.click()
    shown = screen.find(".shown")
    expect(shown).to_be_in_viewport()
    expect(shown.locator(".tokens").first).to_have_text(f"{known['tokens']:,} tokens")
    expect(shown).to_contain_text("cask")


def test_a_row_is_clicked_and_an_item_keeps_the_focus_while_a_reading_comes(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, local.api.session("steady"))
    fill(screen, local, "steady", 1)
    screen.is_at_rest()
    row, item = screen.row("Messages/You"), screen.find("#rows .item").first
    with screen.held(row), screen.page.expect_response("**/context"):
        local.api.patch("/v1/sessions/steady/settings", json={"trigger": 0.7})
    expect(row).to_have_attribute("aria-expanded", "true")
    item.focus()
    known = item.element_handle()
    local.api.say("steady", "And the others?")
    expect(screen.find("#rows .item")).to_have_count(2)
    assert known.evaluate("(item) => !item.isConnected")
    expect(item).to_be_focused()


@pytest.mark.parametrize("width", [390, 1440])
def test_every_row_opens_and_shows_its_source_and_interval(
    local: Local, open_page: Open, width: int
) -> None:
    name = f"opened-{width}"
    screen = open_page(
        local.url, local.api.session(name), viewport={"width": width, "height": 844}
    )
    local.api.say(name, "Look at the logs.")
    local.api.until(name)
    reading = local.api.get(f"/v1/sessions/{name}/context").json()
    if width < 500:
        screen.find('[data-tab="window"]').click()
    (messages,) = (row for row in reading["rows"] if row["name"] == "Messages")
    (assistant,) = (row for row in messages["children"] if row["name"] == "Assistant")
    screen.row("Messages/Assistant").click()
    note = screen.find("#rows .row-inside .row-inside > .row-note").first
    expect(note).to_have_text(f"estimated · {ends_of(assistant)}")
    expect(note).to_be_visible()
    for row in reading["rows"]:
        expect(screen.row(row["name"])).to_have_attribute("aria-expanded", SHOWN)


def ends_of(row: dict[str, Any]) -> str:
    return interval(row["tokens"], row["low"], row["high"])


def test_the_same_way_leads_there_with_keys_alone(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("keyed"))
    fill(screen, local, "keyed", 1)
    screen.is_at_rest()
    row = screen.row("Messages/You")
    expect(row).to_be_visible()
    expect(row).to_have_attribute(
        "title", re.compile(r"You · estimated · (± [\d,]+|[\d,]+ to [\d,]+)")
    )
    row.focus()
    row.press("Enter")
    expect(screen.row("Messages/You")).to_be_focused()
    expect(screen.row("Messages/You")).to_have_attribute("aria-expanded", "true")
    expect(screen.find("#rows .item")).to_have_count(1)
    screen.page.keyboard.press("Tab")
    expect(screen.find("#rows .item")).to_be_focused()
    screen.page.keyboard.press("Enter")
    expect(screen.find("article.user.shown")).to_be_focused()


def test_compactions_are_marked_and_undone(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("compacted"))
    fill(screen, local, "compacted", 12)
    screen.is_at_rest()
    marks = screen.find(".mark.compaction")
    expect(marks.first).to_be_attached()
    steps = local.api.get("/v1/sessions/compacted/steps").json()["steps"]
    screen.find(".calls-table summary").click()
    for kind, word in (("prune", "pruned"), ("compaction", "compacted")):
        rows = screen.find(".calls-table tbody tr:not(.cause-row)", has_text=word)
        expect(rows).to_have_count(sum(kind in step["marks"] for step in steps))
    assert any(
        "compaction" in step["marks"] or "prune" in step["marks"] for step in steps
    )
    reading = local.api.get("/v1/sessions/compacted/context").json()
    expect(screen.find("#limits dd").last).to_have_text(str(reading["compactions"]))
    screen.find("#compact-instructions").fill("Keep the rules.")
    screen.find("#compact").click()
    expect(screen.marks("Compacting: requested").last).to_be_attached()
    done = screen.marks("Compacted").last
    expect(done).to_contain_text("became a summary")
    local.api.until("compacted")
    expect(screen.find("article.away").first).to_be_attached()
    small = local.api.get("/v1/sessions/compacted/context").json()["used"]["tokens"]
    done.get_by_role("button", name="Undo").click()
    expect(screen.marks("Undone:")).to_be_visible()
    expect(done.get_by_role("button", name="Undo")).to_have_count(0)
    expect(done).to_be_focused()
    expect(screen.find("#compact-outcome")).to_be_empty()
    local.api.until("compacted")
    reading = local.api.get("/v1/sessions/compacted/context").json()
    expect(screen.find(".used-number")).to_have_text(f"{reading['used']['tokens']:,}")
    assert reading["used"]["tokens"] > small


def test_the_calls_are_listed_with_actuals(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("charted"))
    fill(screen, local, "charted", 2)
    steps = local.api.get("/v1/sessions/charted/steps").json()["steps"]
    last = steps[-1]
    said = screen.find(".calls-said")
    expect(said).to_contain_text(f"Call {last['number']}: {last['tokens']:,}")
    expect(said).to_contain_text(
        f"estimate {last['estimated']:,}, actual {last['actual']:,}"
    )
    screen.find(".calls-table summary").click()
    expect(screen.find(".calls-table tbody tr:not(.cause-row)")).to_have_count(len(steps))
    newest = screen.find(".calls-table tbody th").first
    expect(newest).to_have_text(str(last["number"]))


def test_a_setting_moves_the_point_at_once(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("changed"))
    screen.find("#settings-fold summary").click()
    screen.find("#setting-trigger").fill("0.5")
    screen.find("#setting-trigger").press("Enter")
    expect(screen.find("#limits dd").first).to_have_text("8,000")
    expect(screen.find(".tick.compacts")).to_have_text("compacts at 8,000")
    screen.find("#setting-trigger").fill("many")
    screen.find("#setting-trigger").press("Enter")
    expect(screen.find(".notice")).to_contain_text("trigger")
    assert screen.refused == [422]


def test_what_is_typed_while_saving_stays(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("typed"))
    screen.find("#settings-fold summary").click()
    strategy, trigger = screen.find("#setting-strategy"), screen.find("#setting-trigger")
    unset = screen.find(".setting", has=strategy).get_by_role("button")
    expect(strategy).to_have_value("hybrid")
    expect(unset).to_be_hidden()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    screen.page.route("**/settings", hold)
    with screen.page.expect_request("**/settings"):
        strategy.fill("clear,summary")
        strategy.press("Enter")
    trigger.fill("0.5")
    strategy.fill("sumary")
    screen.page.route("**/settings", lambda route: route.continue_())
    held[0].continue_()
    expect(unset).to_be_visible()
    expect(trigger).to_have_value("0.5")
    expect(strategy).to_have_value("sumary")
    expect(strategy).to_be_focused()
    strategy.press("Enter")
    expect(screen.find(".notice")).to_contain_text("did you mean 'summary'")
    assert screen.refused == [422]
    unset.click()
    expect(unset).to_be_hidden()
    expect(strategy).to_have_value("hybrid")
    expect(trigger).to_have_value("0.5")


def test_another_session_has_its_settings(local: Local, open_page: Open) -> None:
    local.api.session("first-settings", settings={"trigger": 0.5})
    screen = open_page(local.url, local.api.session("second-settings"))
    screen.page.goto(f"{local.url}/#session=first-settings")
    expect(screen.find("#limits dd").first).to_have_text("8,000")
    screen.find("#settings-fold summary").click()
    expect(screen.find("#setting-trigger")).to_have_value("0.5")
    screen.find("#setting-trigger").fill("0.6")
    screen.page.goto(f"{local.url}/#session=second-settings")
    expect(screen.find("#limits dd").first).not_to_have_text("8,000")
    screen.find("#settings-fold summary").click()
    expect(screen.find("#setting-trigger")).to_have_value("0.8")


def test_a_pin_and_a_message_s_place_are_shown(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("pinned"))
    fill(screen, local, "pinned", 1)
    message = screen.find("article.user")
    message.hover()
    message.get_by_role("button", name="Pin").click()
    expect(message.locator(".tag")).to_have_text("pinned")
    message.hover()
    message.get_by_role("button", name="Where?").click()
    expect(screen.find("dialog")).to_contain_text(
        "It is in the window as it was said. It is pinned."
    )
    screen.page.keyboard.press("Escape")
    expect(screen.find("dialog")).to_be_hidden()


def test_a_message_is_clicked_while_it_is_drawn_again(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, local.api.session("redrawn"))
    fill(screen, local, "redrawn", 1)
    message = screen.find("article.user")
    message.hover()
    with screen.held(message.get_by_role("button", name="Where?")):
        named = {"messages": [message.get_attribute("data-message")]}
        local.api.post("/v1/sessions/redrawn/pins", json=named)
        local.api.post("/v1/sessions/redrawn/rename", json={"title": "Pinned"})
        expect(screen.find("#title")).to_have_text("Pinned")
    expect(screen.find("dialog")).to_contain_text("It is pinned.")


def test_a_button_that_is_never_up_again_stops_no_drawing(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, local.api.session("down"))
    screen.find("#new").dispatch_event("pointerdown")
    fill(screen, local, "down", 1)
    expect(screen.answers().last).to_be_visible()


def test_a_call_that_paid_again_says_why(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("dear"))
    fill(screen, local, "dear", 3)
    settings = {"system": "Another system prompt, which no cache holds."}
    local.api.patch("/v1/sessions/dear/settings", json=settings)
    local.api.say("dear", "And now?")
    local.api.until("dear")
    steps = local.api.get("/v1/sessions/dear/steps").json()["steps"]
    (cause,) = (step["cause"] for step in steps if step["cause"])
    assert "system" in cause["words"]
    screen.find(".calls-table summary").click()
    row = screen.find(".calls-table .cause")
    expect(row).to_contain_text(f"Paid again for {cause['tokens']:,} tokens")
    expect(row).to_contain_text(cause["words"])


def test_the_picture_is_shown_and_saved(local: Local, open_page: Open) -> None:
    session = local.api.session("pictured")
    local.api.say(session, "How full is the window?")
    screen = open_page(local.url, session)
    expect(screen.answers().last).to_be_visible()
    screen.find("#menu > summary").click()
    screen.find("#picture").click()
    image = screen.find("dialog img")
    expect(image).to_be_visible(timeout=60_000)
    assert image.evaluate("node => node.decode().then(() => node.naturalWidth)") > 500
    for kind in ("SVG", "HTML"):
        with screen.page.expect_download() as saved:
            screen.find("dialog").get_by_role("link", name=f"Save as {kind}").click()
        assert saved.value.suggested_filename == f"pictured.{kind.lower()}"
