"""``Agent.session_sync`` and ``stream_sync``: the names of the asynchronous ones, from any thread."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, assert_type

import pytest

from tests.promises.stage import CLAUDE, agent_for, script
from ullage import Agent, Result
from ullage.errors import CommandRefused, RequestRejected
from ullage.events import Cancelled, SessionEvent, ToolEnded, TurnEnded
from ullage.loop_thread import SHARED
from ullage_agent.runtime import session as async_module
from ullage_agent.runtime import sync_session as sync_module
from ullage_agent.runtime.session import Session
from ullage_agent.runtime.sync_session import SyncSession, SyncTextStream
from ullage_agent.runtime.text_stream import TextStream
from ullage_agent.testing import Delay, ScriptedModel
from ullage_simulators import Server, running

STORY = "Once there was a cask. " * 40
SLOW = {"answers": [{"text": STORY}], "server": {"delay_s": 0.02}}
ENDLESS = {**SLOW, "server": {"delay_s": 0.2}}


def agent_of(server: Server, place: Path, **more: Any) -> Agent[Any]:
    return agent_for(place / "s.db", server=server, **{**CLAUDE.settings(), **more})


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_a_sync_session_has_the_members_of_a_session_with_the_same_parameters() -> None:
    assert public(SyncSession) == public(Session) | {"id"}
    assert public(SyncTextStream) - {"close"} == public(TextStream) - {"aclose"}
    for name in public(Session) - {"active_agent"}:
        ours, theirs = getattr(SyncSession, name), getattr(Session, name)
        assert parameters(ours) == parameters(theirs), name
        assert not inspect.iscoroutinefunction(ours)
        assert (
            ours.__doc__.splitlines()[0].rstrip(".") in theirs.__doc__
            or "for " in ours.__doc__
        )


def parameters(method: Any) -> list[inspect.Parameter]:
    found = inspect.signature(method).parameters.values()
    return [each for each in found if each.name not in ("self", "session")]


def test_the_docstrings_that_editors_show_are_those_of_the_session() -> None:
    """Editors show the text below an assignment."""
    tree = ast.parse(inspect.getsource(sync_module))
    (body,) = (
        node.body
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == "SyncSession"
    )
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            method = getattr(async_module.Session, node.targets[0].id)
            assert after.value.value == method.__doc__.splitlines()[0]


def test_a_life_without_an_event_loop(tmp_path: Path) -> None:
    with running(script({"text": STORY})) as server:
        agent = agent_of(server, tmp_path)
        with agent.session_sync("cellar") as session:
            assert session.id == "cellar"
            assert session.ask("One?").text == STORY
            session.send("Two?")
            assert session.wait().text == STORY
            texts = list(session.stream("Three?"))
            assert "".join(texts) == STORY
            events = list(session.events(after=0, until_rest=True))
            assert len([each for each in events if isinstance(each, TurnEnded)]) == 3
            assert len(session.messages()) == 6
            assert session.context().used.tokens > 0
            assert f"{session.context().used.tokens:,}" in session.picture().svg()
            assert "data:image/svg+xml" in session._repr_html_()
            copy = session.fork("copy")
        with agent.session_sync(copy.session, resume=False) as session:
            assert len(session.messages()) == 6
        assert "".join(agent.stream_sync("Four?", session="cellar")) == STORY
        assert {row.id for row in agent.sessions_sync()} == {"cellar", "copy"}
    slow = ScriptedModel([["Half ", Delay(0.5), "full."]])
    with agent.override(model=slow, store=None):
        assert list(agent.stream_sync("How full?")) == ["Half ", "full."]


def pays() -> tuple[list[str], Any]:
    paid: list[str] = []

    def pay(euros: int) -> str:
        """Pay."""
        paid.append(str(euros))
        return "Paid."

    return paid, pay


def test_approvals_are_given_by_the_same_names(tmp_path: Path) -> None:
    paid, pay = pays()
    call = {"name": "pay", "arguments": {"euros": 5}}
    scenario = script({"when": {"after": "user"}, "calls": [call]}, {"text": "Done."})
    with running(scenario) as server:
        agent = agent_of(server, tmp_path, tools=[pay], approve=["pay"])
        with agent.session_sync() as session:
            assert session.ask("Pay.").reason == "approval"
            (question,) = session.questions()
            session.approve(question.call_id, digest=question.digest)
            assert session.wait().text == "Done."
            session.ask("Pay again.")
            (question,) = session.questions()
            session.approve(question.call_id, False, reason="Enough.")
            result = session.wait()
    assert paid == ["5"]
    assert any("Enough." in str(message.parts) for message in result.messages)


def test_a_failed_turn_raises_its_error_or_gives_it(tmp_path: Path) -> None:
    with (
        running(
            script({"text": "."}, faults=[{"kind": "status", "status": 400}])
        ) as server,
        agent_of(server, tmp_path).session_sync() as session,
    ):
        assert isinstance(session.ask("?", check=False).error, RequestRejected)
        with pytest.raises(RequestRejected):
            list(session.stream("?"))


def test_typed_answers_grow_and_their_types_are_known(tmp_path: Path) -> None:
    with running(script({"text": '{"value": [1, 2, 3]}'})) as server:
        agent = Agent(
            "anthropic:claude-haiku-4-5",
            base_url=server.url("anthropic"),
            environment={"ANTHROPIC_API_KEY": "none"},
            config=False,
            store=tmp_path / "s.db",
            output_type=list[int],
        )
        with agent.session_sync() as session:
            result = session.ask("?")
            assert_type(result, Result[list[int]])
            stream = session.stream("?", output_type=list[float])
            assert_type(stream, SyncTextStream[list[float]])
            found = list(stream.partials())
            assert_type(session.send("?", id="mine").id, str)
            assert_type(next(session.events(after=0)), SessionEvent)
            assert_type(session.wait().output, list[int])
        last = list(agent.stream_sync("?").partials())
        assert_type(last, list[list[int]])
    assert result.output == last[-1] == [1, 2, 3]
    assert found[-1] == stream.result.output == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("threads", [6])
def test_threads_share_one_session_and_have_their_own(
    threads: int, tmp_path: Path
) -> None:
    begin = threading.Barrier(threads)
    with running(script({"text": STORY})) as server:
        agent = agent_of(server, tmp_path)
        with agent.session_sync("shared") as shared, ThreadPoolExecutor(threads) as pool:

            def work(number: int) -> str:
                begin.wait(60)
                shared.send(f"From {number}.", kind="follow_up")
                with agent.session_sync(f"own-{number}") as own:
                    return "".join(own.stream("?"))

            assert list(pool.map(work, range(threads))) == [STORY] * threads
            shared.wait()
            asked = [each for each in shared.messages() if each.role == "user"]
    assert len(asked) == threads


@pytest.mark.parametrize("how", ["break", "close", "generator"])
def test_leaving_stream_sync_cancels_the_turn(how: str, tmp_path: Path) -> None:
    with running(script(**ENDLESS)) as server:
        agent = agent_of(server, tmp_path)

        def served() -> Any:
            yield from agent.stream_sync("Tell me.", session="s")

        if how == "generator":
            page = served()
            next(page)
            page.close()
        else:
            stream = agent.stream_sync("Tell me.", session="s")
            for _ in stream:
                break
            if how == "close":
                stream.close()
            del stream
        with agent.session_sync("s") as session:
            result = session.wait()
            events = session.history()
    assert result.reason == "cancelled"
    assert any(isinstance(event, Cancelled) for event in events)


def test_leaving_a_session_s_stream_leaves_the_turn_and_a_block_cancels_it(
    tmp_path: Path,
) -> None:
    with (
        running(script(**SLOW)) as server,
        agent_of(server, tmp_path).session_sync() as session,
    ):
        for _ in session.stream("Tell me."):
            break
        assert session.wait().text == STORY
        with session.stream("Tell me.") as stream:
            next(stream)
        assert stream.result.reason == "cancelled"
        session.send("Tell me.")
        assert session.cancel().cancelled


class Stopped(BaseException):
    """As Ctrl-C."""


def test_an_exception_in_the_block_stops_the_work_which_the_next_one_continues(
    tmp_path: Path,
) -> None:
    with running(script(**SLOW)) as server:
        agent = agent_of(server, tmp_path)
        with pytest.raises(Stopped), agent.session_sync("s") as session:
            stream = session.stream("Tell me.")
            next(stream)
            raise Stopped
        with pytest.raises(CommandRefused, match="not open"):
            session.send("And now?")
        with agent.session_sync("s") as session:
            assert session.wait().text == STORY


def test_in_the_background_loop_it_is_refused_and_a_tool_in_a_thread_may_use_it(
    tmp_path: Path,
) -> None:
    call = {"name": "look", "arguments": {}}
    scenario = script(
        {"when": {"contains": "outer", "after": "user"}, "calls": [call]},
        {"text": "Yes."},
    )
    refused: list[BaseException] = []
    with running(scenario) as server:
        inner = agent_of(server, tmp_path)

        def look() -> str:
            """Look."""
            with inner.session_sync() as session:
                return session.ask("inner").text

        async def look_async() -> str:
            """Look."""
            with pytest.raises(CommandRefused) as caught, inner.session_sync():
                pass
            refused.append(caught.value)
            return "No."

        with agent_of(server, tmp_path, tools=[look]).session_sync() as session:
            assert session.ask("outer").text == "Yes."
            (ended,) = (each for each in session.history() if isinstance(each, ToolEnded))
        assert ended.outcome == "finished"
        renamed = look_async
        renamed.__name__ = "look"
        assert (
            agent_of(server, tmp_path, tools=[renamed]).run_sync("outer").text == "Yes."
        )
    assert len(refused) == 1


async def test_it_works_beside_the_caller_s_own_event_loop(tmp_path: Path) -> None:
    with running(script({"text": "Yes."})) as server:
        agent = agent_of(server, tmp_path)
        async with agent.session("mine") as mine:
            with agent.session_sync("yours") as yours:
                assert yours.ask("?").text == (await mine.ask("?")).text == "Yes."
        assert not SHARED.is_current
        await asyncio.sleep(0)


def test_a_session_of_the_parent_is_refused_in_a_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(script({"text": "Yes."})) as server:
        session = agent_of(server, tmp_path).session_sync()
        with session:
            own = os.getpid()
            monkeypatch.setattr(os, "getpid", lambda: own + 1)
            with pytest.raises(CommandRefused, match="forked"):
                session.ask("?")
            session.__exit__(None, None, None)
            monkeypatch.undo()
            assert session.ask("?").text == "Yes."


def test_a_session_that_is_not_open_says_how_to_open_it() -> None:
    agent = Agent("openai:gpt-5", store=None, config=False)
    with pytest.raises(CommandRefused, match=r"`with agent\.session_sync"):
        agent.session_sync("s").ask("Hi")
