"""The map of a window and the timeline of its calls: by mouse, by keys, as tables, of sessions and of dropped logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.places import CLIENT_LOGS
from tests.server.page.screen import Open, Screen
from tests.server.page.test_look import drop
from tests.server.running_logs import GrowingSession
from tests.server.served import Local, script, serving
from ullage_simulators import running

FIXTURES = CLIENT_LOGS
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><b>bold</b>"
ANSWERS = (
    {
        "when": {"after": "user"},
        "calls": [{"name": "read", "arguments": {"path": f"src/{n}.py"}} for n in (1, 2)],
    },
    {"text": "All is fine in these files. " * 5},
)


def read(path: str) -> str:
    """Read a file."""
    return f"{path} " + "one more line of it\n" * (300 if "1" in path else 30)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with (
        running(script(*ANSWERS)) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path_factory.mktemp("map") / "sessions.db",
            tools=[read],
        ) as server,
    ):
        yield server


def mapped(local: Local, open_page: Open, name: str, **context: Any) -> Screen:
    """A session with a turn behind it, its map shown."""
    local.api.session(name)
    local.api.say(name, "Look at the files.")
    local.api.until(name)
    screen = open_page(local.url, name, **context)
    screen.press("m")
    expect(screen.find("#mapped .cell").first).to_be_visible()
    return screen


def map_of(local: Local, name: str) -> dict[str, Any]:
    """What the server says of it."""
    found: dict[str, Any] = local.api.get(f"/v1/sessions/{name}/map").json()["map"]
    return found


def cell(screen: Screen, text: str) -> Locator:
    """The area of an item or category."""
    return screen.find(f'#mapped .cell[aria-label^="{text}"]')


def test_the_map_takes_the_place_of_the_conversation_and_gives_it_back(
    local: Local, open_page: Open
) -> None:
    screen = mapped(local, open_page, "place")
    expect(screen.find("#messages")).to_be_hidden()
    screen.find("#show-map").click()
    expect(screen.find("#messages")).to_be_visible()
    expect(screen.find("#mapped")).to_be_hidden()


def test_an_area_says_the_tokens_of_its_item_with_their_interval(
    local: Local, open_page: Open
) -> None:
    screen = mapped(local, open_page, "areas")
    made = map_of(local, "areas")
    expect(screen.find("#mapped .cell.head")).to_have_count(len(made["categories"]))
    largest = max(made["items"], key=lambda one: one["tokens"])
    assert largest["label"] == "read src/1.py"
    area = cell(screen, "read src/1.py · Tool results")
    area.hover()
    said = screen.find("#mapped .map .chart-said")
    expect(said).to_contain_text(f"{largest['tokens']:,}")
    expect(said).to_contain_text(f"since call {largest['first_call']}")
    expect(said).to_contain_text(f"sent {largest['sent']:,} tokens so far")


def test_a_category_opens_to_its_items_and_closes_again(
    local: Local, open_page: Open
) -> None:
    screen = mapped(local, open_page, "zoomed")
    results = [
        one
        for one in map_of(local, "zoomed")["items"]
        if one["category"] == "Tool results"
    ]
    entry = screen.find('#mapped [data-category="Tool results"]')
    entry.click()
    expect(entry).to_be_focused()
    expect(entry).to_have_attribute("aria-pressed", "true")
    expect(screen.find("#mapped .cell")).to_have_count(len(results))
    screen.page.get_by_role("button", name="All categories").click()
    expect(screen.find("#mapped .cell.head").first).to_be_visible()


def test_an_item_leads_to_its_row(local: Local, open_page: Open) -> None:
    screen = mapped(local, open_page, "linked")
    cell(screen, "read src/1.py · Tool results").click()
    item = screen.find("#rows .item:focus")
    expect(item).to_contain_text("src/1.py")
    expect(screen.row("Messages/Tool results")).to_have_attribute("aria-expanded", "true")


def test_keys_alone_go_through_the_map(local: Local, open_page: Open) -> None:
    screen = mapped(local, open_page, "keyed")
    screen.find(
        '#mapped [data-category="System prompt"], #mapped .legend-entry'
    ).last.focus()
    screen.page.keyboard.press("Tab")
    first = screen.find("#mapped .cell:focus")
    expect(first).to_have_count(1)
    before = first.get_attribute("data-cell")
    screen.page.keyboard.press("ArrowRight")
    now = screen.find("#mapped .cell:focus")
    expect(now).not_to_have_attribute("data-cell", str(before))
    screen.page.keyboard.press("ArrowLeft")
    expect(screen.find("#mapped .cell:focus")).to_have_attribute("data-cell", str(before))
    screen.page.keyboard.press("Enter")
    expect(screen.page.get_by_role("button", name="All categories")).to_be_visible()
    expect(screen.find("#mapped .cell:focus")).to_have_count(1)
    screen.page.keyboard.press("Escape")
    expect(screen.page.get_by_role("button", name="All categories")).to_be_hidden()


def test_one_tab_stop_leads_into_the_map_however_many_items_it_has(
    local: Local, open_page: Open
) -> None:
    screen = mapped(local, open_page, "stops")
    expect(screen.find('#mapped .cell[tabindex="0"]')).to_have_count(1)


def test_the_timeline_says_the_call_and_the_items_that_it_held(
    local: Local, open_page: Open
) -> None:
    screen = mapped(local, open_page, "timed")
    calls = map_of(local, "timed")["calls"]
    assert [call["number"] for call in calls] == [1, 2]
    said = screen.find("#mapped .calls .chart-said")
    expect(said).to_contain_text(f"Call 2 · {screen_time(screen)}{calls[1]['tokens']:,}")
    screen.find("#mapped .timeline").focus()
    screen.page.keyboard.press("ArrowLeft")
    screen.page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("Call 1")
    expect(said).to_contain_text(f"{calls[0]['tokens']:,} tokens")
    screen.page.keyboard.press("ArrowUp")
    expect(screen.find("#mapped .bar-on")).to_have_count(1)
    expect(said).to_contain_text("since call 1")


def screen_time(screen: Screen) -> str:
    """The time that stands between the number of a call and its tokens."""
    text = screen.find("#mapped .calls .chart-said").inner_text()
    return text.split(" · ")[1] + " · "


def test_the_map_and_the_timeline_are_tables_too(local: Local, open_page: Open) -> None:
    screen = mapped(local, open_page, "tables")
    items = map_of(local, "tables")["items"]
    for name in ("map", "calls"):
        screen.find(f"#mapped .{name} .chart-table summary").click()
        rows = screen.find(f"#mapped .{name} tbody tr")
        expect(rows).to_have_count(len(items))
    expect(screen.find("#mapped .map tbody tr").first).to_contain_text("read src/1.py")


def test_the_map_follows_the_session_and_keeps_what_was_opened(
    local: Local, open_page: Open
) -> None:
    screen = mapped(local, open_page, "followed")
    screen.find('#mapped [data-category="Tool results"]').click()
    expect(screen.find("#mapped .cell")).to_have_count(2)
    local.api.say("followed", "Once more.")
    local.api.until("followed")
    expect(screen.find("#mapped .cell")).to_have_count(4)
    expect(screen.find("#mapped .timeline .axis").last).to_have_text("call 4")


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


def test_names_that_are_markup_or_a_megabyte_stay_text_in_the_map_of_a_log(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url)
    drop(screen, "hostile.jsonl", hostile_log())
    expect(screen.find("#looked .cell").first).to_be_visible()
    for summary in screen.find("#looked .chart-table summary").all():
        summary.click()
    expect(screen.find("#looked .map tbody")).to_contain_text("onerror")
    assert screen.find("#looked img, #looked b, #looked script").count() == 0
    assert "taken" not in screen.page.title()
    assert len(screen.find("#looked").inner_html()) < 200_000


def test_a_log_of_1500_calls_is_a_few_hundred_shapes(
    local: Local, open_page: Open, tmp_path: Path
) -> None:
    session = GrowingSession(tmp_path, "11111111-aaaa")
    for turn in range(1_500):
        session.turn(f"Question {turn} " * (1 + turn % 40))
    screen = open_page(local.url)
    drop(screen, session.path.name, session.path.read_bytes())
    expect(screen.find("#looked .timeline .axis").last).to_have_text("call 1,500")
    shapes = screen.page.evaluate("document.querySelectorAll('#looked svg *').length")
    assert 100 < shapes < 3_000


def test_a_dropped_log_has_a_map_and_a_timeline(local: Local, open_page: Open) -> None:
    screen = open_page(local.url)
    path = FIXTURES / "claude_code" / "session.jsonl"
    drop(screen, path.name, path.read_bytes())
    expect(screen.find("#looked .cell").first).to_be_visible()
    expect(screen.find("#looked .timeline .bar-of").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_text_of_each_area_stands_out_from_it(
    local: Local, open_page: Open, scheme: str
) -> None:
    screen = mapped(local, open_page, f"contrast-{scheme}", color_scheme=scheme)
    ratios = screen.page.evaluate(
        """() => {
            const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
            const light = (colour) => {
                canvas.fillStyle = colour;
                canvas.fillRect(0, 0, 1, 1);
                const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => {
                    const share = part / 255;
                    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
                });
                return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
            };
            const cell = document.querySelector("#mapped .cell:has(+ .cell-text)");
            const label = cell.nextElementSibling;
            const found = {};
            for (let tone = 0; tone < 10; tone += 1)
                for (const head of ["", "head"]) {
                    cell.setAttribute("class", `cell ${head} tone-${tone}`);
                    label.setAttribute("class", `cell-text ${head} tone-${tone}`);
                    const paper = getComputedStyle(cell.querySelector("rect")).fill;
                    const ink = getComputedStyle(label.querySelector("text")).fill;
                    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
                    found[`tone ${tone} ${head}`] = (a + 0.05) / (b + 0.05);
                }
            return found;
        }"""
    )
    assert {tone: ratio for tone, ratio in ratios.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("width", [390, 1024])
def test_on_a_narrow_screen_the_map_fits(
    local: Local, open_page: Open, width: int
) -> None:
    viewport = {"width": width, "height": 800}
    screen = mapped(local, open_page, f"narrow-{width}", viewport=viewport)
    wide = screen.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    inside = screen.find("#mapped .map-holder").bounding_box()
    drawn = screen.find("#mapped .map-holder > svg").bounding_box()
    assert inside and drawn
    assert drawn["width"] <= inside["width"]


def test_what_can_be_used_in_the_map_has_a_name(local: Local, open_page: Open) -> None:
    screen = mapped(local, open_page, "named")
    nameless = screen.page.evaluate(
        """() => [...document.querySelectorAll("#mapped :is(button, summary, section, [role], [tabindex])")]
            .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label")))
            .map((one) => one.outerHTML)"""
    )
    assert nameless == []


def hold(route: Route, waiting: list[Route]) -> None:
    """Let a request wait."""
    waiting.append(route)


def test_a_pointer_that_passes_before_the_map_is_drawn_does_no_harm(
    local: Local, open_page: Open
) -> None:
    local.api.session("early")
    local.api.say("early", "Hello.")
    local.api.until("early")
    screen = open_page(local.url, "early")
    waiting: list[Route] = []
    screen.page.route("**/early/map", lambda route: hold(route, waiting))
    with screen.page.expect_request("**/early/map"):
        screen.press("m")
    holder = screen.find("#mapped .map-holder")
    holder.dispatch_event("pointerover")
    holder.dispatch_event("pointerleave")
    waiting[0].continue_()
    expect(screen.find("#mapped .cell").first).to_be_visible()
