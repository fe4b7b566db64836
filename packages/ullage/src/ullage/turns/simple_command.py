"""Whether a shell command is one simple command, and its words. Pure.

A grant may allow a command that begins with certain words, so a false positive here runs an unseen command. The parser
accepts only a harmless part of the POSIX grammar (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html):
words of harmless characters, and quotes around text without ``$``, a backquote, a backslash or ``!``. Everything else
is no simple command, and a person is asked: lists, pipes, redirections, substitutions, expansions, globs, escapes,
assignments, comments and reserved words.
"""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = r"[A-Za-z0-9_./:@%+,^=-]|(?<=[A-Za-z0-9_^])~"
"""Characters without a meaning for the shell. ``~`` only inside of a word such as ``HEAD~1``, where it is no home."""

_WORD: Final = re.compile(rf"""(?:{_PLAIN}|'[^']*'|"[^"$`\\!]*")+""")
_BLANK: Final = re.compile(r"[ \t]+")
_QUOTES: Final = re.compile("'([^']*)'|\"([^\"]*)\"")

_RESERVED: Final = re.compile(
    "case|coproc|do|done|elif|else|esac|fi|for|function|if|in|select|then|time|until|while"
)


def simple_command(text: str) -> tuple[str, ...] | None:
    """The words of the one simple command that ``text`` is, quotes removed; ``None`` for anything else."""
    text = text.strip(" \t\n")
    if not text.isprintable() and not _has_only_tabs(text):
        return None
    words: list[str] = []
    at = 0
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            return None
        words.append(found.group())
        at = found.end()
        blank = _BLANK.match(text, at)
        if blank is None and at < len(text):
            return None
        at = blank.end() if blank else at
    if not words or "=" in words[0] or _RESERVED.fullmatch(words[0]):
        return None
    return tuple(map(_unquoted, words))


def _has_only_tabs(text: str) -> bool:
    return text.replace("\t", " ").isprintable()


def _unquoted(word: str) -> str:
    return _QUOTES.sub(lambda found: found.group(1) or found.group(2) or "", word)
