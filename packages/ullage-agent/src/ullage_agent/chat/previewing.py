"""A compaction before it is made, and the price of a drop, as lines."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ullage.context.cache_prices import ChangePrice
from ullage.context.preview import CompactionPreview, PreviewedMessage
from ullage.context.surgery import Surgery
from ullage.display.text import (
    Line,
    Span,
    counted,
    dollars,
    number,
    padded,
    printable,
    shortened,
    wrapped,
)
from ullage.errors import InputError
from ullage.store.private_file import read_file, write_bytes
from ullage_agent.chat.choices import Choice
from ullage_agent.runtime.policy import LOST_SHOWN

EDITOR: Final = "vi"
MUST_STAY: Final = " must stay"
"""Between the id and the reason in what is said of a part that must stay; its row says the rest."""


def preview_lines(
    preview: CompactionPreview, width: int, summary: str | None = None
) -> Iterator[Line]:
    """What a compaction would do. ``summary`` is the edited one."""
    leaving = counted(len(preview.leaves), "message")
    sizes = f"{number(preview.before)} → {number(preview.after)} tokens"
    yield (Span(f"{sizes}: {number(preview.freed)} freed", "strong"),)
    yield from _price(preview)
    spent = f"This preview has cost {number(preview.spent)} tokens"
    if preview.spent_usd is not None:
        spent += f", {dollars(preview.spent_usd)}"
    yield (Span(f"{spent}.", "dim"),)
    yield ()
    yield from _lost(preview, width)
    text = preview.summary if summary is None else summary
    if text:
        edited = " (edited)" if summary is not None else ""
        yield (
            Span(f"In the place of {leaving}{edited}", "title"),
            Span("  and what code copies of them", "dim"),
        )
        for line in text.splitlines():
            for row in wrapped(printable(line), width - 2) or [""]:
                yield (Span(f"  {row}"),)
        yield ()
    yield from _messages("Leaves", preview.leaves, width)
    yield from _messages("Stays", preview.stays, width)


def _lost(preview: CompactionPreview, width: int) -> Iterator[Line]:
    if not preview.lost:
        yield (Span("No path, address, id or long number is lost.", "title"),)
        yield ()
        return
    what = counted(len(preview.lost), "value")
    about = "  (paths, addresses, ids, long numbers)"
    yield (Span(f"Lost: {what}", "warn"), Span(about, "dim"))
    names = [printable(each.value) for each in preview.lost[:LOST_SHOWN]]
    if len(preview.lost) > LOST_SHOWN:
        names.append(f"and {number(len(preview.lost) - LOST_SHOWN)} more")
    for row in wrapped("  ".join(names), width - 2):
        yield (Span(f"  {row}"),)
    yield ()


def _messages(
    title: str, messages: Sequence[PreviewedMessage], width: int
) -> Iterator[Line]:
    tokens = sum(message.tokens for message in messages)
    yield (
        Span(f"{title}: {counted(len(messages), 'message')}", "title"),
        Span(f"  {number(tokens)} tokens", "dim"),
    )
    for message in messages:
        head = f"{padded(number(message.tokens), 9, right=True)}  "
        why = f"  {message.why}" if message.why else ""
        room = max(10, width - len(head) - len(why))
        line = shortened(printable(message.line), room)
        yield (Span(head, "dim"), Span(line), Span(why, "mark"))
    yield ()


def _price(change: ChangePrice) -> Iterator[Line]:
    """``7,489 tokens of cache written again, $0.026; each later call saves $0.0009``."""
    price = "no cache is lost"
    if change.cache_lost:
        price = f"{number(change.cache_lost)} tokens of cache written again"
        if change.usd is not None:
            price += f", {dollars(change.usd)}"
    if change.saves_usd:
        price += f"; each later call saves {dollars(change.saves_usd)}"
    yield (Span(price),)
    if change.reasoning_lost:
        lost = f"{number(change.reasoning_lost)} tokens of reasoning are lost"
        yield (Span(lost, "warn"),)


def surgery_lines(surgery: Surgery) -> Iterator[Line]:
    """What a drop does, or why it can't be done."""
    if surgery.refused:
        yield (Span(printable(surgery.refused), "warn"),)
        return
    sizes = f"{number(surgery.before)} → {number(surgery.after)}"
    where = counted(len(surgery.messages), "message")
    yield (
        Span(f"{number(surgery.freed)} tokens freed", "strong"),
        Span(f"  {sizes}; {where} left out or shortened", "dim"),
    )
    yield from _price(surgery)


def drop_choices(
    found: Sequence[Surgery], width: int, *, has_places: bool = False
) -> list[Choice]:
    """The largest parts, each with what dropping it frees and costs; those that must stay can't be chosen.

    ``has_places``: with the places that ``/drop`` takes, for a list from which nothing can be chosen.
    """
    head = _drop_row("freed", "cache again", "once")
    choices = [Choice((Span(head, "dim"),))]
    for surgery in found:
        place = surgery.places[0]
        what = printable(surgery.label)
        if surgery.refused:
            row, target = f"{padded('stays', 9, right=True)}  ", ""
            _, stays, why = surgery.refused.rpartition(MUST_STAY)
            if stays:
                why = why.partition(": ")[2]
            what = f"{printable(why.rstrip('.'))} · {what}"
        else:
            usd = "" if surgery.usd is None else dollars(surgery.usd)
            row = _drop_row(number(surgery.freed), number(surgery.cache_lost), usd)
            target = place
        if len(surgery.messages) > 1:
            what = f"{counted(len(surgery.messages), 'message')}: {what}"
        name = f"  {printable(target)}" if has_places and target else ""
        room = max(10, width - len(row) - len(name))
        line = (Span(row), Span(shortened(what, room), "dim"), Span(name))
        choices.append(Choice(line, target))
    return choices


def _drop_row(freed: str, again: str, usd: str) -> str:
    return f"{padded(freed, 9, right=True)}{padded(again, 13, right=True)}{padded(usd, 10, right=True)}  "


async def edited(text: str, environment: Mapping[str, str]) -> str:
    """The text as the person's editor leaves it. Raises ``InputError`` where none can be started, or it fails.

    A cancel ends the editor.
    """
    command = environment.get("VISUAL") or environment.get("EDITOR") or EDITOR
    with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
        path = Path(folder) / "summary.md"
        write_bytes(path, text.encode(), "the summary")
        try:
            process = await asyncio.create_subprocess_exec(
                *shlex.split(command), str(path)
            )
            try:
                code = await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
            if code:
                raise InputError(
                    f"The editor {printable(command)} ended with {code}, and the summary is as it was. Try again, or "
                    "set another EDITOR."
                )
            return read_file(path).decode("utf-8", "replace").rstrip("\n")
        except (OSError, ValueError) as problem:
            raise InputError(
                f"The editor {printable(command)} can't be started: {problem}. Set EDITOR to one that is here."
            ) from problem
