"""What a session's file holds of the conversation is the same whether the view was made smaller or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    CHAT,
    FIVE,
    IS_THOROUGH,
    SESSION,
    Dialect,
    agent_on,
    exported,
    generated,
    refused,
    script,
)
from tests.context.sessions import words
from ullage.events import CompactionCommitted, Event, Pruned
from ullage.messages import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from ullage_simulators import running

TURNS = 45
CASKS = 2
"""Looked at in each turn: several short results, so that none is cut to what a small window has room for."""

SMALL, BIG = 16_000, 1_000_000


def read_label(at: int) -> str:
    """Read the label of a cask. Read again, what was read before is out of date and is cleared.

    Args:
        at: Its number.
    """
    return f"cask {at}: {words(320, at)}"


LINES: tuple[dict[str, Any], ...] = (
    *(
        {
            "when": {"contains": f"No. {number:03}:", "after": "user"},
            "reasoning": f"Cask {number} it is.",
            "text": "I look.",
            "calls": [
                {"name": "read_label", "arguments": {"at": each}} for each in range(CASKS)
            ],
        }
        for number in reversed(range(TURNS))
    ),
    {"when": {"after": "tool"}, "text": f"It is whole. {words(30, 4)}"},
)


class Lived(NamedTuple):
    events: list[Event]
    exported: list[Message]
    calls: int


async def lived(path: Path, dialect: Dialect, window: int) -> Lived:
    """A session of so many turns in a window of that size."""
    with running(script(dialect, *LINES, window=window), seed=1) as server:
        async with agent_on(
            server, path, dialect, window=window, tools=[read_label]
        ).session(SESSION) as session:
            for number in range(TURNS):
                await session.send(
                    f"No. {number:03}: {words(20, number)}", id=f"m{number}"
                )
                result = await session.wait()
                assert result.reason == "finished", result.note
            events, messages = await session.history(), await exported(session)
        assert not refused(server)
        return Lived(events, messages, len(generated(server)))


def told(message: Message) -> list[object]:
    """A message as a transcript shows it: the simulator numbers calls by its requests, so their ids are left out."""
    shown: list[object] = [message.role, message.origin, message.interrupted]
    for part in message.parts:
        match part:
            case TextPart() | ReasoningPart():
                shown.append((type(part).__name__, part.text))
            case ToolCallPart():
                shown.append(("calls", part.name, part.arguments))
            case ToolResultPart():
                shown.append(("gave", part.name, part.text, part.is_error, part.cleared))
            case _:
                raise AssertionError(f"{part} is in no answer of the script")
    return shown


@pytest.mark.parametrize(
    "dialect",
    FIVE if IS_THOROUGH else (ANTHROPIC, CHAT),
    ids=lambda dialect: dialect.name,
)
async def test_a_session_that_was_cleared_and_summarised_is_exported_as_in_a_window_without_end(
    dialect: Dialect, tmp_path: Path
) -> None:
    small = await lived(tmp_path / "small.db", dialect, SMALL)
    big = await lived(tmp_path / "big.db", dialect, BIG)
    assert {CompactionCommitted, Pruned} <= {type(event) for event in small.events}, (
        "it was not made smaller"
    )
    assert not {CompactionCommitted, Pruned} & {type(event) for event in big.events}
    assert small.calls > big.calls
    assert [told(message) for message in small.exported] == [
        told(message) for message in big.exported
    ]
    assert len(small.exported) == (3 + CASKS) * TURNS
