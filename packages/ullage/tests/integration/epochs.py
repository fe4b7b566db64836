"""Whether a request goes on where the one before it ended, or rewrites what was sent.

Within an epoch each request's blocks (system, tools, messages, as they stand on the wire) begin with those of the one
before. Then the provider's cache of the prefix holds, and so does reasoning that is bound to an unchanged prefix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from ullage.reasoning import family_of

Section = Literal["system", "tools", "messages", "model"]

CACHE_MARKS: Final = frozenset(
    {"cache_control", "cachePoint", "prompt_cache_key", "prompt_cache_breakpoint"}
)
"""Fields that mark where to cache and say nothing to the model
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Their place moves from request to request."""

_SECTIONS: Final[Mapping[str, tuple[tuple[Section, tuple[str, ...]], ...]]] = {
    "messages": (
        ("tools", ("tools",)),
        ("system", ("system",)),
        ("messages", ("messages",)),
    ),
    "chat": (("tools", ("tools", "functions")), ("messages", ("messages",))),
    "responses": (
        ("tools", ("tools",)),
        ("system", ("instructions",)),
        ("messages", ("input",)),
    ),
    "generateContent": (
        ("tools", ("tools",)),
        ("system", ("systemInstruction", "system_instruction")),
        ("messages", ("contents",)),
    ),
}
"""Per wire the parts of a body that the model reads, in the order a provider's cache sees them."""


_ORDER: Final[Mapping[Section, int]] = {
    "model": 0,
    "tools": 1,
    "system": 2,
    "messages": 3,
}
_SYSTEM_ROLES: Final = ("system", "developer")


class Block(NamedTuple):
    """One block as it stands on the wire; ``place`` is its number within its section, counted from 0."""

    section: Section
    place: int
    content: object


class EpochChange(NamedTuple):
    """Where a request departs from the one before it.

    ``reason`` is the section that changed first, ``at`` the place of that block within it; ``at`` is the length of the
    shorter list where blocks are only missing. ``kept`` is how many blocks, of all sections, still stand as they were.
    ``invalidates_reasoning`` says that reasoning sent after the change is bound to a prefix that is gone: it has to be
    left out. ``rewritten`` is for the tokens this costs, which nothing here can know.
    """

    reason: Section
    at: int
    kept: int
    invalidates_reasoning: bool
    rewritten: int | None = None


def blocks_of(wire: str, body: Mapping[str, Any]) -> list[Block]:
    """The blocks of an encoded request: content without cache marks, parameters left out."""
    made: list[Block] = []
    for section, names in _SECTIONS.get(wire, _SECTIONS["chat"]):
        for name in names:
            value = body.get(name)
            if value is None:
                continue
            listed = value if isinstance(value, list | tuple) else [value]
            made += _head_apart(section, [without_marks(one) for one in listed])
    return made


def _head_apart(section: Section, listed: list[Any]) -> list[Block]:
    """The blocks of one section; system messages that stand before all others are the system prompt."""
    head = 0
    if section == "messages":
        while (
            head < len(listed)
            and isinstance(listed[head], dict)
            and listed[head].get("role") in _SYSTEM_ROLES
        ):
            head += 1
    made = [Block("system", place, one) for place, one in enumerate(listed[:head])]
    return made + [Block(section, place, one) for place, one in enumerate(listed[head:])]


def without_marks(value: Any) -> Any:
    """A block as the model reads it."""
    if isinstance(value, Mapping):
        return {
            key: without_marks(item)
            for key, item in value.items()
            if key not in CACHE_MARKS
        }
    if isinstance(value, list | tuple):
        return [without_marks(item) for item in value]
    return value


def compare(
    wire: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    model: str = "",
    earlier_model: str = "",
) -> EpochChange | None:
    """``None`` when the later body extends the earlier one; otherwise where it departs. Both are parsed bodies.

    A message may grow at its end: a wire that joins two messages of one speaker sends the second as more blocks of the
    first.
    """
    if earlier_model and model and earlier_model != model:
        return EpochChange("model", 0, 0, False)
    return compare_blocks(
        blocks_of(wire, before), blocks_of(wire, after), is_bound=is_bound(wire, model)
    )


def compare_blocks(
    before: Sequence[Block], after: Sequence[Block], *, is_bound: bool = True
) -> EpochChange | None:
    """The same for blocks that were made before."""
    same = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        same += 1
    old = before[same] if same < len(before) else None
    new = after[same] if same < len(after) else None
    if old is None and (new is None or new.section == "messages"):
        return None
    is_last = same == len(before) - 1 and old is not None and old.section == "messages"
    if (
        is_last
        and old is not None
        and new is not None
        and grows(old.content, new.content)
    ):
        return None
    changed = min(
        (one for one in (old, new) if one is not None),
        key=lambda one: _ORDER[one.section],
    )
    return EpochChange(changed.section, changed.place, same, is_bound)


def grows(old: object, new: object) -> bool:
    """Whether a message is the old one with more blocks at its end."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return False
    for key in ("content", "parts"):
        held, now = old.get(key), new.get(key)
        if isinstance(held, list) and isinstance(now, list):
            same_rest = {k: v for k, v in old.items() if k != key} == {
                k: v for k, v in new.items() if k != key
            }
            return same_rest and len(now) > len(held) and now[: len(held)] == held
    return False


def is_bound(wire: str, model: str) -> bool:
    """Whether the model's reasoning is tied to the prefix it was made behind.

    Claude checks it from Fable 5.1 on, by account and model
    (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking); OpenAI drops encrypted items behind a
    shortened history.
    """
    return (
        wire in ("messages", "converse") and family_of(model) in ("claude", "")
    ) or wire == "responses"
