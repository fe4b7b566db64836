"""Shortens large messages to head, tail and a handle to the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from ullage.context.costs import count_images
from ullage.context.policy import CUT_ATTEMPTS, HEAD_SHARE, LEAST_CUT_CHARACTERS
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ResultContent,
    TextPart,
    ToolResultPart,
)

READER: Final = "read_result"
"""The name of the tool that reads a stored text, in bytes of UTF-8; an Agent has it."""


def excerpt(text: str, characters: int, handle: str) -> str:
    """Head and tail of a text with a note in between that says how much is left out and how to read it.

    ``characters`` bounds what is kept of the text itself. With an empty ``handle`` the note names none.
    """
    characters = max(characters, LEAST_CUT_CHARACTERS)
    if len(text) <= characters:
        return text
    head = round(characters * HEAD_SHARE)
    tail = characters - head
    left_out = len(text) - characters
    where = ""
    if handle:
        start = len(text[:head].encode())
        where = (
            f" The whole text is kept: to read on, call {READER} with "
            f'{{"handle": "{handle}", "start": {start}}}.'
        )
    return f"{text[:head]}\n[… {left_out:,} of {len(text):,} characters are left out here.{where} …]\n{text[-tail:]}"


def shortened(
    message: Message,
    most: float,
    cost: Callable[[Message], float],
    *,
    can_read: bool = False,
) -> Message | None:
    """The message with its long texts cut so that it costs at most ``most`` tokens, and a higher revision.

    Only its texts, its results' texts, and its images and files become less; calls and reasoning stay as they are.
    ``None`` where that is not enough. ``cost`` is what a message costs as it stands. If the model ``can_read`` stored
    texts, the note in the place of a text says how.
    """
    now = cost(message)
    if now <= most:
        return message
    characters = (
        max(LEAST_CUT_CHARACTERS, round(_characters(message) * most / now))
        if now > 0
        else LEAST_CUT_CHARACTERS
    )
    media = max(0, round(count_images(message) * most / now))
    for _ in range(CUT_ATTEMPTS):
        cut = _cut(message, characters, media, can_read)
        if cost(cut) <= most:
            return cut
        if characters == LEAST_CUT_CHARACTERS and media == 0:
            return None
        characters, media = max(LEAST_CUT_CHARACTERS, characters * 3 // 4), media * 3 // 4
    cut = _cut(message, LEAST_CUT_CHARACTERS, 0, can_read)
    return cut if cost(cut) <= most else None


def without_media(message: Message) -> Message:
    """The message with a notice in the place of each image and file, and a higher revision; itself if it has none."""
    return with_newest_media(message, 0)


def with_newest_media(message: Message, most: int) -> Message:
    """The message with a notice in the place of all but the newest ``most`` of its images and files."""
    return (
        _cut(message, _characters(message) + LEAST_CUT_CHARACTERS, most)
        if count_images(message) > most
        else message
    )


def _characters(message: Message) -> int:
    return sum(_length(part) for part in message.parts)


def _length(part: Part) -> int:
    match part:
        case TextPart():
            return len(part.text)
        case ToolResultPart():
            return sum(
                len(inner.text) for inner in part.content if isinstance(inner, TextPart)
            )
        case _:
            return 0


def _cut(
    message: Message, characters: int, media: int, can_read: bool = False
) -> Message:
    """Every text takes its share of the characters; of images and files the newest ``media`` stay."""
    whole = max(1, _characters(message))
    spare = count_images(message) - media

    def text(part: TextPart, handle: str) -> TextPart:
        share = round(characters * len(part.text) / whole)
        if len(part.text) <= max(share, LEAST_CUT_CHARACTERS):
            return part
        cut = excerpt(part.text, share, handle if can_read else "")
        return TextPart(id=part.id, text=cut, revision=part.revision + 1)

    def content(inner: ResultContent, handle: str) -> ResultContent:
        nonlocal spare
        if isinstance(inner, TextPart):
            return text(inner, handle)
        if isinstance(inner, ImagePart | FilePart) and spare > 0:
            spare -= 1
            return _notice(inner)
        return inner

    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            new = tuple(content(inner, part.id) for inner in part.content)
            same = all(a is b for a, b in zip(new, part.content, strict=True))
            parts.append(
                part if same else replace(part, content=new, revision=part.revision + 1)
            )
        elif isinstance(part, TextPart | ImagePart | FilePart):
            parts.append(content(part, part.id))
        else:
            parts.append(part)
    return replace(message, parts=tuple(parts), revision=message.revision + 1)


def _notice(part: ImagePart | FilePart) -> TextPart:
    if isinstance(part, ImagePart):
        kind, name = "An image", part.mime
    else:
        kind, name = "A file", part.name or part.mime
    named = f" ({name})" if name else ""
    return TextPart(
        id=part.id, text=f"[{kind}{named} was here; it was removed to make room.]"
    )


def common_cap(sizes: Iterable[float], room: float) -> float:
    """The largest size to cut to so that all together take at most the room."""
    ordered = sorted(sizes)
    for index, size in enumerate(ordered):
        share = room / (len(ordered) - index)
        if size > share:
            return max(0.0, share)
        room -= size
    return ordered[-1] if ordered else 0.0
