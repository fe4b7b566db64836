from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult

from ullage_agent.chat.prompt import PASTED_WHOLE, Prompt


class FakeConversation(App[None]):
    """Takes what the input sends."""

    CSS: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, bool]] = []
        self.asked: list[str] = []

    def compose(self) -> ComposeResult:
        yield Prompt(id="prompt")

    def on_mount(self) -> None:
        self.query_one(Prompt).focus()

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        self.sent.append((event.text, event.follow_up))

    def on_prompt_asked(self, event: Prompt.Asked) -> None:
        self.asked.append(event.what)


async def test_enter_sends_and_tab_and_alt_enter_are_follow_ups() -> None:
    app = FakeConversation()
    async with app.run_test() as pilot:
        await pilot.press("a", "enter", "b", "tab", "c", "alt+enter", "enter", "tab")
        await pilot.pause()
    assert app.sent == [("a", False), ("b", True), ("c", True)]


async def test_what_is_typed_before_a_message_is_taken_up_stays() -> None:
    app = FakeConversation()
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        await pilot.press("a", "enter", "b")
        assert prompt.text == "b"
        prompt.give_back("a")
        assert prompt.text == "b\na"


async def test_a_new_line_by_ctrl_j_shift_enter_or_a_backslash() -> None:
    app = FakeConversation()
    async with app.run_test() as pilot:
        await pilot.press(
            "a", "ctrl+j", "b", "shift+enter", "c", "backslash", "enter", "d", "enter"
        )
        await pilot.pause()
    assert app.sent == [("a\nb\nc\nd", False)]


async def test_up_and_down_go_through_what_was_said_and_keep_the_draft() -> None:
    app = FakeConversation()
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        prompt.earlier = ["one", "two"]
        await pilot.press("d", "up")
        assert prompt.text == "two"
        await pilot.press("up", "up")
        assert prompt.text == "one"
        await pilot.press("down", "down")
        assert prompt.text == "d"


async def test_up_edits_what_waits_where_something_does() -> None:
    app = FakeConversation()
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        prompt.earlier = ["one"]
        prompt.can_edit_waiting = lambda: True
        await pilot.press("up")
        assert app.asked == ["edit"]
        await pilot.press("x", "up")
        assert prompt.text == "one"
        prompt.clear_all()
        await pilot.press("ctrl+x", "escape")
        await pilot.pause()
    assert app.asked == ["edit", "withdraw", "escape"]


async def test_a_paste_keeps_lines_loses_controls_and_stands_as_a_word_if_long() -> None:
    app = FakeConversation()
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        prompt.post_message(events.Paste("one\r\ntwo\x1b[2J"))
        await pilot.pause()
        assert prompt.text == "one\ntwo␛[2J"
        prompt.clear_all()
        prompt.post_message(events.Paste("x" * (PASTED_WHOLE + 1)))
        await pilot.pause()
        assert prompt.text == "[pasted 1: 4,001 characters]"
        await pilot.press("y", "enter")
        await pilot.pause()
    assert app.sent == [("x" * (PASTED_WHOLE + 1) + "y", False)]


async def test_a_letter_that_answers_a_question_is_not_written() -> None:
    app = FakeConversation()
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        taken: list[str] = []

        def answer(key: str) -> bool:
            taken.append(key)
            return key == "y"

        prompt.answers = answer
        await pilot.press("y", "z", "y")
        assert prompt.text == "zy"
    assert taken == ["y", "z"]
