"""Tells the model of a changed system prompt by a message, where another prompt would cost reasoning bound to it.

The page on changed instructions advises it:
https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/change-tools-or-instructions. What an earlier
message told still counts against a new prompt; so while one is in view, the next change is told by a message as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ullage.codec.wires import target_of
from ullage.events import Event, MessageAdded, SystemChanged
from ullage.messages import Message, Request, SystemBlock, TextPart
from ullage.meter.fold import Fold

REPLACED: Final = (
    "These instructions apply from here on, in place of any earlier ones called {}:\n\n{}"
)
REMOVED: Final = "The earlier instructions called {} do not apply any more."
PROMPT: Final = "system prompt"
"""How the prompt is called that has no name."""


def has_to_change(fold: Fold, system: tuple[SystemBlock, ...]) -> bool:
    """Whether the model has not been told this system prompt, or what told it has left the view."""
    return system != fold.in_force or fold.told != fold.notes


def changed_system(fold: Fold, system: tuple[SystemBlock, ...]) -> list[Event]:
    """The events that put this system prompt in force: another prompt, or a message at the end of the conversation."""
    changed = SystemChanged(system=system)
    is_costly = fold.holds_bound and _takes_notes(fold)
    if not fold.told and not is_costly:
        return [changed]
    texts = _texts(fold, system)
    if not texts:
        return [changed]
    note = f"system-{fold.seq + 1}"
    parts: list[TextPart] = []
    for name, text in texts.items():
        part = f"{note}.{len(parts)}"
        parts.append(TextPart(id=part, text=text, name=name))
    message = Message(
        id=note,
        role="system",
        origin="injected",
        parts=tuple(parts),
    )
    return [
        MessageAdded(message=message),
        SystemChanged(system=system, note=note),
    ]


def is_told(events: Iterable[Event]) -> bool:
    """Whether ``changed_system`` tells the change by a message."""
    return any(isinstance(event, MessageAdded) for event in events)


def may_follow(fold: Fold) -> bool:
    """Whether a system message may stand at the end of the conversation now: behind a user's, or behind results."""
    last = fold.view.last
    if last is None or fold.open_calls:
        return False
    return last.role != "assistant"


def _takes_notes(fold: Fold) -> bool:
    request = Request(
        wire=fold.wire,
        model=fold.model,
        provider=fold.provider,
    )
    return target_of(request).system_messages


def _texts(fold: Fold, system: Iterable[SystemBlock]) -> dict[str, str]:
    """What is to be told, by the name of the instructions. With a message lost, all that any other one has told."""
    now = _by_name(system)
    before = _by_name(fold.in_force)
    told_again: list[str] = []
    if fold.told != fold.notes:
        before = _by_name(fold.system or ())
        for note in fold.told:
            entry = fold.view.entries[note]
            told_again += [part.name for part in entry.cost.parts]
    texts: dict[str, str] = {}
    for name in (*now, *before, *told_again):
        text = now.get(name)
        is_same = text == before.get(name)
        if is_same and name not in told_again:
            continue
        if text is None:
            texts[name] = REMOVED.format(name)
        else:
            texts[name] = REPLACED.format(name, text)
    return texts


def _by_name(system: Iterable[SystemBlock]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for block in system:
        name = block.name
        if not name:
            name = PROMPT if block.kind == "prompt" else block.kind
        if name in texts:
            texts[name] += f"\n\n{block.text}"
        else:
            texts[name] = block.text
    return texts
