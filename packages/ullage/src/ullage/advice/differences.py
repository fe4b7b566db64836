"""The first thing in which one request differs from an earlier one, by name, in the order that providers cache in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Literal

from ullage.advice.cause import Cause, CauseKind
from ullage.advice.policy import AROUND, FEWEST_COMPACTED, NAMED_TOOLS
from ullage.events import SentItem, SentKind
from ullage.meter.sent_items import common_items

Texts = Callable[[SentItem], str]
"""The text of a tool, a block or a setting; empty where it is not known or is not to be shown."""

LOOKBACK: Final = 20
"""Blocks in front of a mark among which Anthropic looks for an older entry
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching)."""

_LOOKS: Final = (
    ("a date or time", re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")),
    ("an id", re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}|\b[0-9a-f]{8,}\b")),
    ("a version or number", re.compile(r"\d")),
)  # fmt: skip

_HeadKind = Literal["model", "beta", "tool", "system", "setting"]

_HEADS: Final[tuple[_HeadKind, ...]] = ("model", "beta", "tool", "system", "setting")
"""What is in front of the messages, in the order of the provider."""


def of_kind(items: Sequence[SentItem], kind: SentKind) -> list[SentItem]:
    """The items of this kind, in order."""
    return [item for item in items if item.kind == kind]


def first_difference(
    before: Sequence[SentItem],
    now: Sequence[SentItem],
    was: Texts,
    is_now: Texts,
) -> Cause | None:
    """The first difference; ``None`` where the request extends the earlier one. Cache marks are no difference here.

    Args:
        before: The items of the earlier request.
        now: Those of the later one.
        was: The texts of the earlier request.
        is_now: Those of the later one.
    """
    known = {item.digest for item in before}
    for kind in _HEADS:
        old, new = of_kind(before, kind), of_kind(now, kind)
        same = common_items(old, new)
        is_longer = same == len(old)
        if is_longer and all(item.digest in known for item in new[same:]):
            continue  # equal, or what was in front of messages of the system has left
        return _head(kind, old, new, was, is_now)
    old, new = of_kind(before, "message"), of_kind(now, "message")
    same = common_items(old, new)
    return None if same == len(old) else _message(old, new, same)


def _head(
    kind: _HeadKind, old: list[SentItem], new: list[SentItem], was: Texts, is_now: Texts
) -> Cause:
    """What became of the tools, blocks or settings, by their names."""
    known = {item.name: item for item in old}
    sent = {item.name: item for item in new}
    gone = [name for name in known if name not in sent]
    come = [name for name in sent if name not in known]
    changed = [
        name for name, item in sent.items() if known.get(name, item).digest != item.digest
    ]
    if kind == "system" and (gone or come):  # blocks are named by their places
        place = changed[:1]
        gone, come, changed = gone and (place or gone), come and (place or come), []
    first = (gone or come or changed or [new[common_items(old, new) - len(new)].name])[0]
    told: list[str] = []
    quote = ""
    for names, what in ((gone, "removed"), (come, "added"), (changed, "changed")):
        if names:
            told.append(f"{_listed(kind, names)} {what}")
    if kind == "model":
        told = [f"{_listed(kind, gone)} became {_listed(kind, come)}"]
    if first in changed:
        where, quote = _text_change(was(known[first]), is_now(sent[first]))
        told[-1] += where
    words = " and ".join(told) or f"the {kind}s are in another order from `{first}` on"
    return Cause(
        kind=_kind_of(kind, first, gone, come, changed),
        name=first,
        words=words,
        quote=quote,
    )


def _kind_of(
    kind: _HeadKind, first: str, gone: list[str], come: list[str], changed: list[str]
) -> CauseKind:
    if kind == "tool":
        if gone and come:
            return "tools_replaced"
        if gone or come:
            return "tool_removed" if gone else "tool_added"
        return "tool_changed" if changed else "tools_reordered"
    if first == "prompt_cache_key":
        return "cache_key"
    return kind


def _listed(kind: _HeadKind, names: list[str]) -> str:
    if kind == "system":
        return names[0]
    listed = ", ".join(f"`{name}`" for name in names[:NAMED_TOOLS])
    more = len(names) - NAMED_TOOLS
    return f"{kind} {listed}" + (f" and {more} more" if more > 0 else "")


def _message(old: list[SentItem], new: list[SentItem], same: int) -> Cause:
    """What became of the messages behind the ``same`` first items, which are equal."""
    gone, come = _replaced(old[same:], new[same:])
    first, stays = old[same].name, gone < len(old) - same
    kind: CauseKind = "message_edited"
    words = f"{first} changed"
    if not (come or stays):
        kind, words = "rewind", f"the history ends before {first}"
    elif not come:
        kind, words = "messages_removed", f"{_pieces(gone)} from {first} on left"
    elif not gone:
        first = new[same].name
        kind, words = "message_inserted", f"{_pieces(come)} came: {first}"
    elif gone >= FEWEST_COMPACTED and come <= gone // 2 and (stays or same < gone):
        kind, words = "compaction", f"{_pieces(gone)} from {first} on became {come}"
    return Cause(kind=kind, name=first, words=words)


def _replaced(old: list[SentItem], new: list[SentItem]) -> tuple[int, int]:
    """How many items at the beginning left, and how many came for them.

    What stayed is told by the largest item that is in both once, if there is any, and by those in front of it: short
    texts come again and again.
    """
    counts = Counter(item.digest for item in (*old, *new))
    places = {item.digest: -place for place, item in reversed([*enumerate(new)])}
    best: tuple[bool, int, int, int] | None = None
    for place, item in enumerate(old):
        if item.digest in places:
            is_once = counts[item.digest] == 2
            found = (is_once, item.size, -place, places[item.digest])
            best = max(best or found, found)
    if best is None:
        return len(old), len(new)
    gone, come = -best[2], -best[3]
    while gone and come and old[gone - 1].digest == new[come - 1].digest:
        gone, come = gone - 1, come - 1
    return gone, come


def _pieces(count: int) -> str:
    return "1 piece" if count == 1 else f"{count} pieces"


def _text_change(before: str, now: str) -> tuple[str, str]:
    """Where two texts differ first, in words, and what stands there; nothing where they are not known."""
    if not before or not now or before == now:
        return "", ""
    at = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        at += 1
    start = max(0, at - AROUND // 3)
    old, new = before[start : at + AROUND], now[start : at + AROUND]
    looks = ""
    if at < min(len(before), len(now)):
        for words, form in _LOOKS:
            if form.search(old) and form.search(new):
                looks = f" ({words})"
                break
    size = len(now[:at].encode("utf-8", "surrogatepass"))
    return f" at byte {size:,}{looks}", f"{old!r} became {new!r}"


def mark_difference(before: Sequence[SentItem], now: Sequence[SentItem]) -> Cause | None:
    """Why a request that extends the earlier one does not find its entry; ``None`` where the marks don't tell.

    The provider looks back from each mark for an entry that an earlier mark has written.
    """
    written = [place for place, item in enumerate(before) if item.mark]
    if not written:
        return None
    last = written[-1]
    name = before[last].name
    later = [
        place - last for place, item in enumerate(now) if item.mark and place >= last
    ]
    lives = [
        sorted({item.mark for item in items if item.mark}) for items in (before, now)
    ]
    kind: CauseKind = "marks"
    if lives[1] and lives[0] != lives[1]:
        old, new = map(" and ".join, lives)
        words = f"the cache marks changed from {old} to {new}"
    elif not later:
        words = f"the cache mark behind {name} is gone"
    elif later[0] > LOOKBACK:
        kind = "lookback"
        words = (
            f"the next cache mark is {later[0]} blocks behind the last one; "
            f"the provider looks back {LOOKBACK}"
        )
    else:
        return None
    return Cause(kind=kind, name=name, words=words)
