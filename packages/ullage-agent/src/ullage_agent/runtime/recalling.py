"""The tool by which the model asks for what left its window."""

from __future__ import annotations

from collections.abc import Mapping

from ullage.errors import InputError
from ullage.meter.fold import Fold
from ullage.store.policy import RECALL_TOKENS
from ullage.store.recall import RECALL, Recalled, states
from ullage_agent.runtime.session_runtime import SessionRuntime
from ullage_agent.runtime.settings import Settings
from ullage_agent.runtime.tooling import CallContext
from ullage_agent.tools.functions import tool
from ullage_agent.tools.tool import AgentTool, BadArguments, ToolContext


async def recalled(
    runtime: SessionRuntime, query: str, read: str, tokens: int = RECALL_TOKENS
) -> Recalled:
    """What of the session left its window. Raises ``InputError`` and ``StoreUnavailable``."""
    ledger = runtime.ledger
    return await runtime.recalled.recall(
        ledger.store,
        ledger.session,
        query,
        in_view=states(ledger.meter.state.view),
        read=read,
        tokens=tokens,
    )


@tool(name=RECALL, idempotent=True)
async def RECALL_TOOL(query: str = "", read: str = "", *, session: ToolContext) -> str:
    """Find exact lines of the earlier conversation, of which only a summary is in view.

    Args:
        query: Words, names or numbers of the line.
        read: A place in an answer, as 12:340, to read the text around it.
    """
    assert isinstance(session, CallContext), "an agent runs its tools with one"
    try:
        return (await recalled(session.runtime, query, read)).text
    except InputError as problem:
        raise BadArguments(str(problem)) from problem


def with_recall(
    offered: Mapping[str, AgentTool], settings: Settings, fold: Fold
) -> Mapping[str, AgentTool]:
    """The agent's tools, and the one that recalls where it is declared.

    It is from the first compaction on that leaves nothing in front of its summary, and then stays: until then there is
    nothing to ask for, or the provider's cache would be lost, which such a compaction begins again anyway. A model that
    binds its reasoning to its tools has it from the start. A tool of the program that has the name keeps it.
    """
    is_declared = settings.recall == "always"
    if settings.recall == "auto" and offered:
        before = {tool.name for tool in fold.tools or ()}
        is_declared = RECALL in before or fold.refuses_changes
        for record in fold.undo_records.values():
            is_declared |= bool(record.summary) and not record.behind
    if not is_declared or RECALL in offered:
        return offered
    return {**offered, RECALL: RECALL_TOOL}
