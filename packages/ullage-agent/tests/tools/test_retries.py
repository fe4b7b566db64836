"""The words of a tool that asks to be called again."""

from __future__ import annotations

import pytest

from tests.tools.tool_context import FakeToolContext
from ullage_agent.tools.functions import tool
from ullage_agent.tools.retries import out_of_retries, with_retries_left
from ullage_agent.tools.running import run_call
from ullage_agent.tools.tool import AgentTool, Output, ToolRetry


def asking(retries: int) -> AgentTool:
    @tool(retries=retries)
    def level(cask: int) -> str:
        """How full a cask is."""
        raise ToolRetry(f"There is no cask {cask}: there are casks 1 to 9.")

    return level


@pytest.mark.parametrize(
    ("retries", "used", "said"),
    [
        (2, 0, "again 2 times"),
        (2, 1, "again once"),
        (2, 2, "can't be called again"),
        (0, 0, "can't be called again"),
    ],
)
def test_a_result_tells_the_retries_left(retries: int, used: int, said: str) -> None:
    result = with_retries_left(Output("No."), asking(retries), {"level": used})
    assert result.text.startswith("No.\n") and said in result.text


@pytest.mark.parametrize(
    ("retries", "used", "starts"),
    [(1, 0, True), (1, 1, True), (1, 2, False), (0, 1, False)],
)
def test_a_call_starts_until_the_last_retry_has_failed(
    retries: int, used: int, starts: bool
) -> None:
    assert (out_of_retries(asking(retries), {"level": used}) == "") is starts


async def test_a_tool_that_asks_for_a_retry_has_failed_with_its_own_words() -> None:
    ran = await run_call(asking(1), '{"cask": 12}', FakeToolContext())
    assert ran.outcome == "failed" and ran.output.is_error and ran.output.asks_retry
    assert ran.output.text == "There is no cask 12: there are casks 1 to 9."
