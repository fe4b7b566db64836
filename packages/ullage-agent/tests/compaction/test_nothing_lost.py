"""What leaves the view was shown to who summarised it, or is listed; what was done can be undone to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    CHAT,
    RESPONSES,
    Dialect,
    answered,
    called,
    gave,
    generated,
    heard,
    is_summary_call,
    of_kind,
    refused,
    said,
    scene,
    script,
)
from tests.context.sessions import words
from ullage.events import CompactionCommitted, MessageAdded, Pruned
from ullage.messages import Message, TextPart
from ullage_agent.runtime.session import Session

WINDOW = 16_000


def sample(message: Message) -> str:
    """Words that stand at the begin of a message and in no other; empty for one without text of its own."""
    text = "".join(part.text for part in message.of_type(TextPart))
    return text[:24].split("\n")[0] if message.role == "user" else ""


async def talked(session: Session, count: int) -> None:
    for number in range(count):
        await session.send(f"No. {number:03}: {words(60, number)}")
        result = await session.wait()
        assert result.reason == "finished", result


@pytest.mark.parametrize("summary", [{}, {"text": ""}], ids=["summarised", "digested"])
@pytest.mark.parametrize("dialect", (ANTHROPIC, CHAT), ids=lambda dialect: dialect.name)
async def test_what_left_was_in_a_summary_request_or_a_digest_or_is_listed_as_dropped(
    dialect: Dialect, summary: dict[str, str], tmp_path: Path
) -> None:
    answer = {"text": f"It is noted. {words(150, 3)}"}
    async with scene(
        tmp_path,
        dialect,
        scenario=script(dialect, answer, window=WINDOW, summary=summary or None),
        window=WINDOW,
    ) as (server, session):
        await talked(session, 150)
        events = await session.history()
    assert not refused(server)
    asked = [heard(one) for one in generated(server) if is_summary_call(one)]
    messages = {
        event.message.id: event.message for event in of_kind(events, MessageAdded)
    }
    committed = of_kind(events, CompactionCommitted)
    assert len(committed) >= 2
    for event in committed:
        assert all(dropped.reason for dropped in event.dropped)
        text = (
            ""
            if event.summary is None
            else "".join(part.text for part in event.summary.of_type(TextPart))
        )
        for name in event.summarised:
            if name not in messages or not (words_ := sample(messages[name])):
                continue
            shown = text if event.rung == "digest" else "\n".join(asked)
            assert words_ in shown, f"{name} was in no {event.rung}"
    found = {event.rung for event in committed}
    assert found <= ({"digest"} if summary else {"summary", "pieces"})


async def test_pruning_alone_averts_a_compaction_if_it_helps(tmp_path: Path) -> None:
    """Twelve large results of which nothing is needed any more: no model call, and the numbers are in the event."""
    messages: list[Message] = []
    for n in range(20):
        messages += [
            said(f"u{n}", f"Please look at cask {n}."),
            called(f"a{n}"),
            gave(f"r{n}", f"a{n}", words(650, n)),
        ]
        messages.append(answered(f"b{n}", "It is whole."))
    async with scene(tmp_path, RESPONSES, messages, window=WINDOW) as (server, session):
        await session.ask("And now?")
        events = await session.history()
    assert [is_summary_call(one) for one in generated(server)] == [False]
    (pruned,) = of_kind(events, Pruned)
    assert not of_kind(events, CompactionCommitted)
    assert pruned.before is not None and pruned.after is not None
    assert pruned.saved == pruned.before - pruned.after > 0
    assert pruned.rewritten is not None
    body = heard(generated(server)[-1])
    assert all(f"Please look at cask {number}." in body for number in range(20))
