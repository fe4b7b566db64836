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


SILENT: Final = frozenset(
    {
        "ullage/context/prompt.py",
        "ullage/context/summary_message.py",
        "ullage_agent/cli/demo_script.py",
        "ullage_agent/cli/simulated.py",
        "ullage_server/openapi.py",
    }
)
"""Files whose sentences are for models, or describe options and paths."""

OF_OTHERS: Final = ("/marks.py", "/reminders.py", "/reports.py", "/policy.py")
"""Files with texts of other programs, and notes on where a rule is from."""

HELP: Final = frozenset(
    {"help", "description", "epilog", "usage", "response_description"}
)
"""Arguments whose text describes an option or a command."""

LABEL: Final = re.compile(rf"^[A-Za-z`'{VALUE}][^\n]*\w\w[^\n]*: .*{VALUE}\.?$")
"""Names what happened, and a value says why: ``compaction failed: …``."""

ERROR: Final = re.compile(r"(Error|Misfit|\.error|LogFormat)$")
"""What takes the text of an error that is not one of Ullage's own."""

OTHER: Final = re.compile(
    r"##|; \}|\\|>&|\)\?|^[;(]|License|(set|where|and) \S+ = \?|^create |^select "
)
"""In prompts, styles, patterns, scripts, licences and queries."""

FORMAT: Final = re.compile(r"%[sdr]|\{[a-z_]*:?[,\w.]*\}")
"""Where a value is filled in later."""

IN_SCRIPTS: Final = re.compile(r'"([A-Z][^"\n]{12,}[.?])"|`([A-Z][^`\n]{12,}[.?}])`')
"""A sentence in a file of JavaScript."""


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


def sentences(files: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """Every sentence that a program may print, with its file: errors are often put together from several."""
    for source in files:
        if source.name in SILENT or source.name.endswith(OF_OTHERS):
            continue
        inner: set[ast.AST] = set()
        raised: set[ast.AST] = set()
        for node in source.nodes:
            if isinstance(node, ast.Call) and ERROR.search(ast.unparse(node.func)):
                raised.update(node.args)
            if isinstance(node, ast.Expr):
                inner.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg in HELP:
                inner.update(ast.walk(node.value))
            elif isinstance(node, ast.JoinedStr | ast.BinOp):
                inner.update(each for each in ast.walk(node) if each is not node)
        for node in source.nodes:
            if node in inner or not isinstance(node, ast.expr):
                continue
            text = FORMAT.sub(VALUE, " ".join(text_of(node).split()))
            if is_sentence(text) or (node in raised and " " in text.strip(VALUE)):
                yield source.name, text


def is_sentence(text: str) -> bool:
    """Whether a text has the form of a message: words with a beginning and an end."""
    words = re.findall(r"[A-Za-z']{2,}", text)
    if OTHER.search(text) or len(words) < 2:
        return False
    if LABEL.search(text):
        return True
    has_beginning = re.match(rf"[A-Z`'{VALUE}]", text) is not None
    has_end = text.endswith((".", "?", VALUE))
    return has_end and len(words) > 3 - has_beginning


def script_sentences(text: str) -> Iterator[str]:
    """The sentences in a file of JavaScript, such as the page's."""
    for found in IN_SCRIPTS.finditer(text):
        yield re.sub(r"\$\{[^}]*\}", VALUE, found[1] or found[2])


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
