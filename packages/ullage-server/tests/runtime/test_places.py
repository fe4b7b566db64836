"""Where a session's files are: only drivers of that place drive it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents import haiku
from tests.runtime.test_subagent import parent, reached, with_child
from tests.server.served import script
from ullage.errors import WrongPlace
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.dispatch import Embedded
from ullage_agent.runtime.hosting import Host
from ullage_simulators import running


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with running(script({"text": "Yes."})) as simulator:
        yield simulator.url("anthropic")


async def test_an_agent_without_a_place_does_not_drive_a_session_of_a_place(
    provider: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    async with Host(haiku(path, base_url=provider), dispatch=Embedded("cellar")) as host:
        session = await host.begin("s")
        assert (await session.ask("Hello.")).text == "Yes."
        assert (await host.store.about("s")).place == "cellar"
        before = await host.store.read("s")
    own = haiku(path, base_url=provider)
    async with Host(own, dispatch=Embedded("cellar")):
        pass
    await own.ask("Hello.", session="after the host")
    assert {row.id: row.place for row in await own.sessions()} == {
        "s": "cellar",
        "after the host": "",
    }
    with pytest.raises(WrongPlace, match="ullage admin worker --place cellar"):
        async with haiku(path, base_url=provider).session("s", resume=False) as alone:
            await alone.ask("Hello again.")
    store = SqliteStore(path)
    assert len(await store.read("s")) == len(before) + 1  # the message waits
    await store.close()


async def test_a_process_of_a_place_says_how_a_session_without_one_is_driven(
    provider: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    async with haiku(path, base_url=provider).session("s") as session:
        await session.ask("Hello.")
    async with Host(haiku(path, base_url=provider), dispatch=Embedded("cellar")) as host:
        session = await host.look("s")
        await session.driven()
        assert isinstance(session._failure, WrongPlace)
        found = str(session._failure)
        assert "`ullage admin worker`, without the option --place," in found


async def test_a_session_that_was_begun_anew_at_another_place_is_not_driven_where_it_was(
    provider: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    here = Embedded(place="here")
    async with Host(haiku(path, base_url=provider), dispatch=here, attends=True) as first:
        session = await first.begin("s")
        assert (await session.ask("Hello.")).text == "Yes."
        elsewhere = SqliteStore(path)
        await elsewhere.delete("s")
        await elsewhere.create("s", place="there")
        await session.send("Hello again.")
        await session.driven()
        assert isinstance(session._failure, WrongPlace)
        assert (await elsewhere.about("s")).drivers == 0
        await elsewhere.close()


async def test_a_tool_call_s_session_is_at_its_parent_s_place(tmp_path: Path) -> None:
    def look() -> str:
        """Look into the hall."""
        return "It is empty."

    store = SqliteStore(tmp_path / "s.db")
    with running(with_child()) as server:
        agent = parent(store, look, reached(server))
        async with Host(agent, dispatch=Embedded("cellar")) as host:
            session = await host.begin("s")
            await session.ask("Ask somebody about the hall.")
            places = {row.id: row.place for row in await store.sessions()}
    assert len(places) == 2
    assert set(places.values()) == {"cellar"}
    await store.close()
