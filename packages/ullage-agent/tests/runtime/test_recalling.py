"""The model asks for what left its window, and gets it word for word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ullage import Agent
from ullage.errors import InputError
from ullage.messages import Request, ToolResultPart
from ullage.store.recall import LABEL, RECALL
from ullage.testing import FunctionModel
from ullage_agent.testing.answers import tool_call
from ullage_agent.tools.functions import tool

FACT = "the bung of cask nine leaks a little at night"
QUESTION = "Of which wood is the bung?"


@tool
def look(at: int) -> str:
    """Read the log of a cask."""
    return f"cask {at} is dry"


def answer(request: Request) -> object:
    """Asks for the fact by recall where it is not in view, and otherwise says what it reads."""
    last = request.messages[-1]
    for part in last.of_type(ToolResultPart):
        return f"It says: {part.text}"
    if last.text == QUESTION and RECALL in names(request):
        return tool_call(RECALL, query="bung cask nine")
    if "Write down what is needed to go on" in last.text:
        return "## Goal\nThe user looks at casks.\n## Next\nThe next cask."
    return f"I see that {FACT}." if "nine" in last.text else "It is dry."


def names(request: Request) -> set[str]:
    return {tool.name for tool in request.tools}


MODEL = FunctionModel(answer)


@pytest.fixture(autouse=True)
def no_requests() -> None:
    MODEL.requests.clear()


def agent(place: Path, *, tools: Any = (look,), **settings: Any) -> Agent[str]:
    return Agent(MODEL, tools=list(tools), store=place / "s.db", config=False, **settings)


async def compacted(of: Agent[Any]) -> Any:
    """A session that was told the fact, and has compacted it away."""
    session = of.session("s")
    await session.__aenter__()
    await session.ask("What is with cask nine?")
    for at in range(3):
        await session.ask(f"Look at cask {at}. " + "It stands in the north. " * 500)
    await session.compact()
    await session.wait()
    return session


async def test_the_model_finds_what_left_and_quotes_it(tmp_path: Path) -> None:
    one = agent(tmp_path)
    session = await compacted(one)
    assert RECALL not in names(MODEL.requests[0])
    assert not any(FACT in message.text for message in await session.messages())
    result = await session.ask(QUESTION)
    assert FACT in result.text and LABEL in result.text
    found = await session.recall("bung cask nine")
    assert [line.text for line in found.lines][:1] == [f"I see that {FACT}."]
    assert len(found.lines) == 1 or FACT not in found.lines[1].text  # no answer is found
    again = await session.recall(read=found.lines[0].place)
    assert again.lines[0].text == f"I see that {FACT}."
    await session.close()


async def test_nothing_is_found_before_something_left(tmp_path: Path) -> None:
    async with agent(tmp_path).session("s") as session:
        await session.ask("What is with cask nine?")
        assert not (await session.recall("bung")).lines
        with pytest.raises(InputError, match="no word"):
            await session.recall("?")
        with pytest.raises(InputError, match="Nothing that left"):
            await session.recall(read="1:0")


@pytest.mark.parametrize(
    ("tools", "settings", "is_declared"),
    [
        ((look,), {}, True),
        ((look,), {"recall": "never"}, False),
        ((), {}, False),
        ((), {"recall": "always"}, True),
    ],
)
async def test_when_the_tool_is_declared(
    tmp_path: Path, tools: Any, settings: Any, is_declared: bool
) -> None:
    one = agent(tmp_path, tools=tools, **settings)
    session = await compacted(one)
    await session.ask("Go on.")
    assert (RECALL in names(MODEL.requests[-1])) is is_declared
    assert (RECALL in names(MODEL.requests[0])) is (settings.get("recall") == "always")
    await session.close()


async def test_it_stays_declared_when_the_compaction_is_undone(tmp_path: Path) -> None:
    one = agent(tmp_path)
    session = await compacted(one)
    await session.ask("Go on.")
    history = await session.history()
    made = [event.compaction for event in history if hasattr(event, "compaction")]
    await session.uncompact(made[-1])
    await session.ask("Go on.")
    assert RECALL in names(MODEL.requests[-1])
    assert not (await session.recall("bung cask nine")).lines  # it is in view again
    await session.close()


async def test_a_tool_of_the_program_keeps_the_name(tmp_path: Path) -> None:
    @tool(name=RECALL)
    def own(query: str) -> str:
        """Find in the cellar's books."""
        return "from the books"

    one = agent(tmp_path, tools=(own,))
    session = await compacted(one)
    assert "from the books" in (await session.ask(QUESTION)).text
    await session.close()


async def test_a_session_does_not_reach_another_one(tmp_path: Path) -> None:
    one = agent(tmp_path)
    session = await compacted(one)
    async with one.session("other") as other:
        await other.ask("Look at cask 1.")
        await other.compact()
        await other.wait()
        assert not (await other.recall("bung cask nine")).lines
    await session.close()


async def test_what_a_person_drops_brings_no_tool(tmp_path: Path) -> None:
    async with agent(tmp_path).session("s") as session:
        await session.ask("What is with cask nine?")
        await session.ask("And cask one? " + "It stands in the north. " * 500)
        first = (await session.messages())[0]
        assert (await session.drop(first.id)).freed
        await session.ask("Go on.")
    assert RECALL not in names(MODEL.requests[-1])
