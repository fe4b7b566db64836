"""What Claude Code puts back into the context after a compaction, where its log has no lines for it.

Read in the program itself (``@anthropic-ai/claude-code`` 2.1.42, 2.1.49, 2.1.59, 2.1.70, 2.1.87, 2.1.96 and 2.1.112 on
npm). Of the files that it has read or written, it reads again the five that were changed last on disk, and forgets the
others. A file of more than 5,000 tokens comes back as its name alone. The plan and the texts of the skills and commands
that were used follow. Reminders, states of tasks and files that it read by itself come back as well: their size is not
in the log. Its own instruction files are part of every request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import ullage.importers.fields as f
from ullage.importers.fields import JsonObject
from ullage_programs.claude_code.log_attachments import numbered, read_again
from ullage_programs.policy import (
    FILES_KNOWN,
    FILES_PUT_BACK,
    LARGEST_FILE,
    LARGEST_SKILL,
    LARGEST_SKILLS,
    SKILL_FROM,
)

ALWAYS_LOGGED: Final = frozenset(
    {
        "agent_listing_delta",
        "companion_intro",
        "deferred_tools_delta",
        "mcp_instructions_delta",
        "skill_listing",
    }
)
"""Kinds of attachments that 2.1.96 logs. 2.1.87 logs none; 2.1.112 logs all of them."""

INSTRUCTIONS: Final = ("CLAUDE.md", "CLAUDE.local.md")

PLANS: Final = "/.claude/plans/"

PLAIN_SINCE: Final = (2, 1, 87)
"""Before this version a file comes back as one JSON string, and skills of any size come back whole."""


class _KnownFile(NamedTuple):
    content: str
    """Empty where the file is too large to come back."""
    changed: int
    """Larger for a later change; 0 for a file that was only read."""
    is_whole: bool = True


class PutBack:
    """Follows the lines of one log: which files and skills come back with the next compaction."""

    def __init__(self) -> None:
        self.is_logged = False
        """Whether the log has lines for what comes back."""
        self._files: dict[str, _KnownFile] = {}
        """By path, the one that was read last at the end."""
        self._plan = ""
        self._skills: dict[str, None] = {}
        self._changes = 0

    def read_attachment(self, kind: str) -> None:
        """A line for an attachment of this kind."""
        self.is_logged = self.is_logged or kind not in ALWAYS_LOGGED

    def read_skill(self, text: str) -> None:
        """A text that the program put in front of the model."""
        if len(text) >= SKILL_FROM:
            self._skills[text] = None

    def read_result(self, result: JsonObject) -> None:
        """What a tool gave the program: a file that was read, written or edited. All others are passed over."""
        read = f.mapping(result, "file")
        path = f.text(read, "filePath") or f.text(result, "filePath")
        path = path.replace("\\", "/")
        if not path or path.endswith(INSTRUCTIONS):
            return
        if PLANS in path:
            self._plan = path
        known = self._files.pop(path, _KnownFile("", 0, is_whole=False))
        if read:
            self._files[path] = _as_read(known, read)
        else:
            self._changes += 1
            self._files[path] = _KnownFile(
                _bounded(_as_written(known, result)), self._changes
            )
        if len(self._files) > FILES_KNOWN:
            del self._files[next(iter(self._files))]

    def after_compaction(self, version: tuple[int, ...]) -> Iterator[tuple[str, str]]:
        """What comes back now, each with its kind."""
        plan = self._files.get(self._plan)
        if plan is not None and plan.content:
            yield "plan put back", plan.content
        files = [each for each in self._files.items() if PLANS not in each[0]]
        files.reverse()
        files.sort(key=lambda each: -each[1].changed)
        newest = files[:FILES_PUT_BACK]
        self._files = {path: known for path, known in reversed(newest) if known.content}
        if plan is not None:
            self._files[self._plan] = plan
        for path, known in newest:
            if not known.content:
                lines = "(too large to come back)"
            elif version < PLAIN_SINCE:
                lines = f.as_json(numbered(known.content, form="{:6}\u2192{}"))
            else:
                lines = numbered(known.content)
            yield "file put back", read_again(path, lines)
        left = LARGEST_SKILLS
        for text in reversed(self._skills):
            piece = text if version < PLAIN_SINCE else text[: min(LARGEST_SKILL, left)]
            left -= len(piece)
            if piece:
                yield "skill put back", piece


def _as_read(known: _KnownFile, read: JsonObject) -> _KnownFile:
    """The file after it was read, whole or in part. What is known of a part stands for the rest."""
    content = f.text(read, "content")
    shown, total = f.count(read, "numLines") or 1, f.count(read, "totalLines") or 1
    if shown < total and known.is_whole:
        return known
    size = min(len(content) * total // shown, LARGEST_FILE + 1)
    if size > len(content):
        content = (content * (size // len(content) + 1))[:size]
    return _KnownFile(_bounded(content), known.changed, is_whole=shown >= total)


def _as_written(known: _KnownFile, result: JsonObject) -> str:
    """The file's content after it was written or edited."""
    written = f.text(result, "content")
    if written:
        return written
    before = f.text(result, "originalFile") or known.content
    old, new = f.text(result, "oldString"), f.text(result, "newString")
    return before.replace(old, new, 1) if old else before + new


def _bounded(content: str) -> str:
    return content if len(content) <= LARGEST_FILE else ""
