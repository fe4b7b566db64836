"""``agent.override``: what counts inside the block, for whom, and what is left behind it."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from ullage.errors import BadKey, CommandRefused
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.subagent import subagent
from ullage_agent.testing import FunctionModel, ScriptedModel, tool_call


def agent(store: Path, model: Any = "openai:gpt-5", **more: Any) -> Agent:
    return Agent(model, store=store / "s.db", config=False, environment={}, **more)


def says(text: str) -> FunctionModel:
    return FunctionModel(lambda request: text)


def test_every_way_to_ask_is_covered_and_the_agent_is_as_before(tmp_path: Path) -> None:
    module = agent(tmp_path)

    async def both() -> list[str]:
        async with module.override(model=says("Yes.")):
            pieces = [piece async for piece in module.stream("Hi")]
            async with module.session("s") as session:
                return [
                    "".join(pieces),
                    (await session.ask("Hi")).text,
                    (await module.ask("Hi")).text,
                ]

    with module.override(model=says("Sync.")):
        assert module.run_sync("Hi").text == "Sync."
    assert asyncio.run(both()) == ["Yes."] * 3
    with pytest.raises(BadKey):
        module.run_sync("Hi")


def test_the_inner_one_wins_and_leaves_the_rest(tmp_path: Path) -> None:
    def double(x: int) -> int:
        """Double it."""
        return 2 * x

    module = agent(tmp_path)
    script = ScriptedModel([tool_call("double", x=4), "Eight."])
    with module.override(model=says("Outer.")):
        with module.override(tools=[double]), module.override(model=script):
            assert module.run_sync("Hi").text == "Eight."
        assert module.run_sync("Hi").text == "Outer."
    assert "double" in [tool.name for tool in script.requests[0].tools]


def test_models_beside_the_model_are_replaced_too(tmp_path: Path) -> None:
    module = agent(
        tmp_path, fallback=["anthropic:claude-haiku-4-5"], base_url="http://127.0.0.1:1"
    )
    with module.override(model=says("Yes.")) as changed:
        assert (changed.settings.fallback, changed.settings.base_url) == ((), "")


def test_the_store_is_another_one(tmp_path: Path) -> None:
    module = agent(tmp_path, says("Yes."))
    with module.override(store=tmp_path / "other.db"):
        module.run_sync("Hi", session="here")
        assert [row.id for row in asyncio.run(module.sessions())] == ["here"]
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "s.db").exists()


def test_a_thread_uses_what_it_entered_itself(tmp_path: Path) -> None:
    module = agent(tmp_path, says("Plain."))
    heard: dict[str, str] = {}

    def ask(name: str, text: str) -> None:
        if text:
            with module.override(model=says(text)):
                heard[name] = module.run_sync("Hi").text
        else:
            heard[name] = module.run_sync("Hi").text

    with module.override(model=says("Main.")):
        threads = [
            threading.Thread(target=ask, args=given)
            for given in (("a", "A."), ("b", "B."), ("c", ""))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert module.run_sync("Hi").text == "Main."
    assert heard == {"a": "A.", "b": "B.", "c": "Plain."}


def test_tasks_side_by_side_have_their_own(tmp_path: Path) -> None:
    module = agent(tmp_path)

    async def one(text: str) -> str:
        async with module.override(model=says(text)):
            await asyncio.sleep(0)
            return (await module.ask("Hi")).text

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*map(one, "abc"))

    assert asyncio.run(all_of_them()) == ["a", "b", "c"]


@pytest.mark.parametrize("all_agents", [False, True])
def test_sub_agents_are_changed_if_told_so(tmp_path: Path, all_agents: bool) -> None:
    child = agent(tmp_path, says("Child."))
    parent = agent(tmp_path, tools=[subagent(child, name="child", description="Asks.")])
    script: Any = [tool_call("child", task="Go."), "Inner.", "Done."]
    if not all_agents:
        script = [tool_call("child", task="Go."), "Done."]
    model = ScriptedModel(script)
    with parent.override(model=model, all_agents=all_agents):
        assert parent.run_sync("Hi").text == "Done."
    heard = model.requests[-1].messages[-1].parts[0]
    assert heard.text == ("Inner." if all_agents else "Child.")  # type: ignore[union-attr]


def test_agents_it_hands_over_to_are_changed_by_their_own_override(
    tmp_path: Path,
) -> None:
    billing = agent(tmp_path, name="billing")
    desk = agent(tmp_path, name="desk", handoffs=[billing])
    with (
        desk.override(model=ScriptedModel([tool_call("hand_over_to_billing")])),
        billing.override(model=says("Paid.")),
    ):
        assert desk.run_sync("Pay.").text == "Paid."


def test_an_override_is_entered_once(tmp_path: Path) -> None:
    override = agent(tmp_path).override(model=says("Yes."))
    with override:
        pass
    with pytest.raises(CommandRefused, match="Make another one"), override:
        pass


def test_an_error_in_the_block_is_not_hidden_by_an_unused_script(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        agent(tmp_path).override(model=ScriptedModel(["a"])),
    ):
        raise ZeroDivisionError


async def test_overrides_that_end_in_another_order_and_task_leave_nothing(
    tmp_path: Path,
) -> None:
    module = agent(tmp_path, says("Own."))
    first = module.override(model=says("First."))
    second = module.override(model=says("Second."))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert (await module.ask("Hi")).text == "Second."
    second.__exit__(None, None, None)
    assert (await module.ask("Hi")).text == "Own."
    third = module.override(model=says("Third."))
    await asyncio.create_task(third.__aenter__())
    await asyncio.create_task(third.__aexit__(None, None, None))
