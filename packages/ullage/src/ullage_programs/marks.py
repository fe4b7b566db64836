"""By what the requests of each client are told apart: its name, its session, its subagents, and calls for a summary.

Seen in the requests of the npm packages that a row's ``seen`` names (``make clients ARGS='--keep DIR'`` leaves them in
``exchanges.jsonl``), unless a row says otherwise. A client that sends no id of its session has none here: Gemini CLI,
qwen-code, Copilot CLI, and pi but on Responses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple

from ullage_programs.limits import version_of
from ullage_programs.programs import FOLDERS

MarkedPurpose = Literal["", "child", "summary", "title", "other"]
"""What a mark says a call is for; empty where none does."""

NAMED_SESSION: Final = "x-ullage-session"
"""The user's own name of a session, sent or in the address as ``/s/NAME/``. It wins over all other marks."""


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


class ClientMarks(NamedTuple):
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
    alone: tuple[str, ...] = ()
    """Headers that no other client sends: a subagent's prompt may not name the program."""
    session_in: Callable[[Mapping[str, Any]], str] | None = None
    """Finds the session's id in the body."""
    also_read: tuple[str, ...] = ()
    """Headers that ``refined`` reads."""
    refined: Callable[[Mapping[str, str], Marks], Marks] | None = None
    """What the other fields gave, by the client's own headers."""


SLASH_VERSION: Final = r"/(\d[\w.+-]*)"

WORKING_DIRECTORY: Final = re.compile(r"[Ww]orking directory: ((?:/|[A-Za-z]:\\)[^\n]*)")


@cache
def client_marks() -> tuple[ClientMarks, ...]:
    """Each client, with the package in whose requests this was seen."""
    found = (import_module(f"ullage_programs.{folder}.marks") for folder in FOLDERS)
    return tuple(each.MARKS for each in found)


def mark_headers() -> frozenset[str]:
    """All headers that are read here, beside the user agent."""
    names = {NAMED_SESSION}
    for client in client_marks():
        names |= {*client.session, client.subagent, client.parent}
        names |= {*(client.purposes or ()), *client.alone, *client.also_read}
    return frozenset(names - {""})


_SDK: Final = re.compile(r"^([A-Za-z][\w-]*)/(Python|JS|Go|Java|Ruby) (\d[\w.+-]*)")
"""``OpenAI/Python 2.54.0``, as the SDKs that Stainless makes call themselves."""

_PRODUCT: Final = re.compile(r"^([A-Za-z][\w./-]{0,60}?)(?:/v?(\d[\w.+-]*))?(?:\s|$)")
"""``litellm/1.81.10``, ``ai-sdk/openai-compatible/3.0.37 …`` (Cline 3.0.65), ``node-fetch`` (Continue 1.5.47)."""

_PROMPTS: Final[Mapping[str, tuple[str, MarkedPurpose]]] = {
    "Act as an expert software developer.\nAlways use best practices": ("aider", ""),
    "Act as an expert code analyst.": ("aider", ""),
    "Act as an expert architect engineer": ("aider", ""),
    "*Briefly* summarize this partial conversation": ("aider", "summary"),
    "You are an expert software engineer that generates concise": ("aider", "other"),
}
"""How system prompts begin, whose they are where the user agent is that of an SDK, and what the call is for
(aider-chat 0.86.2, ``aider/coders/*_prompts.py`` and ``aider/prompts.py``)."""

UNNAMED: Final = "unnamed"
"""A program that says nothing of itself."""

LONGEST: Final = 200
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
        program, purpose = _unlisted(agent, prompt)
        return Marks(
            program=program,
            session=header(headers, NAMED_SESSION),
            purpose=purpose,
        )
    session = ""
    for name in client.session:
        session = session or header(headers, name)
    subagent = header(headers, client.subagent)
    parent = header(headers, client.parent)
    if parent:
        session, subagent = parent, session
    if client.session_in is not None and not session:
        session = client.session_in(body)
        session = session if len(session) <= LONGEST else ""
    program = _versioned(client, agent, prompt)
    marks = Marks(
        client=client.name,
        program=program,
        session=session,
        agent=subagent,
        purpose=_purpose(client, headers, prompt),
        cwd=_cwd(client, prompt),
        tells_agents=_tells_agents(client, program),
    )
    if client.refined is not None:
        marks = client.refined(headers, marks)
    return marks._replace(session=header(headers, NAMED_SESSION) or marks.session)


def header(
    headers: Mapping[str, str],
    name: str,
) -> str:
    """A header that may be an id; empty where it is none."""
    value = headers.get(name, "").strip()
    return value if len(value) <= LONGEST else ""


def _client(
    agent: str,
    headers: Mapping[str, str],
    prompt: SeenPrompt,
) -> ClientMarks | None:
    for client in client_marks():
        if client.agent is not None and client.agent.search(agent):
            return client
        if client.prompt and client.prompt in prompt.system[:_LOOKED_AT]:
            return client
    for client in client_marks():
        if any(name in headers for name in client.alone):
            return client
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
    return version_of(program.partition(" ")[2]) >= client.agents_since


def _unlisted(
    agent: str,
    prompt: SeenPrompt,
) -> tuple[str, MarkedPurpose]:
    """The name and version of a program that has no row, and the purpose of a call that its prompt names."""
    for beginning, told in _PROMPTS.items():
        if prompt.system.startswith(beginning):
            return told
    return _sender(agent), ""


def _sender(agent: str) -> str:
    """The name and version of the SDK or the program that a user agent names."""
    sdk = _SDK.match(agent)
    if sdk:
        return f"{sdk.group(1)}-{sdk.group(2)} {sdk.group(3)}".lower()
    product = _PRODUCT.match(agent)
    if product is None:
        return UNNAMED
    name, version = product.groups()
    return f"{name.replace('/', '-')} {version or ''}".strip()


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


def json_object(text: str) -> Mapping[str, Any]:
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
