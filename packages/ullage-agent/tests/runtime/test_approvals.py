"""Approvals and grants at the runner, with a model that calls what the test wants."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import CLAUDE, agent_for, of_kind, results_of, script
from ullage.errors import CommandRefused
from ullage.events import ApprovalAsked, GrantGiven, ToolEnded, ToolStarted
from ullage.turns.approving import NOBODY_COULD_BE_ASKED, digest_of
from ullage_agent.runtime.approvals import Question
from ullage_agent.runtime.session import Session
from ullage_agent.tools.call_text import call_lines
from ullage_agent.tools.functions import tool
from ullage_agent.tools.tool import AgentTool
from ullage_simulators import Scenario, running

HIDDEN = "git status --short && git log --oneline -5 && git diff --stat HEAD~1 -- src; touch PWNED-hidden"


def shells(*commands: str) -> Scenario:
    calls = [{"name": "shell", "arguments": {"command": command}} for command in commands]
    return script(
        {"when": {"contains": "Please", "after": "user"}, "calls": calls},
        {"text": "That is all."},
    )


def fake_shell(ran: list[str]) -> AgentTool:
    @tool(name="shell", needs_approval=True)
    def shell(command: str) -> str:
        """Run a command.

        Args:
            command: The command.
        """
        ran.append(command)
        return "done"

    return shell


async def asked(session: Session) -> list[Any]:
    await session.send("Please do it.")
    assert (await session.wait()).reason == "approval"
    return await session.questions()


async def test_the_question_shows_the_end_of_a_long_command_and_its_digest_is_the_one_that_runs(
    tmp_path: Path,
) -> None:
    ran: list[str] = []
    with running(shells(HIDDEN)) as server:
        agent = agent_for(tmp_path / "s.db", tools=[fake_shell(ran)], server=server)
        async with agent.session("s", **CLAUDE.settings()) as session:
            (question,) = await asked(session)
            found = "".join(piece.text for line in question.lines for piece in line)
            assert "touch PWNED-hidden" in found
            (event,) = of_kind(await session.history(), ApprovalAsked)
            (call,) = (await session._look()).ledger.loop.open
            assert question.digest == event.digest == digest_of("shell", call.arguments)
            assert json.loads(call.arguments) == {"command": HIDDEN}
            with pytest.raises(CommandRefused, match="not what was shown"):
                await session.approve(call.call_id, digest=digest_of("shell", "{}"))
            assert (await session.wait()).reason == "approval"
            assert ran == []
            await session.approve(call.call_id, digest=question.digest)
            assert (await session.wait()).reason == "finished"
    assert ran == [HIDDEN]


async def test_a_granted_prefix_allows_such_commands_alone(tmp_path: Path) -> None:
    ran: list[str] = []
    with running(
        shells("git status --short", "git status", "git status; touch x", "git log")
    ) as server:
        agent = agent_for(tmp_path / "s.db", tools=[fake_shell(ran)], server=server)
        async with agent.session("s", **CLAUDE.settings()) as session:
            first, *_ = await asked(session)
            assert (first.offer, first.offered) == (("git", "status"), "git status …")
            await session.grant("shell", first.offer)
            assert (await session.wait()).reason == "approval"
            assert sorted(ran) == ["git status", "git status --short"], (
                "what was asked about and is covered runs"
            )
            left = await session.questions()
            assert [one.offer for one in left] == [None, ("git", "log")]
            for one in left:
                await session.approve(one.call_id, False)
            await session.wait()
            (grant,) = await session.grants()
            events = await session.history()
            found = [event.prefix for event in of_kind(events, GrantGiven)]
            assert found == [("git", "status")]
            await session.revoke(grant.grant.id)
            assert await session.grants() == []
            with pytest.raises(CommandRefused, match="no grant"):
                await session.revoke(grant.grant.id)


async def test_a_grant_for_a_project_holds_in_its_other_sessions_and_says_so_in_their_events(
    tmp_path: Path,
) -> None:
    ran: list[str] = []
    (tmp_path / "root").mkdir()
    with running(shells("git status")) as server:
        agent = agent_for(
            tmp_path / "s.db",
            tools=[fake_shell(ran)],
            server=server,
            root=tmp_path / "root",
        )
        async with agent.session("one", **CLAUDE.settings()) as session:
            await asked(session)
            grant = await session.grant("shell", ("git", "status"), scope="project")
            assert (await session.wait()).reason == "finished"
            assert not of_kind(await session.history(), GrantGiven)
        async with agent.session("two", **CLAUDE.settings()) as session:
            await session.send("Please do it.")
            assert (await session.wait()).reason == "finished"
            assert [
                event.grant for event in of_kind(await session.history(), ToolStarted)
            ] == [grant.id]
            await session.revoke(grant.id)
            assert (await asked(session))[0].name == "shell"
    assert ran == ["git status", "git status"]


TOO_MUCH = [
    ("shell", ()),
    ("shell", ("sudo",)),
    ("shell", ("bash", "-c")),
    ("other", ()),
    ("read", ("a",)),
]


@pytest.mark.parametrize(("name", "prefix"), TOO_MUCH)
async def test_what_would_allow_anything_is_not_granted(
    tmp_path: Path, name: str, prefix: tuple[str, ...]
) -> None:
    with running(shells("ls")) as server:
        agent = agent_for(
            tmp_path / "s.db", tools=[fake_shell([]), "read"], server=server
        )
        async with agent.session("s", **CLAUDE.settings()) as session:
            with pytest.raises(CommandRefused):
                await session.grant(name, prefix)
            assert await session.grants() == []


async def test_the_model_is_told_that_nobody_could_be_asked(tmp_path: Path) -> None:
    ran: list[str] = []
    with running(shells("ls")) as server:
        agent = agent_for(tmp_path / "s.db", tools=[fake_shell(ran)], server=server)
        async with agent.session("s", **CLAUDE.settings()) as session:
            (question,) = await asked(session)
            await session.approve(question.call_id, False, by_nobody=True)
            await session.wait()
            (result,) = results_of(await session.messages())
            (ended,) = of_kind(await session.history(), ToolEnded)
    assert (result.text, ended.outcome, ran) == (NOBODY_COULD_BE_ASKED, "denied", [])


async def test_a_tool_that_nothing_confines_is_asked_about_each_time_and_can_not_be_granted(
    tmp_path: Path,
) -> None:
    ran: list[str] = []
    bare = dataclasses.replace(
        fake_shell(ran), unconfined="no sandbox", needs_approval=False
    )
    with running(shells("git status")) as server:
        agent = agent_for(tmp_path / "s.db", tools=[bare], server=server)
        async with agent.session("s", **CLAUDE.settings()) as session:
            (question,) = await asked(session)
            assert (question.offer, question.offered) == (None, "")
            with pytest.raises(CommandRefused, match="nothing confines them"):
                await session.grant("shell", ("git", "status"))
    assert ran == []


def test_a_question_is_printed_as_the_call() -> None:
    question = Question(
        call_id="t",
        name="pay",
        digest="d",
        lines=call_lines("pay", '{"to": "Ann", "note": "for\\nwine"}'),
        offer=None,
    )
    assert str(question).splitlines()[:2] == ["pay", "to: Ann"]
    assert "wine" in str(question)
