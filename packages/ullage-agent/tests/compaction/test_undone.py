"""Compactions undone by who knows the session from its stored checkpoint alone: requests are the earlier ones again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.compaction.elsewhere import Elsewhere
from tests.compaction.stage import (
    ANTHROPIC,
    FIVE,
    SESSION,
    SYSTEM,
    Dialect,
    agent_on,
    answered,
    called,
    exported,
    gave,
    generated,
    imported,
    is_summary_call,
    of_kind,
    refused,
    said,
    script,
    sent,
    turns,
)
from tests.context.sessions import words
from ullage.context.rules import NOTICE
from ullage.events import CompactionCommitted, CompactionRolledBack, Pruned
from ullage.messages import Message
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.opening import written_by
from ullage_simulators import running

WINDOW = 150_000
HAD = turns(230, size=100)
"""So many events that a checkpoint is due soon, and so many tokens that two compactions have something to do."""

SINCE = 12
"""Things said after the last compaction: a checkpoint is written while they are."""


class Run(NamedTuple):
    """The requests of a session in which so many compactions were made, and undone by somebody else."""

    bodies: list[str]
    exported: list[Message]


async def run(
    dialect: Dialect, path: Path, compactions: int, *, undone: int, apart: bool = False
) -> Run:
    """Compact, say something, compact again, and say more; then somebody else undoes the last ``undone`` of them.

    They say something before that, after each, and nothing else. The same is said however many compactions there are.
    """
    await imported(path, HAD)
    with running(script(dialect, window=WINDOW), seed=1) as server:
        agent = agent_on(server, path, dialect, window=WINDOW)
        async with agent.session(SESSION) as session:
            for number in range(2):
                if number < compactions:
                    await session.compact()
                    await session.wait()
                for part in range(2):
                    await session.ask(
                        f"Said after the {number + 1}th: {words(5_000, 2 * number + part)}"
                    )
            for number in range(SINCE):
                await session.ask(f"Cask {number} as well?")
            events = await session.history()
        committed = of_kind(events, CompactionCommitted)
        assert len(committed) == compactions, of_kind(events, CompactionRolledBack)
        steps: list[tuple[Any, str]] = [("say", "before")]
        for number in range(2):
            if number < undone:
                steps.append(("uncompact", committed[-1 - number].compaction))
            steps.append(("say", f"after {number}"))
        settings = {"system": SYSTEM, "window": WINDOW, **dialect.settings(server)}
        elsewhere = Elsewhere(file=str(path), settings=settings, steps=tuple(steps))
        stands = await checkpoint(path)
        assert not compactions or stands > committed[-1].seq, (
            "the last checkpoint is older than the compaction"
        )
        opened = await (elsewhere.in_a_process() if apart else elsewhere.here())
        assert opened == stands, "it was not opened from the checkpoint"
        async with agent.session(SESSION) as session:
            messages = await exported(session)
        assert not refused(server), refused(server)
        return Run(
            [sent(one) for one in generated(server) if not is_summary_call(one)], messages
        )


async def checkpoint(path: Path) -> int:
    """The event up to which the stored checkpoint stands."""
    store = SqliteStore(path)
    found = await store.checkpoint(SESSION, written_by())
    await store.close()
    assert found is not None
    return found.seq


def without_ids(messages: Sequence[Message]) -> list[tuple[str, object]]:
    """Messages without the ids that calls have, which depend on how many were made."""
    return [
        (message.role, [getattr(part, "text", part.id) for part in message.parts])
        for message in messages
    ]


@pytest.mark.parametrize(
    ("dialect", "apart"),
    [pytest.param(each, False, id=each.name) for each in FIVE]
    + [pytest.param(ANTHROPIC, True, id="another process")],
)
async def test_uncompact_from_a_checkpoint_restores_the_exact_bytes_one_compaction_after_the_other(
    dialect: Dialect, apart: bool, tmp_path: Path
) -> None:
    """Three sessions in which the same is said, of two compactions, one and none: each undoing gives the next one's."""
    two = await run(dialect, tmp_path / "two.db", 2, undone=2, apart=apart)
    one = await run(dialect, tmp_path / "one.db", 1, undone=0)
    none = await run(dialect, tmp_path / "none.db", 0, undone=0)
    assert two.bodies[-3] != one.bodies[-3] != none.bodies[-3]
    assert two.bodies[-2] == one.bodies[-2]
    assert two.bodies[-1] == none.bodies[-1]
    assert (
        without_ids(two.exported)
        == without_ids(one.exported)
        == without_ids(none.exported)
    )


async def test_an_undone_prune_gives_the_results_back_to_the_byte(tmp_path: Path) -> None:
    """The same is said twice: where there is no room and old results are cleared for it, and where there is."""
    bodies: list[str] = []
    for name, window in (("cleared", 110_000), ("whole", 1_000_000)):
        with running(script(ANTHROPIC, window=1_000_000), seed=1) as server:
            path = tmp_path / f"{name}.db"
            await imported(
                path, [message for number in range(260) for message in looked(number)]
            )
            async with agent_on(
                server, path, ANTHROPIC, window=window, protect_tokens=5_000
            ).session(SESSION) as session:
                for number in range(2):
                    await session.ask(f"And cask {number}?")
                events = await session.history()
            pruned = of_kind(events, Pruned)
            assert len(pruned) == (name == "cleared") and not of_kind(
                events, CompactionCommitted
            )
            steps: list[tuple[Any, str]] = [("uncompact", each.prune) for each in pruned]
            settings = {
                "system": SYSTEM,
                "window": 1_000_000,
                **ANTHROPIC.settings(server),
            }
            stands = await checkpoint(path)
            assert all(each.seq < stands for each in pruned), (
                "the checkpoint is older than the prune"
            )
            opened = await Elsewhere(
                file=str(path), settings=settings, steps=(*steps, ("say", "so"))
            ).here()
            assert opened == stands, "it was not opened from the checkpoint"
            bodies.append(sent(generated(server)[-1]))
            assert (NOTICE in sent(generated(server)[-2])) == (name == "cleared")
    assert bodies[0] == bodies[1]


def looked(number: int) -> list[Message]:
    """A turn of little but a result."""
    return [
        said(f"u{number}", f"Look at cask {number}."),
        called(f"a{number}"),
        gave(f"r{number}", f"a{number}", words(300, number)),
        answered(f"b{number}", "It is whole."),
    ]
