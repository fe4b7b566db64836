"""One change of a text: a piece of it is replaced by another. Pure."""

from __future__ import annotations

from typing import NamedTuple


class CannotEdit(Exception):
    """A file whose content we can't change safely. The message says why and what to do."""


class Splice(NamedTuple):
    """``before`` at ``at`` becomes ``after``."""

    at: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        return text[: self.at] + self.after + text[self.at + len(self.before) :]


def taken_back(text: str, before: str, after: str) -> str | None:
    """The text with a change taken back; ``None`` when the changed piece is not there exactly once."""
    if not after or text.count(after) != 1:
        return None
    return text.replace(after, before)


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
