"""The frameworks by name, which is that of --only and of the page in docs/frameworks.

A framework that is brief has no plug-in: ``ullage.attach`` follows the client of OpenAI's SDK.
"""

from __future__ import annotations

from typing import Any, Final

from bench.plugins.framework import (
    PLAIN_CHAT,
    PLAIN_GEMINI,
    PLAIN_RESPONSES,
    Contender,
    Framework,
)

CERTIFI = "certifi==2026.10.18"
"""langchain-core 1.8 and litellm 1.109.1 ask for a version that the index does not have."""
OPENAI = "openai==3.52.0"


def row(name: str, script: str, *needs: str, mode: str = "", **more: Any) -> Contender:
    """A row in an environment of these requirements; its title ends with the first one's version."""
    title = f"{name} {needs[0].partition('==')[2]}"
    more |= {"requirements": needs, "arguments": tuple(mode.split())}
    return Contender(title, f"plugin_{script}.py", **more)


def attached(name: str, *needs: str, **more: Any) -> Contender:
    """An agent whose SDK client is attached."""
    return row(f"ullage.attach, {name}", "attached", *needs, **more)


def _google_adk() -> tuple[Contender, ...]:
    newest = "google-adk==2.13.0"
    return (row("UllagePlugin, google-adk", "google_adk", newest, is_quick=True),)


def _langchain() -> tuple[Contender, ...]:
    """langchain 1.2.10 asks for a langgraph that the langgraph-prebuilt of today can't be imported beside."""
    oldest = ("langchain==1.2.11", "langchain-openai==1.1.10")
    newest = ("langchain==1.5.0", "langchain-openai==1.7.4")
    more: dict[str, Any] = {"overrides": (CERTIFI,)}
    name = "UllageMiddleware, langchain"
    return (
        row(name, "langchain", *oldest, is_lowest=True),
        row(name, "langchain", *newest, is_quick=True, **more),
    )


def _litellm() -> tuple[Contender, ...]:
    """The bench's proxy has no database, which litellm-proxy-extras is for, and uses nothing of litellm-enterprise."""
    oldest, newest = "litellm[proxy]==1.106.0", "litellm[proxy]==1.109.1"
    overrides = (CERTIFI, "litellm-proxy-extras", "litellm-enterprise")
    more: dict[str, Any] = {"overrides": overrides}
    found: list[Contender] = []
    for mode in ("acompletion", "completion", "proxy"):
        name, is_quick = f"{mode}, litellm", mode == "acompletion"
        found.append(row(name, "litellm", oldest, mode=mode, is_lowest=True))
        found.append(row(name, "litellm", newest, mode=mode, is_quick=is_quick, **more))
    return tuple(found)


def _instrumented(mode: str) -> Contender:
    name, newest = "instrument, openai-agents", "openai-agents==0.24.0"
    return row(name, "openai_agents", newest, mode=mode, is_quick=True)


def _pydantic_ai() -> tuple[Contender, ...]:
    slim = "pydantic-ai-slim[openai]"
    return (
        row("Ullage, pydantic-ai", "pydantic_ai", f"{slim}==2.62.0", is_lowest=True),
        row("Ullage, pydantic-ai", "pydantic_ai", f"{slim}==2.68.0", is_quick=True),
    )


def _smolagents() -> tuple[Contender, ...]:
    """It sends tool calls and their results as text, and the answer of a turn as a call of `final_answer` and its
    result. That makes its sessions longer than those of the others, so the plain SDK beside it is given the same
    messages."""
    needs = ("smolagents[openai]==1.26.0", OPENAI)
    title = "openai SDK (Chat) with Compactor, smolagents' messages"
    arguments = ("smolagents", "by-hand")
    plain = Contender(title, "plugin_attached.py", "plain", needs, arguments)
    return plain, attached("smolagents", *needs, mode="smolagents")


AGNO: Final = attached("agno", "agno==3.1.10", OPENAI, mode="agno")
STRANDS: Final = attached(
    "strands-agents", "strands-agents[openai]==1.62.0", mode="strands"
)

FRAMEWORKS: Final = {
    "agno": Framework("Agno", (PLAIN_CHAT, AGNO), is_brief=True),
    "google_adk": Framework(
        "Google ADK",
        (PLAIN_GEMINI, *_google_adk()),
        wire="gemini",
        like="gemini-2.5-flash",
    ),
    "langchain": Framework("LangChain", (PLAIN_CHAT, *_langchain())),
    "litellm": Framework("LiteLLM", (PLAIN_CHAT, *_litellm())),
    "openai_agents": Framework(
        "OpenAI Agents", (PLAIN_RESPONSES, _instrumented("responses"))
    ),
    "openai_agents_chat": Framework(
        "OpenAI Agents, Chat", (PLAIN_CHAT, _instrumented("chat"))
    ),
    "pydantic_ai": Framework(
        "pydantic-ai",
        (PLAIN_CHAT, *_pydantic_ai()),
    ),
    "smolagents": Framework("smolagents", _smolagents(), is_brief=True),
    "strands": Framework("Strands Agents", (PLAIN_CHAT, STRANDS), is_brief=True),
}
