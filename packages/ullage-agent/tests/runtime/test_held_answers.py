"""An answer that the provider goes on with is fetched, and neither asked for again nor shown otherwise than before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import script
from ullage import Agent
from ullage.codec.stream import CallDelta, PartDone, TextDelta
from ullage.errors import DamagedAnswer
from ullage.events import (
    CallEnded,
    CallHeld,
    CallStarted,
    DraftPiece,
    Event,
    Rewound,
)
from ullage.messages import TextPart
from ullage_agent.runtime.drafting import AnswerDraft
from ullage_simulators import Server, running

STORY = "The cask was filled in spring and by autumn it was opened again. " * 4


@pytest.fixture
def simulator() -> Iterator[Server]:
    with running(
        script({"text": STORY}, server={"delay_s": 0.05}), wires=["openai"]
    ) as server:
        yield server


def agent_of(simulator: Server, folder: Path, **more: Any) -> Agent:
    return Agent(
        "openai:gpt-4.1",
        base_url=simulator.url("openai"),
        store=folder / "s.db",
        environment={"OPENAI_API_KEY": "x", "ULLAGE_DATA": str(folder / "data")},
        config=False,
        count="never",
        **{"background": True, **more},
    )


def asked(simulator: Server) -> list[str]:
    """Method and path of what the provider was asked, but for models."""
    told = [f"{one.method} {one.path}" for one in simulator.exchanges]
    return [one.replace("/openai/v1", "") for one in told if "models" not in one]


async def broken_off(simulator: Server, folder: Path, **more: Any) -> str:
    """A session whose driver left in the middle of the answer; gives what was shown of it."""
    shown = ""
    async with agent_of(simulator, folder, **more).session("s") as session:
        await session.send("Tell me.")
        async for event in session.events(after=0):
            if isinstance(event, DraftPiece):
                shown += event.text
            if len(shown) > 40:
                await session.close()
                break
    return shown


async def ended(simulator: Server, folder: Path, **more: Any) -> list[Event]:
    """The ledger once another driver has come to its end."""
    async with agent_of(simulator, folder, **more).session("s") as session:
        await session.wait(check=False)
        return await session.history()


def of_kind(events: Sequence[Event], *kinds: type) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


async def test_the_next_driver_fetches_the_answer_and_nothing_is_paid_twice(
    simulator: Server, tmp_path: Path
) -> None:
    shown = await broken_off(simulator, tmp_path)
    events = await ended(simulator, tmp_path)
    (held,) = of_kind(events, CallHeld)
    assert asked(simulator) == [
        "POST /responses",
        f"GET /responses/{held.response}",
    ]
    assert len(of_kind(events, CallStarted)) == 1
    (end,) = of_kind(events, CallEnded)
    assert end.outcome == "finished"
    assert end.usage.input == simulator.truth().bills[0].input
    async with agent_of(simulator, tmp_path).session("s") as session:
        answer = (await session.messages())[-1]
    assert answer.text == STORY
    assert STORY.startswith(shown) and shown
    assert not answer.interrupted


async def test_without_the_setting_it_is_asked_for_again(
    simulator: Server, tmp_path: Path
) -> None:
    await broken_off(simulator, tmp_path, background=False)
    events = await ended(simulator, tmp_path, background=False)
    assert asked(simulator) == ["POST /responses"] * 2
    assert [event.outcome for event in of_kind(events, CallEnded)] == [
        "cancelled",
        "finished",
    ]


async def test_an_answer_whose_connection_breaks_is_fetched_by_the_same_driver(
    tmp_path: Path,
) -> None:
    cut = {"kind": "cut", "request": 1, "at": 2_000}
    said = script({"text": STORY}, faults=[cut])
    with running(said, wires=["openai"]) as simulator:
        async with agent_of(simulator, tmp_path).session("s") as session:
            result = await session.ask("Tell me.")
            events = await session.history()
    assert result.output == STORY
    assert [one.partition(" ")[0] for one in asked(simulator)] == ["POST", "GET"]
    assert len(of_kind(events, CallStarted)) == 1
    assert not of_kind(events, Rewound)


async def test_an_answer_that_is_gone_is_asked_for_again(
    simulator: Server, tmp_path: Path
) -> None:
    await broken_off(simulator, tmp_path)
    simulator.app.memory.items.clear()
    events = await ended(simulator, tmp_path)
    assert [one.partition(" ")[0] for one in asked(simulator)] == ["POST", "GET", "POST"]
    assert [event.outcome for event in of_kind(events, CallEnded)] == [
        "cancelled",
        "finished",
    ]


async def test_an_answer_that_streams_no_more_is_fetched_whole(
    simulator: Server, tmp_path: Path
) -> None:
    await broken_off(simulator, tmp_path)
    (name,) = [name for name in simulator.app.memory.items if name.startswith("resp")]
    simulator.app.memory.items[name].is_streamed = False
    events = await ended(simulator, tmp_path)
    assert [one.partition(" ")[0] for one in asked(simulator)][:3] == [
        "POST",
        "GET",
        "GET",
    ]
    (end,) = of_kind(events, CallEnded)
    assert end.outcome == "finished"


async def test_a_cancel_stops_the_provider(tmp_path: Path) -> None:
    with running(
        script({"text": STORY * 20}, server={"delay_s": 0.01}), wires=["openai"]
    ) as slow:
        await broken_off(slow, tmp_path)
        async with agent_of(slow, tmp_path).session("s") as session:
            await session.cancel()
            (held,) = of_kind(await session.history(), CallHeld)
        assert asked(slow)[-1] == f"POST /responses/{held.response}/cancel"
        kept = slow.app.memory.items[held.response]
        assert kept.now["status"] == "cancelled"


def draft_behind(*shown: DraftPiece) -> AnswerDraft:
    async def store(pieces: Sequence[DraftPiece]) -> int:
        return len(pieces)

    return AnswerDraft(store, "c", 1_024, shown)


def piece(offset: int, text: str, kind: Any = "text") -> DraftPiece:
    return DraftPiece("c", offset, kind, "p", text)


def test_what_is_shown_is_not_shown_again_however_the_text_is_cut() -> None:
    draft = draft_behind(piece(0, "The ca"), piece(1, "sk is"))
    for text in ("The", " cask ", "is full", "."):
        draft.put(TextDelta("p", text))
    draft.put(TextDelta("q", "Yes."))
    draft.put(PartDone(TextPart(id="p", text="The cask is full.")))
    new = draft._pieces[2:]
    assert [(one.offset, one.part) for one in new] == [
        (2, "p"),
        (3, "p"),
        (4, "q"),
        (5, "p"),
    ]
    assert [one.text for one in new[:3]] == [" full", ".", "Yes."]


def test_a_call_that_is_shown_goes_on_where_it_was() -> None:
    begun = DraftPiece("c", 0, "call", "p", "", "call_1", "write")
    draft = draft_behind(begun, begun._replace(offset=1, text='{"pa'))
    for text in ("", '{"path": ', "1}"):
        draft.put(CallDelta("p", "call_1", "write", text))
    assert [one.text for one in draft._pieces[2:]] == ['th": ', "1}"]


def test_an_answer_that_contradicts_what_is_shown_is_refused() -> None:
    draft = draft_behind(piece(0, "The cask is"))
    draft.put(TextDelta("p", "The cask"))
    with pytest.raises(DamagedAnswer):
        draft.put(TextDelta("p", " was"))
