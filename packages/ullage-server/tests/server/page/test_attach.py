"""Images and files that go out with a message: chosen, dropped and pasted, and what can't be sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Route, expect

from tests.server.page.cable import Cable
from tests.server.page.screen import Open, Screen
from tests.server.served import Local
from tests.server.test_conversation import png

RED = FilePayload(name="cellar.png", mimeType="image/png", buffer=png(40, 30))
NOTES = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"Cask 4 leaks.")
TRANSFER = """([selector, kind, name, type, bytes]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(bytes)], name, {type}));
    const about = {bubbles: true, cancelable: true};
    const event = kind === "paste"
        ? new ClipboardEvent("paste", {clipboardData: transfer, ...about})
        : new DragEvent(kind, {dataTransfer: transfer, ...about});
    document.querySelector(selector).dispatchEvent(event);
}"""


def give(screen: Screen, selector: str, kind: str, file: FilePayload) -> None:
    """Paste or drop a file, as a person would."""
    content = list(file["buffer"])
    screen.page.evaluate(
        TRANSFER, [selector, kind, file["name"], file["mimeType"], content]
    )


def hold_code(screen: Screen) -> Callable[[], Route]:
    """Hold back the page's code that reads files; the result waits until it is asked for."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    screen.page.route("**/assets/attach.js", hold)

    def asked() -> Route:
        while not held:
            screen.page.wait_for_timeout(10)
        return held[0]

    return asked


def ask_before_the_code(
    local: Local, open_page: Open, session: str, *files: FilePayload
) -> tuple[Screen, Callable[[], Route]]:
    """Attach files to a question and send it, while the code that reads files is held back."""
    screen = open_page(local.url, local.api.session(session))
    code = hold_code(screen)
    screen.find("#attach-files").set_input_files(list(files))
    screen.say("What is this?")
    return screen, code


def parts(local: Local, session: str) -> list[dict[str, Any]]:
    """What the first message holds."""
    local.api.until(session)
    return list(local.api.messages(session)[0]["parts"])


def test_files_are_chosen_by_keys_removed_and_sent(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("chosen"))
    button = screen.find("#attach")
    with screen.page.expect_file_chooser() as chooser:
        button.press("Enter")
    chooser.value.set_files([RED, NOTES])
    lines = screen.find("#attached li")
    expect(lines).to_have_count(2)
    assert lines.first.locator("img").evaluate(
        "(image) => image.decode().then(() => true)"
    )
    screen.page.get_by_role("button", name="Remove notes.txt").focus()
    screen.page.keyboard.press("Enter")
    expect(lines).to_have_count(1)
    expect(screen.page.get_by_role("button", name="Remove cellar.png")).to_be_focused()
    screen.find("#attach-files").set_input_files([NOTES])
    screen.say("What is this?")
    expect(screen.find("#attached")).to_be_hidden()
    expect(screen.answers()).to_have_count(1)
    image, file, text = parts(local, "chosen")
    assert (image["type"], image["width"]) == ("image", 40)
    assert (file["name"], file["text"]) == ("notes.txt", "Cask 4 leaks.")
    assert text["text"] == "What is this?"
    shown = screen.find("article.user img")
    found = shown.evaluate("(image) => image.decode().then(() => image.naturalWidth)")
    assert found == 40


@pytest.mark.parametrize(
    ("selector", "kind"),
    [("#say", "paste"), ("#conversation", "drop"), ("#composer", "drop")],
)
def test_a_picture_is_pasted_or_dropped_and_sent_without_words(
    local: Local, open_page: Open, selector: str, kind: str
) -> None:
    name = local.api.session(f"{kind}-{selector[1:]}")
    screen = open_page(local.url, name)
    give(screen, selector, kind, RED)
    expect(screen.find("#attached li")).to_have_count(1)
    screen.find("#say").press("Enter")
    expect(screen.answers()).to_have_count(1)
    assert [part["type"] for part in parts(local, name)] == ["image"]


def test_what_can_t_be_sent_is_said_beside_the_box(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("wrong"))
    screen.find("#say").fill("Look at this.")
    problem = screen.find("#send-problem")
    archive = FilePayload(
        name="a.zip", mimeType="application/zip", buffer=b"PK\3\4\xff\0"
    )
    give(screen, "#composer", "drop", archive)
    expect(problem).to_contain_text("a.zip was not attached: only images")
    give(screen, "#composer", "drop", RED | {"name": "empty.png", "buffer": b""})
    expect(problem).to_contain_text("it is empty")
    large = FilePayload(name="large.png", mimeType="image/png", buffer=b"x")
    grown = TRANSFER.replace("new Uint8Array(bytes)", "new Uint8Array(25_000_000)")
    screen.page.evaluate(grown, ["#say", "paste", large["name"], large["mimeType"], []])
    expect(problem).to_contain_text("a message takes 22.9 MB of files")
    expect(screen.find("#attached")).to_be_hidden()
    expect(screen.find("#say")).to_have_value("Look at this.")


def test_what_a_server_refuses_comes_back_whole(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("torn"))
    torn = png(40, 30)[:-12]
    screen.find("#attach-files").set_input_files([RED | {"buffer": torn}])
    screen.say("What is this?")
    expect(screen.find("#send-problem")).to_contain_text("cut off")
    expect(screen.find("#say")).to_have_value("What is this?")
    expect(screen.find("#attached li")).to_have_count(1)
    assert screen.refused == [422]
    assert local.api.messages("torn") == []


def test_a_message_sent_early_goes_with_its_files(local: Local, open_page: Open) -> None:
    screen, code = ask_before_the_code(local, open_page, "early", RED)
    screen.find("#attach-files").set_input_files([NOTES])
    screen.say("And this?")
    expect(screen.find("#say")).to_have_value("")
    code().continue_()
    expect(screen.find("article.user")).to_have_count(2)
    local.api.until("early")
    said = [one for one in local.api.messages("early") if one["role"] == "user"]
    kinds = [[part["type"] for part in one["parts"]] for one in said]
    assert kinds == [["image", "text"], ["file", "text"]]


def test_an_unreadable_file_stops_its_message(local: Local, open_page: Open) -> None:
    screen, code = ask_before_the_code(
        local, open_page, "unreadable", NOTES | {"buffer": b""}, RED
    )
    code().continue_()
    problem = screen.find("#send-problem")
    expect(problem).to_contain_text("notes.txt was not attached: it is empty")
    expect(screen.find("#say")).to_have_value("What is this?")
    expect(screen.find("#attached li")).to_have_count(1)
    assert local.api.messages("unreadable") == []
    screen.find("#say").press("Enter")
    expect(screen.answers()).to_have_count(1)
    assert [part["type"] for part in parts(local, "unreadable")] == ["image", "text"]


def test_files_without_their_code_are_named(local: Local, open_page: Open) -> None:
    screen, code = ask_before_the_code(local, open_page, "codeless", RED)
    code().abort()
    problem = "cellar.png was not attached: the server can't be reached"
    expect(screen.find("#send-problem")).to_contain_text(problem)
    expect(screen.find("#say")).to_have_value("What is this?")
    assert local.api.messages("codeless") == []


def test_what_was_on_its_way_is_in_the_box_again(local: Local, open_page: Open) -> None:
    screen, code = ask_before_the_code(local, open_page, "left", RED)
    code()
    screen.say("And this?")
    screen.find("#say").fill("Not sent.")
    expect(screen.find(".unsent")).to_have_count(2)
    screen.page.reload()
    screen.is_live()
    expected = "What is this?\nAnd this?\nNot sent."
    expect(screen.find("#say")).to_have_value(expected)
    screen.find("#say").press("Enter")
    expect(screen.answers()).to_have_count(1)
    screen.page.reload()
    screen.is_live()
    expect(screen.find("#say")).to_have_value("")


def test_text_that_the_browser_can_t_store_is_sent(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("huge"))
    screen.find("#say").fill("cask " * 1_500_000)
    screen.find("#say").press("Enter")
    expect(screen.answers()).to_have_count(1)
    expect(screen.find(".unsent")).to_have_count(0)
    assert parts(local, "huge")[0]["text"].startswith("cask cask")


def test_an_unreachable_server_gets_files_later(local: Local, open_page: Open) -> None:
    with Cable(local.url) as cable:
        screen = open_page(cable.url, local.api.session("away"))
        screen.find("#attach-files").set_input_files([RED])
        expect(screen.find("#attached li")).to_have_count(1)
        cable.cut()
        screen.say("Is it there?")
        expect(screen.find(".unsent")).to_contain_text("Is it there? · 1 file")
        cable.mend()
        expect(screen.answers()).to_have_count(1)
        kinds = [part["type"] for part in parts(local, "away")]
        assert kinds == ["image", "text"]


def test_a_session_keeps_its_files_out_of_sight(local: Local, open_page: Open) -> None:
    first, second = local.api.session("first"), local.api.session("second")
    screen = open_page(local.url, first)
    screen.find("#attach-files").set_input_files([RED])
    expect(screen.find("#attached li")).to_have_count(1)
    screen.find(f'[data-session="{second}"]').click()
    expect(screen.find("#attached")).to_be_hidden()
    screen.find(f'[data-session="{first}"]').click()
    expect(screen.find("#attached li")).to_have_count(1)
