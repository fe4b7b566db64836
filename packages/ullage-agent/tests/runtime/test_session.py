"""A session as its user has it: opening, looking, waiting, closing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from ullage.errors import (
    BadKey,
    CommandRefused,
    SettingError,
    UllageError,
    Unreachable,
    WrongType,
)
from ullage.events import Event, Queued, TurnStarted
from ullage.messages import FilePart, Message, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.outcome import INTERRUPTED
from ullage_agent.runtime.session import Session
from ullage_simulators import running
from ullage_simulators.scenario import read
from ullage_simulators.server import Server


@pytest.fixture
def provider() -> Iterator[Server]:
    with running(
        read(
            {"answers": [{"text": "Word after word. " * 20}], "server": {"delay_s": 0.01}}
        )
    ) as simulator:
        yield simulator


def agent_of(store: Path, base_url: str = "", **more: Any) -> Agent:
    key = {"ANTHROPIC_API_KEY": "x"} if base_url else {}
    return haiku(store, environment=key, base_url=base_url or None, **more)


def left_open(name: str = "m") -> list[Event]:
    """What a driver leaves that died before it delivered a message."""
    message = Message(
        id=name, role="user", parts=(TextPart(id=f"{name}.0", text="Hello."),)
    )
    return [TurnStarted(turn="turn-1"), Queued(message=message, kind="steer", position=1)]


async def unfinished(store: Path) -> Path:
    opened = SqliteStore(store)
    await opened.create("s", left_open())
    await opened.close()
    return store


async def sessions_in(store: Path) -> list[str]:
    opened = SqliteStore(store)
    rows = [row.id for row in await opened.sessions()]
    await opened.close()
    return rows


# -- a key that is missing, tools that are unknown --


async def test_a_missing_key_refuses_a_message_to_a_session_that_is_there(
    provider: Server, tmp_path: Path
) -> None:
    async with agent_of(tmp_path / "s.db", provider.url("anthropic")).session(
        "s"
    ) as session:
        await session.send("Hello.", id="m")
    async with agent_of(tmp_path / "s.db").session("s") as session:
        before = await session.history()
        sent = await session.send("Hello.", id="m")
        assert (sent.state, sent.is_new) == ("delivered", False)
        with pytest.raises(BadKey, match="ANTHROPIC_API_KEY"):
            await session.send("Hello again.")
        assert await session.pending() == []
        assert await session.messages() == await session.messages()
        found = [event for event in await session.history() if isinstance(event, Queued)]
        assert found == [event for event in before if isinstance(event, Queued)]


async def test_unknown_tools_leave_no_session(provider: Server, tmp_path: Path) -> None:
    agent = agent_of(tmp_path / "s.db", provider.url("anthropic"))
    with pytest.raises(SettingError, match="bash"):
        async with agent.session("s", tools=["bash", "red"]):
            pass
    assert await sessions_in(tmp_path / "s.db") == []


# -- failures --


async def test_wait_and_ask_raise_a_failure_by_the_same_rule(tmp_path: Path) -> None:
    agent = agent_of(tmp_path / "s.db", "http://127.0.0.1:1", tries=1)
    async with agent.session("s") as session:
        with pytest.raises(Unreachable):
            await session.ask("Hello.")
        with pytest.raises(Unreachable):
            await session.wait()
        result = await session.ask("Hello again.", check=False)
        assert (result.reason, type(result.error)) == ("failed", Unreachable)
        again = await session.wait(check=False)
        assert (again.reason, str(again.error)) == (result.reason, str(result.error))


# -- opening without driving --


async def test_a_session_opened_to_look_at_it_is_not_driven_nor_by_waiting_nor_by_leaving(
    provider: Server, tmp_path: Path
) -> None:
    store = await unfinished(tmp_path / "s.db")
    agent = agent_of(store, provider.url("anthropic"))
    async with agent.session("s", resume=False) as session:
        before = await session.history()
        await session.context()
        result = await session.wait()
        assert result.reason == INTERRUPTED
        assert result.is_paused is True
        assert result.error is None
        assert "Resume" in result.note
        assert await session._is_interrupted()
        seen = [event async for event in session.events(after=0, until_rest=True)]
        assert seen == before
    async with agent.session("s", resume=False) as session:
        assert await session.history() == before
    assert not provider.exchanges


async def test_an_interrupted_session_is_resumed_by_resume_and_by_a_message(
    provider: Server, tmp_path: Path
) -> None:
    store = await unfinished(tmp_path / "s.db")
    agent = agent_of(store, provider.url("anthropic"), count="never")
    async with agent.session("s", resume=False) as session:
        await session.resume()
        assert (await session.wait()).reason == "finished"
        with pytest.raises(CommandRefused, match="nothing to resume"):
            await session.resume()
    assert len(provider.exchanges) == 1


# -- closing --


async def test_a_session_closed_inside_its_block_is_left_without_an_error(
    provider: Server, tmp_path: Path
) -> None:
    agent = agent_of(tmp_path / "s.db", provider.url("anthropic"))
    async with agent.session("s") as session:
        await session.ask("Hello.")
        await session.close()
        await session.close()
        assert session._reading.used.tokens > 0
        with pytest.raises(CommandRefused, match="not open"):
            await session.send("Too late.")
    await session.close()
    async with agent.session("s") as again:
        assert len(await again.messages()) == 2


async def test_closing_a_session_while_it_works_leaves_the_turn_for_the_next_one(
    provider: Server, tmp_path: Path
) -> None:
    agent = agent_of(tmp_path / "s.db", provider.url("anthropic"))
    async with agent.session("s") as session:
        await session.send("Hello.")
        async for event in session.events(after=0):
            if not isinstance(event, Event):
                break
        await session.close()
    async with agent.session("s", resume=False) as session:
        assert await session._is_interrupted()
        await session.resume()
        assert (await session.wait()).reason == "finished"


async def test_an_error_in_the_block_leaves_it(provider: Server, tmp_path: Path) -> None:
    agent = agent_of(tmp_path / "s.db", provider.url("anthropic"))
    with pytest.raises(ZeroDivisionError):
        async with agent.session("s") as session:
            await session.send("Hello.")
            raise ZeroDivisionError
    async with agent.session("s") as session:
        assert (await session.wait()).reason == "finished"


# -- arguments that no session can use --

LONG = "x" * 1_000_000
TORN = "cellar \udcff door"
"""With half of a surrogate pair, as Python makes of a byte that is no UTF-8. No ledger holds it."""

Call = Callable[[Session, Any], Awaitable[object]]

NAMED: dict[str, Call] = {
    "up_to": lambda session, given: session.compact(up_to=given),
    "from_": lambda session, given: session.compact(from_=given),
    "kind": lambda session, given: session.send("Hello.", kind=given),
    "cancel": lambda session, given: session.cancel(given),
    "withdraw": lambda session, given: session.withdraw(given),
    "grant": lambda session, given: session.grant(given),
    "revoke": lambda session, given: session.revoke(given),
    "set": lambda session, given: session._set({given: 1}),
    "model": lambda session, given: session.set(model=given),
}
"""What names something that is not there."""


@pytest.mark.parametrize("given", [LONG, TORN], ids=["long", "torn"])
@pytest.mark.parametrize("call", NAMED.values(), ids=NAMED)
async def test_an_error_about_a_name_is_short_and_can_be_printed(
    call: Call, given: str, tmp_path: Path
) -> None:
    async with haiku(tmp_path / "s.db").session("s", resume=False) as session:
        before = await session.history()
        with pytest.raises(UllageError) as caught:
            await call(session, given)
        assert len(str(caught.value).encode()) < 1_000
        assert await session.history() == before


STORED: dict[str, Call] = {
    "instructions": lambda session, given: session.compact(given),
    "id": lambda session, given: session.send("Hello.", id=given),
    "message_id": lambda session, given: session.edit(given, "Hello."),
    "message_ids": lambda session, given: session.pin("m", given),
    "rewind": lambda session, given: session.rewind(given),
    "compaction": lambda session, given: session.uncompact(given),
    "reason": lambda session, given: session.approve("c", False, given),
    "prefix": lambda session, given: session.grant("shell", [given]),
    "system": lambda session, given: session.set(system=given),
    "summary_model": lambda session, given: session.set(summary_model=given),
    "root": lambda session, given: session.set(root=given),
}
"""What is stored as it is given, by the name in its error."""


@pytest.mark.parametrize("given", [TORN, 5], ids=["torn", "number"])
@pytest.mark.parametrize("name", STORED)
async def test_a_text_that_no_ledger_holds_is_refused_by_its_name(
    name: str, given: object, tmp_path: Path
) -> None:
    async with haiku(tmp_path / "s.db").session("s", resume=False) as session:
        before = await session.history()
        with pytest.raises(UllageError) as caught:
            await STORED[name](session, given)
        argument = "message_id" if name == "rewind" else name
        assert f"{argument} " in str(caught.value) or f"{argument}=" in str(caught.value)
        assert str(caught.value).encode()
        assert "not stored, as it could not be read" not in str(caught.value)
        assert await session.history() == before


async def test_a_file_whose_name_is_no_unicode_is_sent(
    provider: Server, tmp_path: Path
) -> None:
    path = tmp_path / "casks \udcff.pdf"
    path.write_bytes(b"%PDF-1.4 casks")
    agent = agent_of(tmp_path / "s.db", provider.url("anthropic"))
    async with agent.session("s") as session:
        await session.ask("What is in it?", path)
        (sent, *_) = await session.messages()
    assert [part.name for part in sent.of_type(FilePart)] == ["casks \ufffd.pdf"]


# -- a copy --


async def test_the_reason_of_a_denial_by_another_name_is_answered_with_it(
    tmp_path: Path,
) -> None:
    async with haiku(tmp_path / "s.db").session("s", resume=False) as session:
        with pytest.raises(WrongType, match=r"'note'\. Did you mean `reason`"):
            await session.approve("c", False, note="No.")  # type: ignore[arg-type]
