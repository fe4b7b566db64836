from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from tests.cli.chat.simulator import MODEL, Talk, talking
from tests.server.test_conversation import png
from ullage.cli.screenplay import AnswerEntry, MessageEntry, Notice
from ullage.display.gauge_line import amount
from ullage.display.text import plain
from ullage.events import SessionStarted, SettingsChanged
from ullage.messages import ImagePart, TextPart
from ullage_agent.chat.app import ChatApp
from ullage_agent.chat.lister import ContextScreen, Lister, Overlay
from ullage_agent.chat.panels import Panel

LONG = {
    "when": {"contains": "story", "after": "user"},
    "text": "Once upon a time. " * 4_000,
}
CALLS = {
    "when": {"contains": "write", "after": "user"},
    "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}] * 2,
}


class Shown:
    """The app under test and what is on it."""

    def __init__(self, app: ChatApp, pilot: Pilot[str], talk: Talk) -> None:
        self.app = app
        self.pilot = pilot
        self.talk = talk

    def text(self, name: str) -> str:
        return self.app.screen_stack[0].query_one(f"#{name}", Panel).shown.plain

    async def until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(600):
            await self.pilot.pause(0.05)
            if is_so():
                return
        raise AssertionError(
            [
                self.notices,
                *(self.text(name) for name in ("waiting", "question", "gauge", "foot")),
            ]
        )

    def has_answer(self) -> bool:
        return any(isinstance(one, AnswerEntry) for one in self.app.transcript.entries)

    async def say(self, text: str, key: str = "enter") -> None:
        self.app.prompt.put(text)
        await self.pilot.press(key)

    @property
    def notices(self) -> str:
        return "\n".join(
            plain(one.hinted_line)
            for one in self.app.transcript.entries
            if isinstance(one, Notice)
        )


@asynccontextmanager
async def showing(
    place: Path,
    *answers: dict[str, Any],
    size: tuple[int, int] = (80, 24),
    delay_s: float = 0,
    **settings: Any,
) -> AsyncIterator[Shown]:
    async with talking(place, *answers, delay_s=delay_s, **settings) as talk:
        app = ChatApp(talk.host, talk.store, talk.session, talk.environment)
        async with app.run_test(size=size) as pilot:
            shown = Shown(app, pilot, talk)
            await shown.until(lambda: "ready" in shown.text("foot"))
            yield shown


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 12)])
async def test_the_gauge_is_the_sessions_own_reading(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with showing(tmp_path, size=size) as shown:
        await shown.say("hello there")
        await shown.until(shown.has_answer)
        await shown.until(lambda: "ready" in shown.text("foot"))
        reading = await shown.talk.session.context()
        await shown.until(lambda: amount(reading.used) in shown.text("gauge"))


async def test_what_is_said_while_it_works_waits_and_is_delivered(tmp_path: Path) -> None:
    async with showing(tmp_path, LONG, delay_s=0.1) as shown:
        await shown.say("tell a story")
        await shown.until(lambda: "writing" in shown.text("foot"))
        await shown.say("afterwards", "tab")
        await shown.say("at once")
        await shown.until(
            lambda: (
                "afterwards" in shown.text("waiting")
                and "at once" in shown.text("waiting")
            )
        )
        lines = shown.text("waiting").splitlines()
        assert lines[0].startswith("next") and "at once" in lines[0]
        assert lines[1].startswith("then") and "afterwards" in lines[1]
        await shown.pilot.press("escape")
        await shown.until(lambda: "cancelled" in shown.notices)
        await shown.until(
            lambda: (
                "afterwards" in shown.app.prompt.text
                and "at once" in shown.app.prompt.text
            )
        )


async def test_a_waiting_message_is_edited_and_withdrawn(tmp_path: Path) -> None:
    async with showing(tmp_path, LONG, delay_s=0.1) as shown:
        await shown.say("tell a story")
        await shown.until(lambda: "writing" in shown.text("foot"))
        await shown.say("one", "tab")
        await shown.until(lambda: "one" in shown.text("waiting"))
        await shown.pilot.press("up")
        await shown.until(lambda: shown.app.prompt.text == "one")
        await shown.pilot.press("x", "enter")
        await shown.until(lambda: "onex" in shown.text("waiting"))
        assert len(await shown.talk.session.pending()) == 1
        await shown.pilot.press("ctrl+x")
        await shown.until(lambda: not shown.text("waiting"))
        assert not await shown.talk.session.pending()
        await shown.pilot.press("escape")


async def test_a_key_answers_a_question_and_always_holds_for_it(tmp_path: Path) -> None:
    async with showing(tmp_path, CALLS, tools=("write",)) as shown:
        await shown.say("please write")
        await shown.until(lambda: "Allow (1 of 2)? write" in shown.text("question"))
        await asyncio.sleep(0.6)
        await shown.pilot.press("a")
        await shown.until(
            lambda: (tmp_path / "a.txt").exists() and not shown.text("question")
        )
        await shown.until(lambda: "ready" in shown.text("foot"))
        (grant,) = await shown.talk.session.grants()
        assert grant.scope == "session"
        assert grant.grant.tool == "write"
        assert grant.grant.prefix == ()
        assert "write" in (await shown.talk.session._look()).settings.approve


async def test_a_grant_for_the_project_is_shown_and_revoked(tmp_path: Path) -> None:
    async with showing(tmp_path, CALLS, tools=("write",)) as shown:
        await shown.say("please write")
        await shown.until(lambda: "Allow (1 of 2)? write" in shown.text("question"))
        await asyncio.sleep(0.6)
        await shown.pilot.press("p")
        told = "allowed in this project: every write call · /permissions lists them"
        await shown.until(lambda: told in shown.notices)
        await shown.until(lambda: "ready" in shown.text("foot"))
        (grant,) = await shown.talk.session.grants()
        assert grant.scope == "project"
        await shown.say(f"/permissions revoke {grant.grant.id[:7]}")
        revoked = f"Revoked: {grant.grant.id}"
        await shown.until(lambda: revoked in shown.notices)
        assert await shown.talk.session.grants() == []


async def test_a_letter_in_a_half_message_answers_no_question(tmp_path: Path) -> None:
    async with showing(tmp_path, CALLS, tools=("write",)) as shown:
        await shown.say("please write")
        shown.app.prompt.put("I sa")
        await shown.until(lambda: "Allow" in shown.text("question"))
        await asyncio.sleep(0.6)
        await shown.pilot.press("y")
        await shown.until(lambda: shown.app.prompt.text == "I say")
        await shown.until(lambda: "what is in the input" in shown.text("question"))
        assert not (tmp_path / "a.txt").exists()


async def test_slash_commands_complete_and_their_lines_are_shown(tmp_path: Path) -> None:
    async with showing(tmp_path) as shown:
        await shown.pilot.press("slash", "s")
        await shown.until(lambda: "/spend" in shown.text("completing"))
        await shown.pilot.press("down", "down", "tab")
        assert shown.app.prompt.text in ("/spend", "/steps", "/set ")
        await shown.say("/spend")
        await shown.until(lambda: "Nothing has been spent yet." in shown.notices)
        await shown.say("/nothing")
        await shown.until(lambda: "There is no /nothing" in shown.notices)
        assert shown.app.prompt.text == ""
        await shown.pilot.press("up")
        assert shown.app.prompt.text == "/nothing"


async def test_context_opens_pins_explains_and_goes_back(tmp_path: Path) -> None:
    async with showing(tmp_path) as shown:
        await shown.say("hello")
        await shown.until(shown.has_answer)
        await shown.say("/context")
        await shown.until(lambda: isinstance(shown.app.screen, ContextScreen))
        lister = shown.app.screen.query_one(Lister)
        await shown.until(lambda: lister.target.startswith("row:"))
        await shown.pilot.press("enter")
        await shown.until(lambda: lister.target.startswith("message:"))
        await shown.pilot.press("p")
        await shown.until(
            lambda: any("*#" in plain(choice.line) for choice in lister.choices)
        )
        await shown.pilot.press("e")
        await shown.until(
            lambda: any("in view" in plain(choice.line) for choice in lister.choices)
        )
        await shown.pilot.press("escape", "enter")
        await shown.until(
            lambda: any(" tokens" in plain(choice.line) for choice in lister.choices)
        )
        await shown.pilot.press("q")
        await shown.until(lambda: not isinstance(shown.app.screen, ContextScreen))


async def test_resume_new_and_fork_change_what_is_looked_at(tmp_path: Path) -> None:
    async with showing(tmp_path) as shown:
        await shown.say("hello")
        await shown.until(shown.has_answer)
        await shown.say("/new")
        await shown.until(lambda: shown.app.session.id != "test")
        assert not any(
            isinstance(one, MessageEntry) for one in shown.app.transcript.entries
        )
        await shown.say("/resume")
        await shown.until(lambda: isinstance(shown.app.screen, Overlay))
        lister = shown.app.screen.query_one(Lister)
        while lister.target != "test":
            await shown.pilot.press("down")
        await shown.pilot.press("enter")
        await shown.until(lambda: shown.app.session.id == "test")
        await shown.say("/fork")
        await shown.until(lambda: shown.app.session.id != "test")
        await shown.until(lambda: "copied from test" in shown.notices)


async def test_ctrl_c_clears_the_input_and_leaves_when_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage_agent.chat.app.LEAVE_WITHIN_S", 60.0)
    async with showing(tmp_path) as shown:
        shown.app.prompt.put("half a thought")
        await shown.pilot.press("ctrl+c")
        assert shown.app.prompt.text == ""
        await shown.pilot.press("ctrl+c")
        await shown.until(lambda: "Ctrl+C again leaves" in shown.text("foot"))
        await shown.pilot.press("up")
        assert shown.app.prompt.text == "half a thought"
        shown.app.prompt.clear_all()
        await shown.pilot.press("ctrl+c", "ctrl+c")
        assert shown.app.return_value == "test"


async def test_what_fails_is_said_and_can_be_tried_again(tmp_path: Path) -> None:
    async with showing(
        tmp_path, model="ollama:none", tries=1
    ) as shown:  # no server is there
        await shown.say("hello")
        await shown.until(
            lambda: "paused (failed)" in shown.notices and "/retry" in shown.notices
        )
        await shown.until(lambda: "paused (failed)" in shown.text("foot"))
        await shown.say(f"/model {MODEL}")
        await shown.until(lambda: MODEL in shown.text("foot"))
        await shown.say("/retry")
        await shown.until(shown.has_answer)


async def test_an_opened_session_says_once_what_does_not_count(tmp_path: Path) -> None:
    async with showing(tmp_path, tools=("read",)) as shown:
        left_out = SettingsChanged(settings={"tools": ["read", "shell"], "approve": []})
        await shown.talk.store.create(
            "wide", [SessionStarted(model="claude-sonnet-4-6"), left_out]
        )
        await shown.say("/resume wide")
        await shown.until(
            lambda: shown.notices.count("own tools, approve count only as far") == 1
        )
        assert "--tools at the start can allow more" in shown.notices


async def test_a_dropped_image_is_sent_with_what_is_typed(tmp_path: Path) -> None:
    picture = tmp_path / "shot.png"
    picture.write_bytes(png(40, 30))
    async with showing(tmp_path) as shown:
        shown.app.post_message(Paste(str(picture)))
        await shown.until(lambda: "[image 1: shot.png]" in shown.app.prompt.text)
        await shown.pilot.press("!", "enter")
        await shown.until(shown.has_answer)
        said = next(m for m in await shown.talk.session.messages() if m.role == "user")
        assert [type(part) for part in said.parts] == [TextPart, ImagePart]
        assert [part.width for part in said.of_type(ImagePart)] == [40]


async def test_a_file_that_can_t_be_sent_comes_back_with_text(tmp_path: Path) -> None:
    async with showing(tmp_path) as shown:
        await shown.say("/attach gone.png")
        await shown.until(lambda: "There is no file" in shown.notices)
        (tmp_path / "cut.png").write_bytes(png(40, 30)[:40])
        await shown.say(f"/attach {tmp_path / 'cut.png'}")
        await shown.until(lambda: "[image 1: cut.png]" in shown.app.prompt.text)
        await shown.pilot.press("enter")
        await shown.until(lambda: "cut off" in shown.notices)
        assert shown.app.prompt.text == "[image 1: cut.png]"
