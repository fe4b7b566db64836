"""The model is told of its room once before each compaction, at the end of the conversation."""

from pathlib import Path
from typing import Any

from ullage import Agent
from ullage.events import CompactionCommitted, Event, MessageAdded
from ullage.messages import Message, Request
from ullage.testing import FunctionModel

WORDS = "The cask was filled in spring and by autumn it was opened again. "


def answer(request: Request) -> str:
    last = request.messages[-1]
    if "messages. They will be taken out" in last.text:
        return "## State\nThe cask is full."
    return "Yes." * 30


async def told(
    folder: Path, turns: int, **more: Any
) -> tuple[list[Event], FunctionModel]:
    model = FunctionModel(answer, window=4_000, max_output=500)
    agent = Agent(
        model,
        store=folder / "s.db",
        config=False,
        environment={"ULLAGE_DATA": str(folder / "data")},
        **more,
    )
    async with agent.session("s") as session:
        for number in range(turns):
            await session.ask(f"{number}: {WORDS * 28}")
        return await session.history(), model


def notes(events: list[Event]) -> list[Message]:
    messages = [one.message for one in events if isinstance(one, MessageAdded)]
    return [one for one in messages if one.id.startswith("room-")]


async def test_it_is_told_once_before_each_compaction_and_nothing_sent_changes(
    tmp_path: Path,
) -> None:
    events, model = await told(tmp_path, 9, room_note=True)
    compactions = sum(isinstance(event, CompactionCommitted) for event in events)
    assert 1 <= compactions <= len(notes(events)) <= compactions + 1
    for note in notes(events):
        assert (note.role, note.origin) == ("user", "injected")
        assert "tokens are left before a summary" in note.text
    noted = [
        at
        for at, request in enumerate(model.requests)
        if request.messages[-1].id.startswith("room-")
    ]
    assert len(noted) == len(notes(events))
    for at in noted:
        before = model.requests[at - 1].messages
        assert model.requests[at].messages[: len(before)] == before


async def test_without_the_setting_nothing_is_told(tmp_path: Path) -> None:
    events, _ = await told(tmp_path, 7)
    assert any(isinstance(event, CompactionCommitted) for event in events)
    assert not notes(events)
