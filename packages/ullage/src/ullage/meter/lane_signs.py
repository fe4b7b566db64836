"""Signs that a request belongs to a conversation although it does not continue it: short texts, and digests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from ullage.codec.body_pieces import BodyPiece
from ullage.meter.policy import LONGEST_SIGN, SHORTEST_SIGN

_TAGS_AND_LINES: Final = re.compile(r"<[^<>]{1,40}>|\n")

_SPACE: Final = re.compile(r"\s+")


class LaneMark(NamedTuple):
    """A request as a place in its lane: how many pieces it had, and a digest over them in order.

    ``head`` and ``tools`` name the system prompt's beginning and the tools; ``agent`` is the client's id of a subagent.
    """

    length: int
    digest: str
    head: str = ""
    tools: str = ""
    agent: str = ""

    @property
    def text(self) -> str:
        """As it is stored: no content."""
        return f"{self.length}.{self.digest}.{self.head}.{self.tools}.{self.agent}"


def read_mark(text: str) -> LaneMark | None:
    """A stored mark; ``None`` for anything else."""
    fields = text.split(".", 4)
    if len(fields) != 5 or len(text) > 400:
        return None
    length, *names = fields
    if not length.isdecimal():
        return None
    return LaneMark(int(length[:9]), *names)


def short_digest(*texts: str) -> str:
    """Eight hexadecimal characters."""
    data = "\0".join(texts).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=4).hexdigest()


def rolled(digests: Iterable[str], before: str = "") -> list[str]:
    """For each place the digest of all up to there. A longer history has those of the shorter one.

    ``before`` is that of what is in front of them.
    """
    found: list[str] = []
    for digest in digests:
        data = before + digest
        before = blake2b(data.encode(), digest_size=8).hexdigest()
        found.append(before)
    return found


def sign_of(text: str) -> str:
    """The beginning of the longest line of an answer, by which it is found inside another text; or empty."""
    longest = ""
    for each in _TAGS_AND_LINES.split(text[:20_000]):
        line = each.strip()
        if len(line) > len(longest):
            longest = line
    if len(longest) < SHORTEST_SIGN:
        return ""
    return longest[:LONGEST_SIGN]


def tasks_in(pieces: Sequence[BodyPiece]) -> Iterator[str]:
    """Texts among the arguments of calls that a subagent may have been started with: those of more than one word."""
    for piece in pieces:
        if piece.speaker != "call":
            continue
        try:
            written = piece.text.partition(" ")[2]
            arguments = json.loads(written)
        except (ValueError, RecursionError):
            continue
        for text in _strings(arguments):
            start = text[: 2 * LONGEST_SIGN]
            task = one_spaced(start).strip()
            if len(task) >= SHORTEST_SIGN and " " in task:
                yield task[:LONGEST_SIGN]


def one_spaced(text: str) -> str:
    """The text with each run of white space as one space."""
    return _SPACE.sub(" ", text)


def _strings(
    value: object,
    depth: int = 0,
) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and depth < 4:
        for each in value.values():
            yield from _strings(each, depth + 1)
    elif isinstance(value, list) and depth < 4:
        for each in value:
            yield from _strings(each, depth + 1)


def is_tail_kept(
    pieces: Sequence[BodyPiece],
    digests: Sequence[str],
    held: set[str],
) -> bool:
    """Whether most of what a request has behind its first message was in the lane before.

    Short texts count for nothing: many conversations have them.
    """
    same = other = 0
    for piece, digest in zip(pieces[1:], digests[1:], strict=True):
        if len(piece.text) < SHORTEST_SIGN:
            continue
        if digest in held:
            same += 1
        else:
            other += 1
    return same >= 2 and same >= 2 * other
