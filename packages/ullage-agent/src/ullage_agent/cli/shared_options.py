"""Options of the commands that run agents."""

from __future__ import annotations

from typing import Final

from ullage.cli.option_values import tokens
from ullage.cli.options import Option, OptionGroup, choice, text, value

MODEL = text("--model NAME", "provider:model, as in anthropic:claude-haiku-4-5")

RESUMED_SESSION = text("--session ID", "resume this session, or begin it")

SCENARIO = text("--scenario FILE", "with --simulate: what the model answers")

ENDPOINT = (
    text("--system TEXT", "the system prompt"),
    text("--base-url URL", "another address, of a local server or a gateway"),
    text(
        "--wire WIRE", "messages, responses, chat or generateContent (default: the usual)"
    ),
    value("--window N", tokens, "the model's context window, where it is unknown"),
    value("--max-output N", tokens, "at most N tokens of output a call (also as 2k)"),
)
"""How the model is reached, and how much it may hold and say."""

AGENT_MODEL = (
    *ENDPOINT,
    text(
        "--strategy NAMES",
        "how it is compacted: hybrid (default), llm, prune, noop, or strategies in order, as in clear,summary",
    ),
    choice(
        "--count",
        ("auto", "always", "never"),
        "when the provider is asked to count a request; auto: where an estimate is weakest or decides something",
        None,
    ),
)
"""The same for agents, and how their windows are compacted and counted."""


def tool_options(more: str, approval: str) -> tuple[Option, ...]:
    """Which tools an agent has, and what they may reach."""
    return (
        text(
            "--tools NAMES",
            f"built-in tools: read,write,edit,list,search,shell{more}; write, edit, shell and tools of MCP servers "
            f"need {approval}",
        ),
        text("--root DIR", "the directory that file tools are confined to", None),
        choice(
            "--sandbox",
            ("workspace", "workspace+network", "off"),
            "what commands may reach: the root and no network (workspace, the default), with the network, or "
            "everything the user may (off)",
        ),
    )


def server_agent(where_approved: str) -> OptionGroup:
    """The agent of a process that drives sessions."""
    return OptionGroup(
        "the agent, where ullage.toml does not say it",
        MODEL,
        *tool_options(
            " (default: none)",
            f"approval, {where_approved}unless the setting `approve` says otherwise",
        ),
        *AGENT_MODEL,
    )


TELLS_MORE: Final = "ullage_agent.cli.shared_options:as_setting"
"""As in ``CommandParser``, for commands whose settings mostly have no option."""


def as_setting(option: str) -> str:
    """How to set what has no option; empty where it is no setting."""
    from ullage_agent.runtime.settings import KEYS, environment_name

    key = option.removeprefix("--").replace("-", "_")
    if key not in KEYS:
        return ""
    variable = environment_name(key)
    ways = f"`{key} = …` in ullage.toml"
    return (
        f" It is a setting: {ways}{f', or the variable {variable}' if variable else ''}."
    )
