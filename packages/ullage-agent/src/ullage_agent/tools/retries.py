"""How often in a turn a tool may ask to be called again. The ledger counts, so that a restart begins no new count."""

from __future__ import annotations

from collections.abc import Mapping

from ullage_agent.tools.tool import AgentTool, Output


def with_retries_left(output: Output, tool: AgentTool, used: Mapping[str, int]) -> Output:
    """The result of a call that asks for another one, with how many are left behind it.

    ``used`` is how often each tool has asked before in this turn.
    """
    left = tool.retries - used.get(tool.name, 0)
    if left > 0:
        times = "once" if left == 1 else f"{left} times"
        note = f"{tool.name} can be called again {times} in this turn."
    else:
        note = f"{tool.name} can't be called again in this turn: go on without it, or say what is missing."
    return output._replace(text=f"{output.text}\n[{note}]")


def out_of_retries(tool: AgentTool, used: Mapping[str, int]) -> str:
    """Why a call does not start, if its tool has asked for more calls than it may; empty otherwise."""
    if used.get(tool.name, 0) <= tool.retries:
        return ""
    return (
        f"Nothing was done: {tool.name} has asked {used[tool.name]} times in this turn to be called again, and still "
        "failed. Go on without it, or say what is missing."
    )
