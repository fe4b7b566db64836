"""By what the requests of each client are told apart: its name, its session, its subagents, and calls for a summary.

Seen in the requests of the npm packages that a row's ``seen`` names (``make clients ARGS='--keep DIR'`` leaves them in
``exchanges.jsonl``), unless a row says otherwise. A client that sends no id of its session has none here: Gemini CLI,
qwen-code, Copilot CLI, and pi but on Responses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

MarkedPurpose = Literal["", "child", "summary", "title", "other"]
"""What a mark says a call is for; empty where none does."""

NAMED_SESSION: Final = "x-ullage-session"
"""The user's own name of a session, sent or in the address as ``/s/NAME/``. It wins over all other marks."""

MARK_HEADERS: Final = (
    NAMED_SESSION,
    "x-claude-code-session-id",
    "x-claude-code-agent-id",
    "x-claude-code-parent-agent-id",
    "x-claude-code-request-class",
    "x-claude-code-auxiliary-type",
    "session-id",
    "session_id",
    "thread-id",
    "x-codex-turn-metadata",
    "x-openai-subagent",
    "x-session-id",
    "x-parent-session-id",
    "x-interaction-type",
    "x-initiator",
)
"""All headers that are read here, beside the user agent."""


class SeenPrompt(NamedTuple):
    """The texts of a request by which it may be told."""

    system: str = ""
    first: str = ""
    """The first messages of the user, with what the client puts before them."""
    last: str = ""
    """The last message, if it is the user's."""


class Marks(NamedTuple):
    """What a request says of itself. Empty where it says nothing.

    ``agent`` names a subagent within the session.
    """

    client: str = ""
    program: str = ""
    session: str = ""
    agent: str = ""
    purpose: MarkedPurpose = ""
    cwd: str = ""
    tells_agents: bool = False
    """The client marks each request of a subagent, so that one without a mark is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMarks:
    """One client. ``agent`` is found in its user agent and ``prompt`` in its system prompt; a group is the version."""

    name: str
    seen: str
    agent: re.Pattern[str] | None = None
    prompt: str = ""
    version: re.Pattern[str] | None = None
    """Of the version in the system prompt, where the user agent has none."""
    session: tuple[str, ...] = ()
    """Headers with the session's id, the first one that is there."""
    subagent: str = ""
    """The header with the subagent's id."""
    parent: str = ""
    """The header with the parent's session; the session's own id is then the subagent's."""
    agents_since: tuple[int, ...] = ()
    """The first version that is known to mark requests of subagents."""
    purposes: Mapping[str, Mapping[str, MarkedPurpose]] | None = None
    """Headers, and what their values mean."""
    asks_summary: tuple[str, ...] = ()
    """How the request for a summary begins: the system prompt, or the last message or a later line of it."""
    asks_title: tuple[str, ...] = ()
    asks_other: tuple[str, ...] = ()
    cwd: re.Pattern[str] | None = None


_SLASH_VERSION = r"/(\d[\w.+-]*)"

_WORKING_DIRECTORY: Final = re.compile(r"[Ww]orking directory: ((?:/|[A-Za-z]:\\)[^\n]*)")

CLIENT_MARKS: Final = (
    ClientMarks(
        name="claude-code",
        seen="@anthropic-ai/claude-code 2.1.330; 2.1.197 had no agent id. The request classes are named in the program "
        "and were not sent here",
        agent=re.compile(r"^claude-cli/([1-9][\w.+-]*)"),
        session=("x-claude-code-session-id",),
        subagent="x-claude-code-agent-id",
        agents_since=(2, 1, 330),
        purposes={
            "x-claude-code-request-class": {
                "compaction": "summary",
                "auxiliary": "other",
                "side_reply": "other",
            },
            "x-claude-code-auxiliary-type": {"*": "other"},
        },
        asks_summary=("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",),
        asks_title=("Generate a concise, sentence-case title",),
        asks_other=("Generate a short kebab-case name",),
        cwd=_WORKING_DIRECTORY,
    ),
    ClientMarks(
        name="codex",
        seen="@openai/codex 0.169.0",
        agent=re.compile(r"^codex[\w-]*" + _SLASH_VERSION),
        session=("session-id", "session_id"),
        subagent="thread-id",
        purposes={
            "x-openai-subagent": {
                "compact": "summary",
                "review": "child",
                "collab_spawn": "child",
                "*": "other",
            }
        },
        asks_summary=("You are performing a CONTEXT CHECKPOINT COMPACTION.",),
        cwd=re.compile(r"<cwd>\s*([^<\n]+?)\s*</cwd>"),
    ),
    ClientMarks(
        name="opencode",
        seen="opencode-ai 1.18.33",
        agent=re.compile("^opencode" + _SLASH_VERSION),
        session=("x-session-id",),
        parent="x-parent-session-id",
        asks_summary=("You are a context summarization agent.",),
        asks_title=("You are a title generator.",),
        cwd=_WORKING_DIRECTORY,
    ),
    ClientMarks(
        name="pi",
        seen="@earendil-works/pi-coding-agent 0.87.1",
        agent=re.compile(r"^pi(?:-coding-agent)?(?:/(\d[\w.]*)| \()"),
        session=("session_id",),
        asks_summary=("You are a context summarization assistant.",),
        cwd=re.compile(r"<cwd>\s*([^<\n]+?)\s*</cwd>"),
    ),
    ClientMarks(
        name="gemini-cli",
        seen="@google/gemini-cli 0.61.0; its summary prompt: https://github.com/google-gemini/gemini-cli, "
        "packages/core/src/prompts/snippets.ts",
        agent=re.compile(r"^GeminiCLI[\w-]*" + _SLASH_VERSION),
        asks_summary=(
            "You are a specialized system component responsible for distilling",
            "You are the component that summarizes internal chat history",
        ),
        cwd=re.compile(
            r"Directory Structure:\*\*\s+Showing up to [^\n]+\n\s*([^\n]+?)/?\n"
        ),
    ),
    ClientMarks(
        name="qwen-code",
        seen="@qwen-code/qwen-code 0.24.4, which takes Claude Code's name with its own version on Anthropic's wire",
        agent=re.compile("^(?:QwenCode|claude-cli)" + _SLASH_VERSION),
        asks_summary=("You are the component that summarizes a conversation",),
        asks_other=("You are now acting as the managed memory extraction subagent",),
        cwd=re.compile(r"currently working in the directory: ([^\n]+)"),
    ),
    ClientMarks(
        name="copilot-cli",
        seen="@github/copilot 1.0.102 with a provider of the user's own",
        prompt="You are the GitHub Copilot CLI",
        version=re.compile(r"<version_information>Version number: ([\d.]+)"),
        purposes={"x-interaction-type": {"conversation-subagent": "child"}},
        asks_summary=("Please create a detailed summary of the conversation so far.",),
        cwd=_WORKING_DIRECTORY,
    ),
)
"""Each client, with the package in whose requests this was seen."""

_SDK: Final = re.compile(r"^([A-Za-z][\w-]*)/(Python|JS|Go|Java|Ruby) (\d[\w.+-]*)")
"""``OpenAI/Python 2.54.0``, as the SDKs that Stainless makes call themselves."""

_PRODUCT: Final = re.compile(r"^([A-Za-z][\w.-]{0,40})/v?(\d[\w.+-]*)")

_COPILOT_HEADERS: Final = ("x-initiator", "x-interaction-type")

_LONGEST: Final = 200
"""Characters of a mark; what is longer is no id."""

_LOOKED_AT: Final = 100_000
"""Characters of a prompt in which a working directory is looked for."""


def marks_of(
    headers: Mapping[str, str],
    body: Mapping[str, Any],
    prompt: SeenPrompt,
) -> Marks:
    """What a request says of itself. ``headers`` have lower-case names. Never raises."""
    agent = headers.get("user-agent", "")
    client = _client(agent, headers, prompt)
    if client is None:
        return Marks(
            program=_program(agent),
            session=_name(headers, NAMED_SESSION),
        )
    session = ""
    for name in client.session:
        session = session or _name(headers, name)
    subagent = _name(headers, client.subagent)
    parent = _name(headers, client.parent)
    if parent:
        session, subagent = parent, session
    program = _versioned(client, agent, prompt)
    purpose = _purpose(client, headers, prompt)
    if client.name == "claude-code":
        session = session or _claude_session(body)
    if client.name == "codex":
        subagent, purpose = _codex(headers, session, subagent, purpose)
    return Marks(
        client=client.name,
        program=program,
        session=_name(headers, NAMED_SESSION) or session,
        agent=subagent,
        purpose=purpose,
        cwd=_cwd(client, prompt),
        tells_agents=_tells_agents(client, program),
    )


def _name(
    headers: Mapping[str, str],
    name: str,
) -> str:
    value = headers.get(name, "").strip()
    return value if len(value) <= _LONGEST else ""


def _client(
    agent: str,
    headers: Mapping[str, str],
    prompt: SeenPrompt,
) -> ClientMarks | None:
    for client in CLIENT_MARKS:
        if client.agent is not None and client.agent.search(agent):
            return client
        if client.prompt and client.prompt in prompt.system[:_LOOKED_AT]:
            return client
    if any(name in headers for name in _COPILOT_HEADERS):
        # A subagent's prompt does not name the program.
        return CLIENT_MARKS[-1]
    return None


def _versioned(
    client: ClientMarks,
    agent: str,
    prompt: SeenPrompt,
) -> str:
    found = None
    if client.agent is not None:
        found = client.agent.search(agent)
    elif client.version is not None:
        found = client.version.search(prompt.system)
    version = found.group(1) if found else ""
    return f"{client.name} {version or ''}".strip()


def _tells_agents(
    client: ClientMarks,
    program: str,
) -> bool:
    if not client.subagent and not client.parent:
        return False
    return _numbers(program.partition(" ")[2]) >= client.agents_since


def _numbers(version: str) -> tuple[int, ...]:
    """``2.1.330`` as numbers, up to the first that is none."""
    numbers = []
    for each in version.split("."):
        if not each.isdecimal():
            break
        numbers.append(int(each[:9]))
    return tuple(numbers)


def _program(agent: str) -> str:
    """The name and version of a program that has no row."""
    sdk = _SDK.match(agent)
    if sdk:
        return f"{sdk.group(1)}-{sdk.group(2)} {sdk.group(3)}".lower()
    product = _PRODUCT.match(agent)
    return f"{product.group(1)} {product.group(2)}" if product else ""


def _purpose(
    client: ClientMarks,
    headers: Mapping[str, str],
    prompt: SeenPrompt,
) -> MarkedPurpose:
    for name, meanings in (client.purposes or {}).items():
        value = headers.get(name)
        if value is not None:
            found = meanings.get(value, meanings.get("*", ""))
            if found:
                return found
    wordings: tuple[tuple[MarkedPurpose, tuple[str, ...]], ...] = (
        ("summary", client.asks_summary),
        ("title", client.asks_title),
        ("other", client.asks_other),
    )
    for purpose, beginnings in wordings:
        if any(_begins(prompt, words) for words in beginnings):
            return purpose
    return ""


def _begins(
    prompt: SeenPrompt,
    words: str,
) -> bool:
    """Whether the system prompt, or a line of the last message, begins so."""
    last = prompt.last
    return (
        prompt.system.lstrip().startswith(words)
        or last.lstrip().startswith(words)
        or f"\n{words}" in last
    )


def _claude_session(body: Mapping[str, Any]) -> str:
    """In ``metadata.user_id``: JSON, and before 2.1 ``user_…_session_<id>``."""
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    user = metadata.get("user_id")
    if not isinstance(user, str) or len(user) > 5 * _LONGEST:
        return ""
    session = _fields(user).get("session_id")
    if not isinstance(session, str):
        _, found, session = user.rpartition("_session_")
        if not found:
            return ""
    return session if len(session) <= _LONGEST else ""


def _codex(
    headers: Mapping[str, str],
    session: str,
    thread: str,
    purpose: MarkedPurpose,
) -> tuple[str, MarkedPurpose]:
    """The subagent and the purpose, which it says in JSON."""
    said = _fields(headers.get("x-codex-turn-metadata", ""))
    kind = said.get("request_kind")
    if kind == "compaction":
        purpose = "summary"
    elif isinstance(kind, str) and kind != "turn":
        purpose = purpose or "other"
    subagent = "" if thread == session else thread
    return subagent, purpose


def _fields(text: str) -> Mapping[str, Any]:
    """The JSON object in a text; empty for any other."""
    if len(text) > _LOOKED_AT:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _cwd(
    client: ClientMarks,
    prompt: SeenPrompt,
) -> str:
    if client.cwd is None:
        return ""
    for text in _prompt_texts(prompt):
        found = client.cwd.search(text)
        if found and len(found.group(1)) <= 4096:
            return found.group(1).strip()
    return ""


def _prompt_texts(prompt: SeenPrompt) -> Iterator[str]:
    yield prompt.system[:_LOOKED_AT]
    yield prompt.first[:_LOOKED_AT]
