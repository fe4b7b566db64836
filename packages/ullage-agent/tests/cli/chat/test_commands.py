from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.chat.simulator import Talk, talking
from ullage.cli.screenplay import Screenplay
from ullage.display.glyphs import UNICODE
from ullage.display.text import plain
from ullage.errors import CommandRefused, SessionNotFound, SettingError, UllageError
from ullage.events import CompactAsked
from ullage.store.export import import_file
from ullage_agent.chat.commands import (
    COMMANDS,
    LEAVE,
    CommandResult,
    command_of,
    completions,
    help_lines,
    parse,
    unknown,
)


def test_a_command_is_its_name_and_what_follows() -> None:
    assert parse("/compact keep the goal") == ("compact", "keep the goal")
    assert parse("/Context  ") == ("context", "")


@pytest.mark.parametrize(
    "text",
    ["look at /etc", "/etc/hosts is odd", "//", "/ hm", "/one\nand more", "", "/1"],
)
def test_what_is_no_command_is_said(text: str) -> None:
    assert parse(text) is None


def test_a_beginning_names_the_only_command_that_begins_so() -> None:
    found = command_of("cont")
    assert found is not None and found.name == "context"
    assert command_of("co") is None  # context and compact
    assert command_of("") is None
    assert command_of("exit") == command_of("quit")  # as other clients call it
    exact = command_of("re")
    assert exact is None


def test_an_unknown_name_gets_the_nearest_or_the_help() -> None:
    assert unknown("contxt") == "There is no /contxt. Did you mean /context?"
    assert unknown("zzzz").endswith("/help lists them.")


def test_completions_follow_what_was_typed_until_the_name_is_there() -> None:
    assert completions("/") == list(COMMANDS)
    assert [command.name for command in completions("/com")] == ["compact"]
    assert completions("/compact now") == []
    assert completions("compact") == []


async def perform(talk: Talk, text: str) -> CommandResult:
    typed = parse(text)
    assert typed is not None
    transcript = Screenplay()
    transcript.apply_all(await talk.session.history())
    return await talk.acting.run(typed, transcript, 80, UNICODE)


def words(outcome: CommandResult) -> str:
    return "\n".join(plain(line) for line in outcome.lines)


async def test_each_command_works_in_a_session_with_a_message(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("hello")
        for command in COMMANDS:
            if command.name in (
                "quit",
                "retry",
                "uncompact",
                "rewind",
                "export",
                "explain",
                "accept",
            ):
                continue
            assert isinstance(await perform(talk, f"/{command.name}"), CommandResult), (
                command.name
            )


async def test_a_compaction_is_previewed_and_accepted_line_by_line(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        for number in range(6):
            await talk.session.ask(f"number {number}: " + "tell me of the cask. " * 200)
        before = await talk.session.messages()
        shown = words(await perform(talk, "/compact --preview be short"))
        assert "/accept makes the compaction" in shown
        assert await talk.session.messages() == before
        await perform(talk, "/accept")
        assert (await talk.session.messages())[0].origin == "summary"
        with pytest.raises(CommandRefused, match="Make a new preview"):
            await perform(talk, "/accept")


async def test_a_drop_says_its_price_first_and_is_undone(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        for number in range(3):
            await talk.session.ask(f"number {number}: " + "tell me of the cask. " * 50)
        before = await talk.session.messages()
        assert "freed" in words(await perform(talk, "/drop"))
        assert "/drop #1..#2 --yes does it" in words(await perform(talk, "/drop #1..#2"))
        assert await talk.session.messages() == before
        await perform(talk, "/drop #1..#2 --yes")
        assert await talk.session.messages() == before[2:]
        assert "newest request" in words(await perform(talk, "/drop #3 --yes"))
        await perform(talk, "/uncompact")
        assert await talk.session.messages() == before


async def test_the_list_of_a_drop_has_places_to_type_and_tells_parts_apart(
    tmp_path: Path,
) -> None:
    (tmp_path / "cellar.log").write_text("cask 7, level 91.2 %\n" * 20)
    call = {"name": "read", "arguments": {"path": "cellar.log"}}
    answers = ({"calls": [call], "times": 1}, {"text": "Read."})
    async with talking(tmp_path, *answers) as talk:
        await talk.session.ask("Which cask leaks?")
        _, whole, result, *_ = words(await perform(talk, "/drop")).splitlines()
        assert "2 messages: read cellar.log" in whole
        before = await talk.session.messages()
        assert await perform(talk, f"/drop {whole.split()[-1]} --yes") == CommandResult()
        assert len(await talk.session.messages()) == len(before) - 2
        await perform(talk, "/uncompact")
        await perform(talk, f"/drop {result.split()[-1]} --yes")
        assert len(await talk.session.messages()) == len(before)


async def test_a_part_that_must_stay_says_why_within_the_line(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("Which cask leaks? " * 20)
        shown = words(await perform(talk, "/drop"))
        (line,) = [line for line in shown.splitlines() if "stays" in line]
        assert "it is the newest request" in line and len(line) <= 80
        newest = (await talk.session.messages())[0].id
        assert newest not in line


async def test_an_option_that_a_drop_does_not_have_is_refused(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("hello")
        with pytest.raises(CommandRefused, match="/drop has no --lose: it takes --yes"):
            await perform(talk, "/drop #1 --lose")


async def test_context_is_the_sessions_own_reading(tmp_path: Path) -> None:
    async with talking(tmp_path, system="Be brief.") as talk:
        await talk.session.ask("hello")
        used = (await talk.session.context()).used.tokens
        assert f"{used:,}" in words(await perform(talk, "/context"))
        window = await talk.acting.window()
        assert window.reading.snapshot_id == (await talk.session.context()).snapshot_id
        assert {tool.name for tool in window.tools} >= {"read", "list", "search"}
        assert [block.text for block in window.system] == ["Be brief."]
        assert window.messages == await talk.session.messages()


@pytest.mark.program
async def test_steps_spend_and_tools_show_figures(tmp_path: Path) -> None:
    async with talking(tmp_path, tools=("read", "shell")) as talk:
        assert words(await perform(talk, "/spend")) == "Nothing has been spent yet."
        await talk.session.ask("hello")
        assert "estimate" in words(await perform(talk, "/steps"))
        assert "1 call" in words(await perform(talk, "/spend"))
        tools = words(await perform(talk, "/tools")).splitlines()
        assert any(line.startswith("shell") and "asks first" in line for line in tools)
        assert any(
            line.startswith("read ") and "asks first" not in line for line in tools
        )


async def test_model_and_set_change_the_session_and_name_errors(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await perform(talk, "/model anthropic:claude-haiku-4-5")
        await perform(talk, "/set trigger 0.5")
        settings = (await talk.session._look()).ledger.loop.settings
        assert settings["model"] == "anthropic:claude-haiku-4-5"
        assert settings["trigger"] == "0.5" or settings["trigger"] == 0.5
        assert "claude-haiku-4-5" in words(await perform(talk, "/model"))
        assert "needs a key" in words(await perform(talk, "/model mistral:mistral-large"))
        with pytest.raises(SettingError, match="trigger"):
            await perform(talk, "/set triger 0.5")
        await perform(talk, "/set trigger")
        assert "trigger" not in (await talk.session._look()).ledger.loop.settings


async def test_pin_takes_the_last_message_or_a_place_and_unpins(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        with pytest.raises(CommandRefused):
            await perform(talk, "/pin")
        await talk.session.ask("hello")
        own = (await talk.session.messages())[0].id
        await perform(talk, "/pin")
        assert (await talk.acting.window()).pinned == {own}
        await perform(talk, "/pin #1")
        assert (await talk.acting.window()).pinned == frozenset()
        with pytest.raises(CommandRefused):
            await perform(talk, "/pin #9")
        with pytest.raises(CommandRefused):
            await perform(talk, "/pin nothing-of-this-id")


async def test_rewind_goes_back_before_a_message_with_its_text(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("first")
        await talk.session.ask("second")
        outcome = await perform(talk, "/rewind #3")
        assert outcome.text == "second"
        assert len(await talk.session.messages()) == 2
        assert (await perform(talk, "/rewind #1")).text == "first"
        assert await talk.session.messages() == ()


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("from #3 keep names", CompactAsked(instructions="keep names", from_="#3")),
        ("from", CompactAsked(from_="#3")),
        ("up-to #3", CompactAsked(up_to="#3")),
        ("keep names", CompactAsked(instructions="keep names")),
    ],
)
async def test_compact_takes_all_or_what_stands_before_a_message_or_from_it_on(
    typed: str, asked: CompactAsked, tmp_path: Path
) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("first")
        await talk.session.ask("second")
        third = (await talk.session.messages())[2].id
        await perform(talk, f"/compact {typed}")
        await talk.session.wait()
        history = await talk.session.history()
        (event,) = [each for each in history if isinstance(each, CompactAsked)]
        found = (event.instructions, event.from_, event.up_to)
        wanted = (asked.instructions, asked.from_, asked.up_to)
        assert [each.replace(third, "#3") for each in found] == [*wanted]


async def test_compact_from_words_that_name_no_message_is_refused(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("first")
        with pytest.raises(CommandRefused, match="no message 'now' in view"):
            await perform(talk, "/compact from now on keep names")


async def test_export_writes_lines_to_import_again_or_markdown(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("hello")
        assert "say which file" in words(await perform(talk, "/export"))
        await perform(talk, f"/export {tmp_path / 'talk.jsonl'}")
        taken = await import_file(talk.store, tmp_path / "talk.jsonl", "copy")
        assert taken.events == len(await talk.session.history())
        await perform(talk, f"/export {tmp_path / 'talk.md'}")
        assert "## You\n\nhello" in (tmp_path / "talk.md").read_text()
        with pytest.raises(UllageError):
            await perform(talk, f"/export {tmp_path / 'nowhere' / 'talk.md'}")


async def test_fork_new_resume_and_quit_say_which_session_is_next(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("hello")
        forked = (await perform(talk, "/fork")).opens
        assert (await talk.store.about(forked)).origin == "test"
        assert (await perform(talk, "/new")).opens not in ("", forked)
        for name in (forked, forked[:13], forked[-8:]):
            assert (await perform(talk, f"/resume {name}")).opens == forked
        assert "test" in words(await perform(talk, "/resume"))
        with pytest.raises(SessionNotFound):
            await perform(talk, "/resume nowhere")
        assert (await perform(talk, "/quit")).opens == LEAVE


async def test_what_can_not_be_done_now_is_refused_with_a_reason(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert "no compaction" in words(await perform(talk, "/uncompact"))
        with pytest.raises(CommandRefused):
            await perform(talk, "/retry")
        assert "There is no /nothing" in words(await perform(talk, "/nothing"))


def test_help_names_every_command() -> None:
    text = "\n".join(plain(line) for line in help_lines())
    assert all(f"/{command.name}" in text for command in COMMANDS)
