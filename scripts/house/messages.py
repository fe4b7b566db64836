"""Every message of an error is held to one rule: what happened, to what, what to do next, in plain English.

Read from the source, so that a new error is held to it too. A value that is filled in counts as any text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from scripts.house.source import Source

VALUE: Final = "\N{REPLACEMENT CHARACTER}"
"""Stands for a value that is filled in."""

FRAGMENTS: Final = frozenset(
    {"NotASession", "AnswerMisfit", "ServerBroken", "AnswerRefused", "UndecodableRow"}
)
"""Errors whose text becomes a part of another message, or that make their message of their arguments."""

WITHOUT_A_STEP: Final = frozenset(
    {
        "LedgerError",
        "ToolError",
        "BadArguments",
        "OutsideRoot",
        "ServerUnavailable",
        "HookFailed",
        "LeaseLost",
    }
)
"""Errors that need not say what to do next: models read them and decide, or they are contradictions in stored data."""

NO_BEGINNINGS: Final = frozenset(
    {"a", "an", "the", "no", "two", "it", "its", "one", "this", "there", "every"}
)
"""A message begins with a capital letter, a value, or the name of an argument or setting, and so not with these."""

STEPS: Final = frozenset(
    {
        "add", "allow", "answer", "ask", "change", "check", "choose", "close", "compact", "continue", "correct",
        "decide", "declare", "delete", "describe", "drop", "end", "export", "fold", "give", "grant", "hand", "import",
        "install", "leave", "let", "load", "look", "make", "move", "name", "open", "pass", "point", "put", "raise",
        "read", "remove", "rename", "repair", "restore", "retry", "return", "rewind", "run", "save", "select",
        "send", "set", "shorten", "show", "sign", "start", "stop", "store", "switch", "take", "try", "turn", "type",
        "unpack", "unset", "update", "upgrade", "use", "wait", "wrap", "write",
    }
)  # fmt: skip
"""Verbs that tell a person what to do next, at the beginning of a sentence or behind a colon or comma."""

COMMAND: Final = re.compile(r"`[a-z_.()]+[ `]|(^| )(--|/)[a-z-]+ |Did you mean")
"""A command of the shell, the chat or Python, or an option."""

TAKEN: Final = re.compile(r", and not |\bmust be\b")
"""Says what an argument has to be."""

COINED: Final = re.compile(
    r"\b(go(es|ne)? on|stands? (in|for|beside))\b|\(\*/|\b_[a-z]", re.IGNORECASE
)
"""Words of a dialect beside those of ``words.py``, and identifiers from inside the code."""


class Message(NamedTuple):
    """The text of one error as it is written in the source."""

    place: str
    error: str
    text: str


def errors(files: Sequence[Source]) -> frozenset[str]:
    """The names of all classes below ``UllageError``, wherever they are defined."""
    bases: dict[str, set[str]] = {}
    for source in files:
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {
                    ast.unparse(base).rpartition(".")[2] for base in node.bases
                }
    found = {"UllageError", "ToolError", "BadArguments"}
    grown = True
    while grown:
        below = {name for name, above in bases.items() if above & found}
        grown = not below <= found
        found |= below
    return frozenset(found)


def text_of(node: ast.expr) -> str:
    """The text of an expression, with ``VALUE`` for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(text_of, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text_of(left) + text_of(right)
    return VALUE


def messages(files: Sequence[Source]) -> Iterator[Message]:
    """Every error that is made in the package with a text of its own."""
    names = errors(files)
    for source in files:
        for node in source.nodes:
            if not isinstance(node, ast.Call) or not node.args:
                continue
            error = ast.unparse(node.func).rpartition(".")[2]
            text = text_of(node.args[0])
            if error in names and text.replace(VALUE, "").strip():
                yield Message(f"{source.name}:{node.lineno}", error, text)


def faults_of(message: Message) -> list[str]:
    """What is wrong with a message; nothing where it keeps to the rule."""
    text = message.text.strip()
    first = re.split(r"[^A-Za-z_]", text, maxsplit=1)[0]
    found = []
    if first in NO_BEGINNINGS:
        found.append("begins in the middle of a sentence")
    if not text.endswith((".", "?", VALUE)):
        found.append("has no end")
    if COINED.search(text):
        found.append("is not plain English")
    if message.error not in WITHOUT_A_STEP and not has_step(text):
        found.append("does not say what to do next")
    return found


def has_step(text: str) -> bool:
    """Whether a message says what to do next.

    That is a verb in the imperative, a command or option, what is taken instead, or a value at the end.
    """
    is_named = COMMAND.search(text) or TAKEN.search(text)
    if is_named or text.endswith((VALUE, f"{VALUE}.")):
        return True
    beginnings = re.findall(
        rf"(?:^|[.:;,?){VALUE}] |\b(?:or|and|then|so) )(?:[Tt]hen |[Ff]irst )?([A-Za-z]+)",
        text,
    )
    return any(word.lower() in STEPS for word in beginnings)


def faults(files: Sequence[Source]) -> Iterator[str]:
    """Messages that do not keep to the rule."""
    for message in messages(files):
        if message.error not in FRAGMENTS:
            for fault in faults_of(message):
                yield f"{message.place} {fault}: {message.text}"
