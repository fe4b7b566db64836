"""A store that somebody else made, met by a server and by a program that would run its command if they believed it."""

from pathlib import Path

import pytest
from ullage_simulators import running

from tests.agents import haiku
from tests.hostile.stores import SESSION, forge
from tests.processes import run_python
from tests.server.served import script
from ullage.directories import data_directory
from ullage.runtime.agent import Agent
from ullage.runtime.copying import harmless
from ullage.runtime.hosting import Host
from ullage.store.sqlite.ownership import adopt


def agent_of(url: str, directory: Path) -> Agent:
    return haiku(
        directory / "sessions.db",
        tools=("shell",),
        root=directory,
        environment={"ANTHROPIC_API_KEY": "x", "ULLAGE_APPROVE": "shell"},
        base_url=url,
        yields=True,
    )


@pytest.mark.parametrize("command", ["chat", "serve"])
async def test_a_store_that_was_put_in_the_place_of_ones_own_is_refused(
    tmp_path: Path, command: str
) -> None:
    marker = tmp_path / "made"
    await forge(tmp_path / "sessions.db", tmp_path / "theirs", f"touch {marker}")
    words = [
        command,
        "--store",
        str(tmp_path / "sessions.db"),
        "--model",
        "anthropic:claude-haiku-4-5",
        "--tools",
        "shell",
    ]
    done = run_python("-m", "ullage", *words, input="hi", timeout=120)
    assert done.returncode == 2 and "`ullage adopt " in done.stderr
    assert not marker.exists()


async def test_a_store_that_was_taken_over_runs_nothing_that_it_holds(
    tmp_path: Path,
) -> None:
    marker = tmp_path / "made"
    await forge(tmp_path / "sessions.db", tmp_path / "theirs", f"touch {marker}")
    adopt(tmp_path / "sessions.db", data_directory(), keep=harmless)
    with running(script({"text": "Calm."})) as provider:
        async with Host(agent_of(provider.url("anthropic"), tmp_path)) as host:
            assert await host.store.unattended(10) == []
            session = await host.look(SESSION)
            assert (await session.ask("Hello?")).text == "Calm."
    assert not marker.exists()


async def test_a_store_of_ones_own_that_was_moved_goes_on_where_its_owner_says_so(
    tmp_path: Path,
) -> None:
    marker = tmp_path / "made"
    await forge(tmp_path / "sessions.db", tmp_path / "before", f"touch {marker}")
    adopt(tmp_path / "sessions.db", data_directory(), keep=None)
    with running(script({"text": "Calm."})) as provider:
        async with Host(agent_of(provider.url("anthropic"), tmp_path)) as host:
            assert [one.id for one in await host.store.unattended(10)] == [SESSION]
            await (await host.wake(SESSION)).wait()
    assert marker.exists()
