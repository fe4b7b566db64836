"""Instructions that functions of a program write when a turn begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from ullage import Agent, TurnContext
from ullage.errors import InternalError, SettingError, WrongType
from ullage.events import SystemChanged
from ullage_simulators import Scenario, Server, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.prompt import ScriptContext


@dataclass
class Cellar:
    owner: str


def greet(turn: TurnContext[Cellar]) -> str:
    return f"You work for {turn.deps.owner} with {turn.model}."


async def silent(turn: TurnContext) -> str:
    return "  "


def agent(
    server: Server, place: Path, *instructions: Any, **more: Any
) -> Agent[str, Any]:
    address = server.url("anthropic")
    given = list(instructions)
    return haiku(place / "s.db", base_url=address, instructions=given, **more)


def systems(server: Server) -> list[str]:
    """The system prompt of each call."""
    found = []
    for each in server.exchanges:
        if each.path.endswith("/messages"):
            blocks = each.body.get("system", [])
            found.append(" | ".join(block["text"] for block in blocks))
    return found


async def test_they_follow_the_prompt_and_the_files_and_are_written_for_each_turn(
    tmp_path: Path,
) -> None:
    (tmp_path / "NOTES.md").write_text("Casks are wood.")
    turns = iter(("one", "two"))

    async def count(turn: TurnContext[Cellar]) -> str:
        return f"Turn {next(turns)} of {turn.session}."

    with running() as server:
        asking = agent(
            server, tmp_path, greet, "Answer in French.", silent, count, "Count in litres.", system="Be brief.",
            instruction_files=["NOTES.md"], root=tmp_path,
        )  # fmt: skip
        async with asking.session("s", deps=Cellar("Ada")) as session:
            await session.ask("Hello.")
            await session.ask("And now?")
            changed = [e for e in await session.history() if isinstance(e, SystemChanged)]
        first, second = systems(server)
    words = "You work for Ada with anthropic:claude-haiku-4-5."
    fixed = "Answer in French.\n\nCount in litres."
    assert first == f"Be brief. | {fixed} | Casks are wood. | {words} | Turn one of s."
    assert second == f"Be brief. | {fixed} | Casks are wood. | {words} | Turn two of s."
    names = [block.name for block in changed[-1].system]
    assert names == ["", "instructions", "NOTES.md", "greet()", "count()"]


async def test_a_turn_of_several_calls_asks_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def note(turn: TurnContext) -> str:
        asked.append(turn.session)
        return "Note."

    def look() -> str:
        """Look."""
        return "Seen."

    def assistant(ask: ScriptContext) -> ScriptedAnswer:
        if ask.results:
            return ScriptedAnswer(text="Done.")
        return ScriptedAnswer(calls=(Call("look"),))

    with running(Scenario(assistant=assistant)) as server:
        await agent(server, tmp_path, note, tools=[look]).ask("Look.")
        assert systems(server) == ["Note.", "Note."]
    assert len(asked) == 1


async def test_looking_at_a_session_calls_no_function(tmp_path: Path) -> None:
    with running() as server:
        asking = agent(server, tmp_path, greet)
        async with asking.session("s", deps=Cellar("Ada")) as session:
            before = (await session.ask("Hello.")).reading
        async with asking.session("s", resume=False) as session:
            assert (await session.context()).used == before.used


async def test_deps_are_checked_before_anything_is_sent(tmp_path: Path) -> None:
    with running() as server:
        with pytest.raises(SettingError, match=r"function greet\(\) needs deps of type Cellar"):  # fmt: skip
            await agent(server, tmp_path, greet).ask("Hello.")
        typed = agent(server, tmp_path, deps_type=Cellar)
        with pytest.raises(SettingError, match="The agent needs deps of type Cellar, and none"):  # fmt: skip
            await typed.ask("Hello.")
        with pytest.raises(SettingError, match="and they are int"):
            await typed.ask("Hello.", deps=3)
        assert systems(server) == []
        assert (await typed.ask("Hello.", deps=Cellar("Ada"))).text


async def test_what_a_function_raises_pauses_the_turn(tmp_path: Path) -> None:
    broken = [True]

    def look_up(turn: TurnContext) -> Any:
        if broken:
            raise LookupError("no cellar")
        return "Found." if turn.session else 5

    with running() as server:
        async with agent(server, tmp_path, look_up).session("s") as session:
            with pytest.raises(InternalError, match="LookupError: no cellar"):
                await session.ask("Hello.")
            broken.clear()
            await session.resume()
            assert (await session.wait()).text
        assert systems(server) == ["Found."]


async def test_a_text_is_sent_as_it_is(tmp_path: Path) -> None:
    with running() as server:
        address = server.url("anthropic")
        place = tmp_path / "s.db"
        told = haiku(place, base_url=address, instructions="Answer in French.")
        await told.ask("Hello.")
        assert systems(server) == ["Answer in French."]
    assert told.settings.instruction_files == ()


@pytest.mark.parametrize("name", ["AGENTS.md", "docs/rules.txt", Path("AGENTS")])
def test_a_file_is_no_instruction_and_is_refused(name: Any) -> None:
    for given in (name, ["Be brief.", name]):
        with pytest.raises(WrongType, match=rf"write instruction_files=\['{name}'\]"):
            Agent("openai:gpt-5", instructions=given, config=False)
    with pytest.raises(WrongType, match=r"a text, a function .* and not int"):
        Agent("openai:gpt-5", instructions=[5], config=False)  # type: ignore[list-item]
    made = Agent("openai:gpt-5", instruction_files=["AGENTS.md"], config=False)
    assert made.settings.instruction_files == ("AGENTS.md",)
