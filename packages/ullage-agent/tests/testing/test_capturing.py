"""``capture``: requests as they were sent, and events in their order."""

from pathlib import Path

import pytest

from ullage.codec.stream import Answer
from ullage.events import CallEnded, CallStarted, TurnEnded
from ullage.meter.reading import Reading
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hooks import Hook, HookFailed
from ullage_agent.runtime.subagent import subagent
from ullage_agent.testing import FunctionModel, ScriptedModel, capture, tool_call


def test_requests_settings_and_events(tmp_path: Path) -> None:
    agent = Agent(
        ScriptedModel(["One.", "Two.", "Three."]),
        store=tmp_path / "s.db",
        config=False,
        environment={},
        system="Be brief.",
        temperature=0.5,
        max_output=50,
    )
    with capture(agent) as sent:
        agent.run_sync("First?", session="s")
        agent.run_sync("Second?", session="s")
    agent.run_sync("Not recorded?", session="s")
    first, second = sent.requests
    assert first.system[0].text == "Be brief."
    assert first.params == {"temperature": 0.5, "max_output": 50}
    assert [message.text for message in second.messages] == ["First?", "One.", "Second?"]
    kinds = [
        type(event)
        for event in sent.events
        if isinstance(event, CallStarted | CallEnded | TurnEnded)
    ]
    assert kinds == [CallStarted, CallEnded, TurnEnded] * 2


def test_sub_agents_calls_are_among_them_and_an_override_goes_with_it(
    tmp_path: Path,
) -> None:
    child = Agent(
        FunctionModel(lambda request: "Child."),
        store=tmp_path / "s.db",
        config=False,
        environment={},
    )
    parent = Agent(
        "openai:gpt-5",
        tools=[subagent(child, name="child", description="Asks.")],
        store=tmp_path / "s.db",
        config=False,
        environment={},
    )
    model = ScriptedModel([tool_call("child", task="Go."), "Done."])
    with capture(parent) as sent, parent.override(model=model):
        parent.run_sync("Hi")
    assert [request.model for request in sent.requests] == [
        "scripted",
        "function",
        "scripted",
    ]


def test_it_is_told_in_a_few_lines(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(["One."]), store=None, config=False, environment={})
    with capture(agent) as sent:
        agent.run_sync("First?")
    events = len(sent.events)
    assert repr(sent).splitlines() == [
        f"Sent(1 request, {events} events)",
        "  1 message to scripted, the last one says 'First?'",
    ]


class _Broken(Hook):
    async def after_call(self, answer: Answer, reading: Reading) -> None:
        raise TypeError("One argument is missing.")


def test_a_hook_that_fails_is_raised_as_such_with_its_cause(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(["One."]), store=None, config=False, hooks=[_Broken()])
    with pytest.raises(HookFailed, match=r"_Broken.after_call failed") as raised:
        agent.run_sync("First?")
    assert isinstance(raised.value.__cause__, TypeError)


def test_sessions_are_told_by_their_ids() -> None:
    agent = Agent(ScriptedModel([]), store=None, config=False)
    assert repr(agent.session("a")) == "Session('a')"
    assert repr(agent.session_sync("a")) == "SyncSession('a')"
