"""Grants: calls that a person allowed in advance, by tool or by the first words of a command. Pure.

    grant = Grant(id="g1", tool="shell", prefix=("git", "status"))
    covers(grant, "shell", {"command": "git status --short"})       # True
    covers(grant, "shell", {"command": "git status; rm -rf ."})     # False: two commands

A grant replaces the question for approval; it adds no tool, no directory and no other right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ullage.display.text import printable
from ullage.turns.simple_command import simple_command

SHELL: Final = "shell"
"""The tool whose calls are granted by the first words of their ``command``, and never as a whole."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXACTLY: Final = ""
"""The last word of a prefix that allows nothing after the other words."""

_READERS: Final = _names(
    """
    basename cat cmp comm cut date df diff dirname du echo egrep fgrep file grep head id jq ls md5sum nl pwd readlink
    realpath sha1sum sha256sum stat tail tr true uname wc whoami
    """
)
"""Programs that no option makes run another one, by their manuals. ``sort --compress-program``, ``rg --pre``,
``fd -x`` and ``find -exec`` do; bash evaluates a subscript in ``test -v``."""

_SUBCOMMANDS: Final = {
    "git": _names(
        "add blame branch commit describe diff log ls-files ls-tree rev-parse shortlog show status"
    ),
    "ruff": _names("check format"),
}
"""Subcommands with no option for a program to run, which ``git grep -O``, ``git fetch --upload-pack`` and
``git rebase -x`` have. A repository's own settings name programs too; a sandboxed command can't write them."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of ``tool`` need no further approval; with a ``prefix``, those whose command begins with these words.

    A prefix that ends with ``EXACTLY`` allows one exact command.

    ``declaration`` is the digest of a server tool's declaration: after a change the person is asked again. ``at`` is
    the time of the grant, in seconds since 1970.
    """

    id: str
    tool: str
    prefix: tuple[str, ...] = ()
    declaration: str = ""
    at: float = 0

    def __str__(self) -> str:
        return f"{self.tool}: {prefix_text(self.prefix)}" if self.prefix else self.tool


def covers(
    grant: Grant, name: str, arguments: Mapping[str, Any] | None, declaration: str = ""
) -> bool:
    """Whether the grant allows a call with these parsed arguments; ``None`` stands for unreadable arguments."""
    if grant.tool != name or grant.declaration != declaration or arguments is None:
        return False
    if name != SHELL:
        return not grant.prefix
    command = arguments.get("command")
    words = simple_command(command) if isinstance(command, str) else None
    if words is None or why_no_prefix(grant.prefix):
        return False
    if grant.prefix[-1] == EXACTLY:
        return words == grant.prefix[:-1]
    return words[: len(grant.prefix)] == grant.prefix


def why_no_prefix(prefix: tuple[str, ...]) -> str:
    """Why these words can't be granted as a prefix; empty when they can."""
    if not prefix or not prefix[0]:
        return "A grant for shell needs the first words of a command."
    if prefix[-1] == EXACTLY or _is_known(prefix):
        return ""
    return (
        f"What may follow {' '.join(prefix)} is not known to be harmless: an option may run another program. Grant one "
        "exact command instead."
    )


def _is_known(prefix: tuple[str, ...]) -> bool:
    if len(prefix) > 1 and prefix[1] in _SUBCOMMANDS.get(prefix[0], ()):
        return True
    return prefix[0] in _READERS


def offered_prefix(command: object) -> tuple[str, ...]:
    """The shortest known prefix of a simple command, or else the exact command; empty for any other command."""
    words = simple_command(command) if isinstance(command, str) else None
    if words is None:
        return ()
    lengths = range(1, min(2, len(words)) + 1)
    known = (words[:length] for length in lengths if _is_known(words[:length]))
    return next(known, (*words, EXACTLY))


def prefix_text(prefix: tuple[str, ...]) -> str:
    """What a prefix allows, in words."""
    if prefix[-1] == EXACTLY:
        return f"exactly {' '.join(map(_quoted, prefix[:-1]))}"
    return f"{' '.join(prefix)} …"


def _quoted(word: str) -> str:
    """The word quoted for a shell. A word with both kinds of quotes gets single quotes."""
    if word and not any(character in word for character in " \t;&|<>()`$\"'\\{}*?[]!#~"):
        return word
    return f'"{word}"' if "'" in word else f"'{word}'"


def granted_words(tool: str, prefix: tuple[str, ...]) -> str:
    """What a grant allows, in words for a terminal."""
    return printable(f"{tool}: {prefix_text(prefix)}" if prefix else f"every {tool} call")
