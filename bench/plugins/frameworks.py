"""The frameworks by name, which is that of --only and of the page in docs/frameworks.

A framework that is brief has no plug-in: ``ullage.attach`` follows the client of OpenAI's SDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from bench.environments import Peer

Kind = Literal["plain", "plug-in", "own"]

MODELS = ("nobody-knows-this", "nor-this-one")
"""The model of a session, and the one that it changes to: of no family, so that no table knows them."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of the table: a script of ``bench/peers`` in an environment.

    ``requirements`` are pinned; without them the script runs in the development environment. ``is_quick``: --quick runs
    it. ``is_lowest``: the lowest supported version, where another row has the newest. ``overrides``: of requirements
    that its packages state (``Peer.overrides``).
    """

    title: str
    script: str
    kind: Kind = "plug-in"
    requirements: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    is_quick: bool = False
    is_lowest: bool = False
    overrides: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Of the framework; empty for the development environment."""
        return self.requirements[0].partition("==")[2] if self.requirements else ""

    @property
    def peer(self) -> Peer | None:
        """Its environment; only that of an own compaction does not hold this checkout."""
        if not self.requirements:
            return None
        first, *others = self.requirements
        has_ullage = self.kind != "own"
        return Peer(self.title, first, tuple(others), has_ullage, self.overrides)


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework's rows: ``plain`` first, with which the others are compared.

    ``wire`` is the simulator that is called (``openai``, ``gemini``, ``anthropic``), ``like`` the simulated model that
    ``models`` behave like, ``summaries`` the words by which the last message of a request for a summary is known.
    ``is_brief``: only the long session on the smallest window.
    """

    title: str
    contenders: tuple[Contender, ...]
    wire: str = "openai"
    like: str = "gpt-4.1"
    models: tuple[str, str] = MODELS
    summaries: tuple[str, ...] = ()
    is_brief: bool = False


def plain(title: str, mode: str) -> Contender:
    """A plain SDK with ``Compactor``, in the development environment."""
    title = f"{title} with Compactor"
    script = "plugin_plain.py"
    return Contender(title, script, "plain", arguments=(mode,), is_quick=True)


PLAIN_CHAT = plain("openai SDK (Chat)", "chat")
PLAIN_RESPONSES = plain("openai SDK (Responses)", "responses")
PLAIN_GEMINI = plain("google-genai SDK", "gemini")


CERTIFI = "certifi==2026.10.18"
"""langchain-core 1.8 and litellm 1.109.1 ask for a version that the index does not have."""
OPENAI = "openai==3.52.0"
OPENAI_AGENTS_MODELS = ("gpt-nobody-knows-this", "gpt-nor-this-one")
"""The SDK's own compaction takes no model that is not named like one of OpenAI's."""


def row(name: str, script: str, *needs: str, mode: str = "", **more: Any) -> Contender:
    """A row in an environment of these requirements; its title ends with the first one's version."""
    title = f"{name} {needs[0].partition('==')[2]}"
    more |= {"requirements": needs, "arguments": tuple(mode.split())}
    return Contender(title, f"plugin_{script}.py", **more)


def own(name: str, script: str, *needs: str, mode: str = "own", **more: Any) -> Contender:
    """A framework's own compaction."""
    return row(name, script, *needs, mode=mode, kind="own", **more)


def attached(name: str, *needs: str, **more: Any) -> Contender:
    """An agent whose SDK client is attached."""
    return row(f"ullage.attach, {name}", "attached", *needs, **more)


def _google_adk() -> tuple[Contender, ...]:
    """Its own are `EventsCompactionConfig` with the threshold as `token_threshold` and the last 20 events kept, and
    `ContextFilterPlugin` with the last 5 invocations kept, which summarises nothing.

    The first one's summary is a turn of the model. Where a function call is the first event kept, it comes behind that
    turn, and the simulator refuses the request and all after it, by Gemini's rule that a function call follows a turn
    of the user or a function's answer (its words are in https://github.com/google-gemini/gemini-cli/issues/11814; the
    API itself was not asked).
    """
    newest = "google-adk==2.13.0"
    return (
        row("UllagePlugin, google-adk", "google_adk", newest, is_quick=True),
        own(
            "EventsCompactionConfig, google-adk", "google_adk", newest, mode="compaction"
        ),
        own("ContextFilterPlugin, google-adk", "google_adk", newest, mode="filter"),
    )


def _langchain() -> tuple[Contender, ...]:
    """Its own is SummarizationMiddleware as documented: a share of the window, 20 messages kept.

    langchain 1.2.10 asks for a langgraph that the langgraph-prebuilt of today can't be imported beside.
    """
    oldest = ("langchain==1.2.11", "langchain-openai==1.1.10")
    newest = ("langchain==1.5.0", "langchain-openai==1.7.4")
    more: dict[str, Any] = {"overrides": (CERTIFI,)}
    name = "UllageMiddleware, langchain"
    return (
        row(name, "langchain", *oldest, is_lowest=True),
        row(name, "langchain", *newest, is_quick=True, **more),
        own("SummarizationMiddleware, langchain", "langchain", *newest, **more),
    )


def _litellm() -> tuple[Contender, ...]:
    """It has no compaction that sums up; `trim_messages`, called before each request with the threshold as
    `max_tokens`, is what its documentation offers.

    The bench's proxy has no database, which litellm-proxy-extras is for, and uses nothing of litellm-enterprise.
    """
    oldest, newest = "litellm[proxy]==1.106.0", "litellm[proxy]==1.109.1"
    overrides = (CERTIFI, "litellm-proxy-extras", "litellm-enterprise")
    more: dict[str, Any] = {"overrides": overrides}
    found: list[Contender] = []
    for mode in ("acompletion", "completion", "proxy"):
        name, is_quick = f"{mode}, litellm", mode == "acompletion"
        found.append(row(name, "litellm", oldest, mode=mode, is_lowest=True))
        found.append(row(name, "litellm", newest, mode=mode, is_quick=is_quick, **more))
    trimmed = own("trim_messages, litellm", "litellm", newest, mode="trim", **more)
    return (*found, trimmed)


def _openai_agents() -> tuple[Contender, ...]:
    """Its own is OpenAIResponsesCompactionSession with its defaults: after a run, from 10 items on that are not the
    user's, through POST /responses/compact. Nothing is compacted inside a run."""
    name, newest = (
        "OpenAIResponsesCompactionSession, openai-agents",
        "openai-agents==0.24.0",
    )
    mode = f"own {OPENAI_AGENTS_MODELS[0]}"
    return (_instrumented("responses"), own(name, "openai_agents", newest, mode=mode))


def _instrumented(mode: str) -> Contender:
    name, newest = "instrument, openai-agents", "openai-agents==0.24.0"
    return row(name, "openai_agents", newest, mode=mode, is_quick=True)


def _pydantic_ai() -> tuple[Contender, ...]:
    """Its own is that of pydantic-ai-harness: the tiers of its README (clear tool results but 3 pairs, then summarise
    all but 20 messages), or the last of these alone."""
    slim = "pydantic-ai-slim[openai]"
    harness = ("pydantic-ai-harness==0.62.0", f"{slim}==2.62.0")
    found = [
        row("Ullage, pydantic-ai", "pydantic_ai", f"{slim}==2.62.0", is_lowest=True),
        row("Ullage, pydantic-ai", "pydantic_ai", f"{slim}==2.68.0", is_quick=True),
    ]
    for mode in ("tiered", "summary"):
        found.append(own(f"harness, {mode},", "pydantic_ai", *harness, mode=mode))
    return tuple(found)


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
        summaries=("The following is a conversation history between a user",),
    ),
    "langchain": Framework(
        "LangChain", (PLAIN_CHAT, *_langchain()), summaries=("Messages to summarize:",)
    ),
    "litellm": Framework("LiteLLM", (PLAIN_CHAT, *_litellm())),
    "openai_agents": Framework(
        "OpenAI Agents", (PLAIN_RESPONSES, *_openai_agents()), models=OPENAI_AGENTS_MODELS
    ),
    "openai_agents_chat": Framework(
        "OpenAI Agents, Chat", (PLAIN_CHAT, _instrumented("chat"))
    ),
    "pydantic_ai": Framework(
        "pydantic-ai",
        (PLAIN_CHAT, *_pydantic_ai()),
        summaries=("Write the summary under these exact",),
    ),
    "smolagents": Framework("smolagents", _smolagents(), is_brief=True),
    "strands": Framework("Strands Agents", (PLAIN_CHAT, STRANDS), is_brief=True),
}
