"""What waits: shown as waiting, delivered, edited, taken back; and a tool call that waits for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Route, expect

from tests.server.page.screen import Open
from tests.server.served import Local, script, serving
from tests.server.test_conversation import png
from ullage_simulators import running

ANSWERS = (
    {
        "when": {"contains": "at length", "after": "user"},
        "text": "The cask was filled in spring. " * 4_000,
    },
    {
        "when": {"contains": "draw", "after": "user"},
        "calls": [{"name": "draw", "arguments": {"litres": 2}}],
    },
    {
        "when": {"contains": "wait", "after": "user"},
        "calls": [{"name": "wait", "arguments": {"name": "tap"}}],
    },
    {
        "when": {"contains": "spill", "after": "user"},
        "calls": [{"name": "spill", "arguments": {"litres": 3}}],
    },
    {"text": "Done."},
)


class Taps:
    """Tools that run until they are told to end; ``open`` is told by the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def wait(self, name: str) -> str:
        """Wait until something is opened."""
        while not (self.folder / name).exists():
            await asyncio.sleep(0.02)
        return f"{name} is open"

    async def draw(self, litres: int) -> str:
        """Draw wine."""
        return f"{litres} litres were drawn"

    async def spill(self, litres: int) -> str:
        """Spill wine."""
        raise ValueError(f"{litres} litres are gone")


@pytest.fixture(scope="module")
def taps(tmp_path_factory: pytest.TempPathFactory) -> Taps:
    return Taps(tmp_path_factory.mktemp("taps"))


@pytest.fixture(scope="module")
def local(taps: Taps) -> Iterator[Local]:
    with (
        running(script(*ANSWERS, delay_s=0.02)) as provider,
        serving(
            provider.url("anthropic"),
            taps.folder / "sessions.db",
            tools=[taps.wait, taps.draw, taps.spill],
            approve=["draw"],
        ) as server,
    ):
        yield server


@pytest.fixture(autouse=True)
def closed(taps: Taps) -> None:
    (taps.folder / "tap").unlink(missing_ok=True)


def test_a_steer_is_shown_as_queued_until_it_is_delivered(
    local: Local, open_page: Open, taps: Taps
) -> None:
    screen = open_page(local.url, local.api.session("steered"))
    screen.say("Please wait for the tap.")
    expect(screen.find(".fold.tool .tag")).to_have_text("running …")
    expect(screen.find("#activity")).to_have_text("tools run …")
    screen.page.reload()
    expect(screen.find(".fold.tool .tag")).to_have_text("running …")
    expect(screen.find("#activity")).to_have_text("tools run …")
    screen.say("Hurry up.")
    waiting = screen.find("#queue .waiting")
    expect(waiting).to_contain_text("Hurry up.")
    expect(waiting.locator(".tag")).to_have_text("steer")
    expect(screen.find("article.user")).to_have_count(1)
    (taps.folder / "tap").touch()
    expect(screen.find("article.user").last).to_contain_text("Hurry up.")
    expect(screen.find("#waiting")).to_be_hidden()
    screen.is_at_rest()
    roles = [message["role"] for message in local.api.messages("steered")]
    assert roles == ["user", "assistant", "tool", "user", "assistant"]


def test_a_follow_up_waits_for_the_end(local: Local, open_page: Open, taps: Taps) -> None:
    screen = open_page(local.url, local.api.session("followed"))
    screen.say("Please wait for the tap.")
    expect(screen.find(".fold.tool .tag")).to_have_text("running …")
    screen.find("#say").fill("And then this.")
    screen.find("#follow-up").click()
    expect(screen.find("#queue .waiting .tag")).to_have_text("follow-up")
    screen.say("And that.", key="Control+Enter")
    expect(screen.find("#queue .waiting")).to_have_count(2)
    (taps.folder / "tap").touch()
    local.api.until("followed")
    expect(screen.find("article.user")).to_have_count(3)
    roles = [message["role"] for message in local.api.messages("followed")]
    assert roles[:4] == ["user", "assistant", "tool", "assistant"]


def test_a_waiting_message_can_be_edited_and_another_taken_back(
    local: Local, open_page: Open, taps: Taps
) -> None:
    screen = open_page(local.url, local.api.session("edited"))
    screen.say("Please wait for the tap.")
    expect(screen.find(".fold.tool .tag")).to_have_text("running …")
    screen.say("First.")
    screen.say("Second.")
    expect(screen.find("#queue .waiting")).to_have_count(2)
    screen.find("#queue .waiting", has_text="First.").get_by_role(
        "button", name="Edit"
    ).click()
    screen.find("#queue textarea").fill("First, and better.")
    screen.find("#queue textarea").press("Enter")
    expect(screen.find("#queue .waiting", has_text="First, and better.")).to_be_visible()
    screen.find("#queue .waiting", has_text="Second.").get_by_role(
        "button", name="Withdraw"
    ).click()
    expect(screen.find("#queue .waiting")).to_have_count(1)
    (taps.folder / "tap").touch()
    local.api.until("edited")
    said = [
        message["parts"][0]["text"]
        for message in local.api.messages("edited")
        if message["role"] == "user"
    ]
    assert said == ["Please wait for the tap.", "First, and better."]


def test_what_is_typed_for_a_message_that_is_delivered_meanwhile_is_in_the_message_box(
    local: Local, open_page: Open, taps: Taps
) -> None:
    screen = open_page(local.url, local.api.session("too-late"))
    screen.say("Please wait for the tap.")
    expect(screen.find(".fold.tool .tag")).to_have_text("running …")
    screen.say("First.")
    screen.find("#queue .waiting", has_text="First.").get_by_role(
        "button", name="Edit"
    ).click()
    screen.find("#queue textarea").fill("First, and better.")
    (taps.folder / "tap").touch()
    expect(screen.find("#queue textarea")).to_have_count(0)
    expect(screen.find("#say")).to_have_value("First, and better.")
    expect(screen.find("#say")).to_be_focused()
    local.api.until("too-late")
    expect(screen.find("article.user")).to_have_count(2)


def test_a_waiting_message_is_clicked_while_another_comes(
    local: Local, open_page: Open, taps: Taps
) -> None:
    screen = open_page(local.url, local.api.session("pressed"))
    screen.say("Please wait for the tap.")
    expect(screen.find(".fold.tool .tag")).to_have_text("running …")
    local.api.say("pressed", "First.")
    with screen.held(screen.page.get_by_role("button", name="Edit: First.")):
        local.api.say("pressed", "Second.")
        local.api.post("/v1/sessions/pressed/rename", json={"title": "Pressed"})
        expect(screen.find("#title")).to_have_text("Pressed")
    expect(screen.find("#queue .waiting")).to_have_count(2)
    expect(screen.find("#queue textarea")).to_have_value("First.")
    (taps.folder / "tap").touch()
    local.api.until("pressed")


def test_a_refused_message_leaves_the_focus_with_who_types(
    local: Local, open_page: Open
) -> None:
    screen = open_page(local.url, local.api.session("refused"))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    screen.page.route("**/refused/messages", hold)
    with screen.page.expect_request("**/refused/messages"):
        screen.say("Hello.")
    screen.find("#search").press("End")
    held[0].fulfill(status=422, json={"detail": "Not now."})
    expect(screen.find("#send-problem")).to_have_text("Not now.")
    expect(screen.find("#say")).to_have_value("Hello.")
    expect(screen.find("#search")).to_be_focused()


def test_a_returned_message_can_be_written_again(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("returned"))
    screen.say("Tell me at length.")
    expect(screen.find("article.draft")).to_be_visible()
    screen.say("Never delivered.", key="Control+Enter")
    expect(screen.find("#queue .waiting")).to_have_count(1)
    screen.find("#cancel").click()
    mark = screen.marks("Given back")
    expect(mark).to_contain_text("Never delivered.")
    mark.get_by_role("button").click()
    expect(screen.find("#say")).to_have_value("Never delivered.")


def test_a_denial_is_said_to_the_model(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("denied"))
    screen.say("Please draw.")
    box = screen.page.get_by_role("region", name="Allow draw?")
    box.get_by_role("textbox", name="Reason for not allowing draw").fill(
        "Not before noon."
    )
    box.get_by_role("button", name="Don't allow").click()
    expect(screen.find(".tag.state-denied")).to_be_visible()
    local.api.until("denied")
    (result,) = [
        message for message in local.api.messages("denied") if message["role"] == "tool"
    ]
    assert "Not before noon." in str(result)


def test_a_waiting_message_keeps_its_picture_when_its_text_is_edited(
    local: Local, open_page: Open, taps: Taps
) -> None:
    screen = open_page(local.url, local.api.session("pictured"))
    screen.say("Please wait for the tap.")
    expect(screen.find(".fold.tool .tag")).to_have_text("running …")
    picture = FilePayload(name="red.png", mimeType="image/png", buffer=png(40, 30))
    screen.find("#attach-files").set_input_files([picture])
    screen.say("What is ths?", key="Control+Enter")
    waiting = screen.find("#queue .waiting:not(.unsent)")
    expect(waiting).to_contain_text("What is ths? · 1 file")
    waiting.get_by_role("button", name="Edit").click()
    box = screen.find("#queue textarea")
    expect(box).to_have_value("What is ths?")
    box.fill("What is this?")
    box.press("Enter")
    expect(waiting).to_contain_text("What is this? · 1 file")
    (taps.folder / "tap").touch()
    expect(screen.find("article.user img")).to_be_visible()
    expect(screen.find("article.user").last).to_contain_text("What is this?")


def test_tools_over_time_show_each_run(local: Local, open_page: Open, taps: Taps) -> None:
    screen = open_page(local.url, local.api.session("timed"))
    screen.find("#tools-fold summary").click()
    expect(screen.find("#tools")).to_have_text("No tool has run yet.")
    screen.say("Please wait for the tap.")
    run = screen.find(".tool-run")
    expect(run).to_contain_text("wait")
    expect(run.locator(".tag")).to_have_text("running …")
    (taps.folder / "tap").touch()
    expect(run.locator(".tag")).to_have_count(0)
    screen.is_at_rest()
    screen.say("Now spill it.")
    expect(screen.find(".tool-turn")).to_have_count(2)
    failed = screen.find(".tool-run", has=screen.find(".tool-bar.failed"))
    expect(failed).to_contain_text("spill litres: 3")
    expect(failed.locator(".tag")).to_have_text("failed")
    expect(screen.find(".tool-turn").first).to_contain_text("1 failed")
    failed.press("Enter")
    expect(screen.find("details.shown")).to_contain_text("spill")
