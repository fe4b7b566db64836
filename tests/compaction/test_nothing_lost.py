"""What leaves the view was shown to who summarised it, or is listed; what was done can be undone to the byte."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    ASKS,
    CHAT,
    FIVE,
    RESPONSES,
    SESSION,
    Dialect,
    agent_on,
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
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    MessageAdded,
    Pruned,
)
from ullage.messages import Message, TextPart
from ullage_agent.runtime.session import Session
from ullage_simulators import running

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


def texts_of(events: Sequence[Event]) -> list[tuple[str, str]]:
    """The conversation itself as an export has it: who said what, compactions or not."""
    return [
        (
            event.message.role,
            "".join(part.text for part in event.message.of_type(TextPart)),
        )
        for event in of_kind(events, MessageAdded)
    ]


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
    assert {event.rung for event in committed} <= (
        {"digest"} if summary else {"summary", "pieces"}
    )


@pytest.mark.parametrize("dialect", FIVE, ids=lambda dialect: dialect.name)
async def test_uncompact_restores_the_exact_bytes_and_what_is_exported_knows_of_no_compaction(
    dialect: Dialect, tmp_path: Path
) -> None:
    """Two sessions say the same; one is compacted and undone before its last request, and opened anew in between."""
    bodies: list[list[str]] = []
    exports: list[list[tuple[str, str]]] = []
    for name in ("compacted", "plain"):
        with running(script(dialect, window=WINDOW), seed=1) as server:
            agent = agent_on(server, tmp_path / f"{name}.db", dialect, window=WINDOW)
            async with agent.session(SESSION) as session:
                for number in range(12):
                    await session.send(
                        f"No. {number:03}: {words(350, number)}", id=f"m{number}"
                    )
                    assert (await session.wait()).reason == "finished"
                if name == "compacted":
                    await session.compact()
                    await session.wait()
                    (committed,) = of_kind(await session.history(), CompactionCommitted)
                    assert len(await session.messages()) < 24
            async with agent.session(SESSION) as session:
                if name == "compacted":
                    await session.uncompact(committed.compaction)
                    await session.wait()
                assert len(await session.messages()) == 24
                await session.send("And the last?", id="last")
                assert (await session.wait()).reason == "finished"
                exports.append(texts_of(await session.history()))
            assert not refused(server)
            bodies.append(
                [heard(one) for one in generated(server) if not is_summary_call(one)]
            )
    assert bodies[0] == bodies[1]
    assert exports[0] == exports[1]


async def test_compacting_at_rest_begins_no_turn_and_in_a_turn_it_is_followed_by_one_call(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ANTHROPIC, window=WINDOW) as (server, session):
        for number in range(12):
            await session.ask(f"No. {number:03}: {words(350, number)}")
        before = len(generated(server))
        await session.compact("Keep the numbers.")
        await session.wait()
        after = generated(server)[before:]
        assert [is_summary_call(one) for one in after] == [True]
        assert "Keep the numbers." in heard(after[0])
        for number in range(12, 40):
            before = len(generated(server))
            await session.ask(f"No. {number:03}: {words(350, number)}")
            arrived = [is_summary_call(one) for one in generated(server)[before:]]
            assert arrived in ([False], [True, False])
        assert len(of_kind(await session.history(), CompactionCommitted)) >= 2


async def test_pruning_alone_averts_a_compaction_where_it_frees_enough(
    tmp_path: Path,
) -> None:
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


@pytest.mark.parametrize("moment", ["summary is asked for", "summary streams"])
async def test_cancelling_a_compaction_leaves_the_history_untouched(
    moment: str, tmp_path: Path
) -> None:
    """The simulator takes its time with the summary: a cancel comes before its first byte, or in the middle of it."""
    fault = {
        "kind": "hang",
        "request": 13,
        "seconds": 30,
        "at": 0 if moment == "summary is asked for" else 700,
    }
    async with scene(
        tmp_path,
        ANTHROPIC,
        scenario=script(ANTHROPIC, window=WINDOW, faults=[fault]),
        window=WINDOW,
    ) as (server, session):
        for number in range(12):
            await session.ask(f"No. {number:03}: {words(350, number)}")
        before = await session.messages()
        await session.compact()
        async with asyncio.timeout(60):
            while len(generated(server)) < 13:
                await asyncio.sleep(0.01)
        answer = await session.cancel()
        assert (answer.cancelled, answer.persisted) == (
            True,
            "compaction_rolled_back",
        )
        await session.wait()
        assert await session.messages() == before
        events = await session.history()
        assert [
            each.reason for each in of_kind(events, CompactionRolledBack) if not each.rung
        ] == ["cancelled"]
        await session.ask("And now?")
    assert not refused(server)


async def test_what_is_said_during_a_compaction_is_delivered_once_after_it(
    tmp_path: Path,
) -> None:
    async with scene(
        tmp_path,
        ANTHROPIC,
        scenario=script(
            ANTHROPIC,
            window=WINDOW,
            faults=[{"kind": "slow", "request": 13, "seconds": 0.02}],
        ),
        window=WINDOW,
    ) as (server, session):
        for number in range(12):
            await session.ask(f"No. {number:03}: {words(350, number)}")
        await session.compact()
        async with asyncio.timeout(60):
            while not of_kind(await session.history(), CompactionStarted):
                await asyncio.sleep(0.005)
        for name in ("one", "two"):
            await session.send(f"Said meanwhile: {name}.", id=name, kind="follow_up")
        assert (await session.wait()).reason == "finished"
        events = await session.history()
    places = {event.message.id: event.seq for event in of_kind(events, MessageAdded)}
    (committed,) = of_kind(events, CompactionCommitted)
    assert committed.seq < places["one"] < places["two"]
    assert (
        len(
            [
                event
                for event in of_kind(events, MessageAdded)
                if event.message.id in ("one", "two")
            ]
        )
        == 2
    )
    last = generated(server)[-1]
    assert ASKS not in heard(last) and heard(last).count("Said meanwhile: two.") == 1
