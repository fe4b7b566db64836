"""Hostile behaviours with small sizes and short waits: the outcome, and that the session lives on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.behaviours import BEHAVIOURS, BY_NAME, ROLES
from tests.hostile.experiment import BRIEF, Control, Experiment, Verdict, captured_log
from tests.hostile.provider import HostileProvider, hostile_provider
from tests.hostile.rows import Behaviour
from tests.hostile.speech import WIRES, HostileWire
from ullage_simulators import Server, running

SMALL = 0.01
"""What part of the sizes of the table is sent here; `make attack` sends all of it."""


@pytest.fixture(scope="module")
def simulator() -> Iterator[Server]:
    with running() as server:
        yield server


async def verdict_of(
    row: Behaviour,
    wire: HostileWire,
    provider: HostileProvider,
    simulator: Server,
    directory: Path,
) -> Verdict:
    async def calm() -> None:
        provider.calm.add(wire.name)

    async def strangers() -> int:
        return len(provider.strangers)

    control = Control(provider.address(row.name, wire, wire.name, SMALL), calm, strangers)
    directory.mkdir()
    experiment = Experiment(row, wire, control, directory, BRIEF)
    await experiment.attack()
    await experiment.aftermath(simulator)
    return experiment.verdict


def wires_for(row: Behaviour) -> tuple[HostileWire, ...]:
    """All wires where their decoders differ; else one of them in turn, as `make attack` tries all."""
    if row.group in ("frame", "content"):
        return WIRES
    return (WIRES[BEHAVIOURS.index(row) % len(WIRES)],)


@pytest.mark.parametrize("name", BY_NAME)
async def test_a_hostile_provider_ends_one_turn_at_most(
    name: str, simulator: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A count that never ends is one of the attacks, and no test here rests on a count.
    monkeypatch.setattr("ullage.wire.asking.ASIDE_S", 3.0)
    row = BY_NAME[name]
    with captured_log() as log:
        async with hostile_provider(ROLES) as provider:
            verdicts = await asyncio.gather(
                *(
                    verdict_of(row, wire, provider, simulator, tmp_path / wire.name)
                    for wire in wires_for(row)
                )
            )
    lost = {verdict.wire: verdict.problems for verdict in verdicts if verdict.problems}
    assert not lost, f"a provider that {row.does}: {lost}"
    assert "sk-hostile-KEY" not in log.getvalue()


def test_the_table_has_at_least_65_behaviours_and_each_says_what_it_does() -> None:
    assert len(BEHAVIOURS) >= 65
    assert len(BY_NAME) == len(BEHAVIOURS), "two behaviours have one name"
    assert all(row.does and not row.does.endswith(".") for row in BEHAVIOURS)
