"""A compaction that is read before it happens: asked for once, committed never, accepted as it was or edited."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    BOUND_ANTHROPIC,
    CHAT,
    GEMINI,
    RESPONSES,
    Dialect,
    agent_on,
    answered,
    called,
    conversing,
    gave,
    generated,
    heard,
    imported,
    is_summary_call,
    of_kind,
    refused,
    said,
    scene,
    script,
    turns,
)
from tests.context.sessions import words
from ullage.errors import CommandRefused
from ullage.events import CompactionCommitted
from ullage.messages import Message
from ullage_agent.runtime.session import Session
from ullage_simulators import running

WIRES = (ANTHROPIC, RESPONSES, CHAT, GEMINI, BOUND_ANTHROPIC)
HAD = turns(12, size=300)


class State(NamedTuple):
    """What a preview must not change."""

    digest: str
    tokens: int
    messages: tuple[Message, ...]


async def state_of(session: Session) -> State:
    digest = (await session._look()).fold.view.digest
    tokens = (await session.context()).used.tokens
    return State(digest, tokens, await session.messages())


@pytest.mark.parametrize("dialect", WIRES, ids=lambda dialect: dialect.name)
async def test_a_preview_changes_nothing_and_its_acceptance_is_what_it_showed(
    dialect: Dialect, tmp_path: Path
) -> None:
    async with scene(tmp_path, dialect, HAD, window=64_000) as (server, session):
        await session.ask("Look at cask 99.")
        before = await state_of(session)
        preview = await session.preview("Be short.")
        assert await state_of(session) == before
        asked = [one for one in generated(server) if is_summary_call(one)]
        assert len(asked) == 1
        assert "Be short." in heard(asked[0])
        shown = [*preview.leaves, *preview.stays]
        assert {each.id for each in shown} >= {each.id for each in before.messages}
        assert preview.freed == preview.before - preview.after > 0
        assert preview.spent > 0
        await session.accept(preview)
        then = await state_of(session)
        assert then.tokens == preview.after
        assert [each.id for each in then.messages] == [each.id for each in preview.stays]
        assert preview.summary in then.messages[0].text
        await session.ask("And now?")
        assert len([one for one in generated(server) if is_summary_call(one)]) == 1
        await session.uncompact(preview.id)
        assert (await session.messages())[: len(before.messages)] == before.messages
        await session.ask("And back?")
        assert refused(server) == []


async def test_messages_that_came_since_stay_behind_an_accepted_preview(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ANTHROPIC, HAD, window=64_000) as (server, session):
        preview = await session.preview()
        await session.ask("One thing more: look at cask 98.")
        added = (await session.messages())[len(HAD) :]
        await session.accept(preview.id)
        messages = await session.messages()
        assert messages[-len(added) :] == added
        assert [each.id for each in messages[: -len(added)]] == [
            each.id for each in preview.stays
        ]
        await session.ask("And now?")
        assert refused(server) == []


async def test_an_edited_summary_is_what_the_model_reads(tmp_path: Path) -> None:
    async with scene(tmp_path, ANTHROPIC, HAD, window=64_000) as (server, session):
        preview = await session.preview()
        assert preview.is_editable
        await session.accept(preview, summary=f"{preview.summary}\nThe key is 4711.")
        await session.ask("What is the key?")
        assert "The key is 4711." in heard(generated(server)[-1])


@pytest.mark.parametrize("change", ["rewound", "dropped", "compacted", "accepted"])
async def test_a_preview_of_messages_that_have_changed_is_refused_with_what_to_do(
    change: str, tmp_path: Path
) -> None:
    async with scene(tmp_path, ANTHROPIC, HAD, window=64_000) as (_, session):
        preview = await session.preview()
        match change:
            case "rewound":
                await session.rewind("b9")
            case "dropped":
                await session.drop("r2")
            case "compacted":
                await session.compact()
                await session.wait()
            case _:
                await session.accept(preview)
        before = await state_of(session)
        with pytest.raises(CommandRefused, match="Make a new preview"):
            await session.accept(preview)
        assert await state_of(session) == before


async def test_any_process_accepts_a_preview_that_another_one_made(
    tmp_path: Path,
) -> None:
    store = tmp_path / "s.db"
    await imported(store, HAD)
    with running(script(ANTHROPIC, window=64_000)) as server:
        async with conversing(agent_on(server, store, ANTHROPIC)) as session:
            preview = await session.preview()
        async with conversing(agent_on(server, store, ANTHROPIC)) as session:
            await session.accept(preview.id)
            assert (await session.messages())[0].origin == "summary"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("preview-1", "has no preview"),
        ("preview-99999999999999999999999", "has no preview"),
        ("compaction-3", "is no preview"),
        ("preview-x", "is no preview"),
        ("", "is no preview"),
    ],
)
async def test_a_preview_that_there_is_not_is_named(
    name: str, why: str, tmp_path: Path
) -> None:
    async with scene(tmp_path, ANTHROPIC, HAD, window=64_000) as (_, session):
        with pytest.raises(CommandRefused, match=why):
            await session.accept(name)


@pytest.mark.parametrize("summary", ["", "  \n"])
async def test_an_empty_summary_is_refused(summary: str, tmp_path: Path) -> None:
    async with scene(tmp_path, ANTHROPIC, HAD, window=64_000) as (_, session):
        preview = await session.preview()
        with pytest.raises(CommandRefused, match="The summary is empty"):
            await session.accept(preview, summary=summary)


async def test_a_part_that_a_person_named_is_previewed_and_accepted(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ANTHROPIC, HAD, window=64_000) as (_, session):
        preview = await session.preview(from_="u4")
        assert preview.leaves[0].id == "u4"
        await session.ask("Go on.")
        await session.accept(preview)
        messages = await session.messages()
        assert messages[:16] == tuple(HAD[:16])
        assert messages[16].origin == "summary"
        assert len(messages) == 19


async def test_a_preview_with_nothing_to_do_and_one_that_is_cancelled_say_so(
    tmp_path: Path,
) -> None:
    hangs = {"kind": "hang", "seconds": 60}
    slow = script(ANTHROPIC, window=64_000, faults=[hangs])
    async with scene(tmp_path, ANTHROPIC, HAD, scenario=slow, window=64_000) as (
        _,
        session,
    ):
        with pytest.raises(CommandRefused, match="nothing to preview"):
            await session.preview(up_to="u0")
        asked = asyncio.create_task(session.preview())
        while not (await session._look()).ledger.loop.side_call:
            await asyncio.sleep(0.01)
        await session.cancel()
        with pytest.raises(CommandRefused, match="cancelled"):
            await asked
        assert of_kind(await session.history(), CompactionCommitted) == []


async def test_previews_in_a_row_hold_no_later_compaction_up(tmp_path: Path) -> None:
    async with scene(tmp_path, ANTHROPIC, HAD, window=64_000) as (_, session):
        await session.compact()
        await session.wait()
        for _ in range(4):
            try:
                await session.preview()
            except CommandRefused:
                continue
        breakers = (await session._look()).memory.breakers
        assert breakers.quick == 0
        assert breakers.failed is None or breakers.failed.compaction


@pytest.mark.parametrize("strategy", ["prune", "digest", "drop"])
async def test_a_strategy_without_a_call_is_previewed_too(
    strategy: str, tmp_path: Path
) -> None:
    async with scene(
        tmp_path, ANTHROPIC, HAD, window=64_000, strategy=[strategy], protect_tokens=0
    ) as (server, session):
        before = await state_of(session)
        preview = await session.preview()
        assert await state_of(session) == before
        assert generated(server) == []
        assert preview.spent == 0
        await session.accept(preview)
        assert (await session.context()).used.tokens == preview.after


FACTS = 30


def planted() -> list[Message]:
    """Turns with thirty values: paths, versions, numbers and ids, each in one message."""
    made: list[Message] = []
    for n in range(FACTS):
        made += [
            said(
                f"u{n}",
                f"The key of cask {n} is in src/casks/{n}_lock.py. {words(30, n)}",
            ),
            called(f"a{n}"),
            gave(
                f"r{n}",
                f"a{n}",
                f"cask {n} holds {71_000 + 13 * n} litres. {words(60, 99 + n)}",
            ),
            answered(f"b{n}", f"Cask {n} is of version 3.{n}.7."),
        ]
    return made


async def test_planted_values_that_no_message_holds_any_more_are_named_as_lost(
    tmp_path: Path,
) -> None:
    """Of a summary that keeps none; of what code does not copy into it either, at least 95 in 100 and no other."""
    async with scene(tmp_path, ANTHROPIC, planted(), window=64_000) as (_, session):
        preview = await session.preview()
        lost = {each.value for each in preview.lost}
        await session.accept(preview)
        held = str(await session.messages())
        wanted: set[str] = set()
        for n in range(FACTS):
            values = (f"src/casks/{n}_lock.py", str(71_000 + 13 * n), f"3.{n}.7")
            wanted.update(value for value in values if value not in held)
        assert len(wanted) >= 20
        assert len(wanted & lost) >= 0.95 * len(wanted), sorted(wanted - lost)
        assert not any(value in held for value in lost)


async def test_of_two_acceptances_at_once_one_counts(tmp_path: Path) -> None:
    async with scene(tmp_path, ANTHROPIC, HAD, window=64_000) as (_, session):
        before = await session.messages()
        preview = await session.preview()
        done = await asyncio.gather(
            session.accept(preview), session.accept(preview), return_exceptions=True
        )
        assert [type(each) for each in done] == [type(None), CommandRefused]
        assert len(of_kind(await session.history(), CompactionCommitted)) == 1
        await session.uncompact(preview.id)
        assert await session.messages() == before
