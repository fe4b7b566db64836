"""The assistant of the command: it reads files that a message names, changes nothing and soon comes to an end.

People point their own agent at ``ullage simulate``, and that agent runs what it is told to. So no tool is called here
but one that reads a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.answer_format import sample_text
from ullage_simulators.prompt import DeclaredTool, ScriptContext

MOST_STEPS: Final = 20
"""Model calls of a conversation after which no tool is called, whatever the client sends by itself."""

MOST_FILES: Final = 3

READING: Final = frozenset({"read", "readfile", "view", "viewfile"})
"""Tools that read a file, in lower case and without underscores: ``Read`` of Claude Code, ``read_file`` of Gemini CLI
and Qwen Code, ``read`` of OpenCode and pi, ``view`` of Copilot CLI (declared by the versions in ``bench/clients``)."""

PATHS: Final = ("file_path", "filePath", "path", "absolute_path")
"""What their argument is called."""

_INTRODUCTION: Final = (
    "This is a simulated model: it understands nothing and costs nothing."
)
_SHOWN: Final = 200
"""Characters of a message or of a file that an answer repeats."""

_TEXT: Final = 100_000
"""Characters of a message that are looked at, from its end."""

_OPENING: Final = re.compile(r"<([A-Za-z][\w-]*)>")
_FILE: Final = re.compile(
    r"(?<![\w./~:-])[\w./~-]*(?:[\w-]{2}\.[A-Za-z]|\w\.[A-Za-z]\w)\w{0,3}(?![\w/])"
)
"""A path whose name has an extension, and no ``e.g.`` and no address."""

_DIRECTORY: Final = re.compile(
    r"(?:working (?:in the )?directory: |<cwd>\s{0,4})((?:/|[A-Z]:\\)[^\n<]{0,1000})",
    re.IGNORECASE,
)
"""How Claude Code, OpenCode and Copilot CLI, Qwen Code, and pi tell the model where it works."""


def harmless_answer(ask: ScriptContext) -> ScriptedAnswer:
    """Says what was read, reads the files that the message names, or says what can be tried."""
    if ask.answer_schema is not None:
        return ScriptedAnswer(text=sample_text(ask.answer_schema, own_words(ask.text)))
    if ask.results:
        return _conclusion(ask)
    words = own_words(ask.text)
    calls = _reading(ask, words)
    if calls:
        return ScriptedAnswer(
            reasoning="The message names a file, so it is read first.",
            calls=calls,
        )
    lines = words.splitlines()
    quoted = lines[-1][:_SHOWN] if lines else "(nothing)"
    text = f"{_INTRODUCTION} You wrote: {quoted}"
    if _reader(ask.tools):
        text += "\n\nName a file, as in `read README.md`, and the file is read."
    return ScriptedAnswer(
        reasoning="There is nothing to look up for this.",
        text=text,
    )


def own_words(text: str) -> str:
    """What the person wrote: the message without the blocks in tags that clients add to it."""
    rest = text[-_TEXT:]
    kept: list[str] = []
    unclosed: set[str] = set()
    start = 0
    while opening := _OPENING.search(rest, start):
        name = opening[1]
        end = -1
        if name not in unclosed:
            end = rest.find(f"</{name}>", opening.end())
        if end < 0:
            unclosed.add(name)
            kept.append(rest[start : opening.end()])
            start = opening.end()
            continue
        kept.append(rest[start : opening.start()])
        start = end + len(name) + 3
    kept.append(rest[start:])
    return "".join(kept).strip()


def _conclusion(ask: ScriptContext) -> ScriptedAnswer:
    found: list[str] = []
    for name, text in ask.results:
        begins = f"- `{name or 'the tool'}`: {_first_line(text)}"
        found.append(begins)
    listed = "\n".join(found)
    return ScriptedAnswer(
        reasoning="The file was read, so this can be said.",
        text=f"{_INTRODUCTION} What was read begins like this:\n\n{listed}",
    )


def _first_line(text: str) -> str:
    """The first line that is no tag."""
    for line in text[:_TEXT].splitlines():
        shown = line.strip()
        if shown and not shown.startswith("<"):
            return shown[:_SHOWN]
    return "(nothing)"


def _reading(
    ask: ScriptContext,
    words: str,
) -> tuple[Call, ...]:
    reader = _reader(ask.tools)
    if reader is None or ask.step > MOST_STEPS:
        return ()
    calls: list[Call] = []
    for file in dict.fromkeys(_FILE.findall(words)):
        path = file
        if not file.startswith(("/", "~")):
            path = _directory(ask) + file
        arguments = {**reader.others, reader.argument: path}
        calls.append(Call(reader.name, json.dumps(arguments)))
    return tuple(calls[:MOST_FILES])


def _directory(ask: ScriptContext) -> str:
    """Where the client works, with a slash behind it: some tools take absolute paths alone."""
    for piece in ask.pieces:
        found = _DIRECTORY.search(piece.text)
        if found:
            return found[1].strip().rstrip("/") + "/"
    return ""


class _FileTool(NamedTuple):
    """A tool that reads a file, the argument for its path, and what else must be given."""

    name: str
    argument: str
    others: dict[str, None]


def _reader(tools: Sequence[DeclaredTool]) -> _FileTool | None:
    for tool in tools:
        if tool.name.lower().replace("_", "") not in READING:
            continue
        properties = tool.schema.get("properties")
        required = tool.schema.get("required")
        if not isinstance(properties, dict):
            continue
        named = [name for name in PATHS if name in properties]
        others: dict[str, None] = {}
        if isinstance(required, list):
            others = {str(name): None for name in required if name not in PATHS}
        if named and all(_takes_null(properties.get(name)) for name in others):
            return _FileTool(tool.name, named[0], others)
    return None


def _takes_null(schema: Any) -> bool:
    """As pi 0.87.1 declares what may be left out."""
    if not isinstance(schema, dict):
        return False
    choices = schema.get("anyOf")
    return isinstance(choices, list) and {"type": "null"} in choices
