"""The first thing in which one request differs from an earlier one, by name, in the order that providers cache in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from ullage.advice.policy import AROUND, FEWEST_COMPACTED
from ullage.events import SentItem
from ullage.meter.sent_items import common_items

DifferenceKind = Literal[
    "model", "tool_added", "tool_removed", "tools_replaced", "tool_changed", "tools_reordered", "system", "setting",
    "cache_key", "beta", "message_edited", "message_inserted", "messages_removed", "compaction", "rewind", "marks",
    "lookback",
]  # fmt: skip

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


class Difference(NamedTuple):
    """``name`` is the tool, block, setting or message; ``quote`` has content of it.

    ``place`` is how many bytes of the request are in front of it. With it, what follows is not read from the cache.
    """

    kind: DifferenceKind
    name: str
    words: str
    place: int
    quote: str = ""


def of_kind(items: Sequence[SentItem], *kinds: str) -> list[SentItem]:
    """The items of these kinds, in order."""
    return [item for item in items if item.kind in kinds]


def first_difference(
    before: Sequence[SentItem],
    now: Sequence[SentItem],
    was: Texts,
    is_now: Texts,
) -> Difference | None:
    """The first difference; ``None`` where the request extends the earlier one. Cache marks are no difference here.

    Args:
        before: The items of the earlier request.
        now: Those of the later one.
        was: The texts of the earlier request.
        is_now: Those of the later one.
    """
    same = common_items(before, now)
    if same == len(before):
        return None
    place = sum(item.size for item in now[:same])
    for kind, told in _HEADS:
        old, new = of_kind(before, kind), of_kind(now, kind)
        if [item.digest for item in old] != [item.digest for item in new]:
            if kind == "system" and _has_moved_up(before, old, new):
                continue
            found = told(old, new, was, is_now)
            return found._replace(place=place)
    old, new = of_kind(before, "message"), of_kind(now, "message")
    return _messages(old, new, common_items(old, new))._replace(place=place)


_Told = Callable[[list[SentItem], list[SentItem], Texts, Texts], Difference]


def _models(old: list[SentItem], new: list[SentItem], _: Texts, __: Texts) -> Difference:
    was, now = old[0].name if old else "?", new[0].name if new else "?"
    return Difference("model", now, f"the model {was} became {now}", 0)


def _betas(old: list[SentItem], new: list[SentItem], _: Texts, __: Texts) -> Difference:
    names = sorted({item.name for item in old} ^ {item.name for item in new})
    listed = ", ".join(names)
    return Difference("beta", listed, f"the beta headers differ: {listed}", 0)


def _tools(
    old: list[SentItem], new: list[SentItem], was: Texts, is_now: Texts
) -> Difference:
    known, declared = {item.name for item in old}, {item.name for item in new}
    come = [item.name for item in new if item.name not in known]
    gone = [item.name for item in old if item.name not in declared]
    if come and gone:
        words = f"{_tool_names(gone)} left and {_tool_names(come)} came"
        return Difference("tools_replaced", gone[0], words, 0)
    if come:
        return Difference("tool_added", come[0], f"{_tool_names(come)} came", 0)
    if gone:
        return Difference("tool_removed", gone[0], f"{_tool_names(gone)} left", 0)
    earlier = {item.digest for item in old}
    changed = [item for item in new if item.digest not in earlier]
    if changed:
        first = changed[0]
        same_name = next(item for item in old if item.name == first.name)
        words, quote = _text_change(was(same_name), is_now(first))
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        return Difference(
            "tool_changed",
            first.name,
            f"tool `{first.name}` changed{words}{more}",
            0,
            quote,
        )
    name = new[min(common_items(old, new), len(new) - 1)].name
    return Difference(
        "tools_reordered", name, f"the tools are in another order from `{name}` on", 0
    )


def _tool_names(names: list[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names[:3])
    if len(names) > 3:
        listed += f" and {len(names) - 3} more"
    return f"tool {listed}" if len(names) == 1 else f"tools {listed}"


def _system(
    old: list[SentItem], new: list[SentItem], was: Texts, is_now: Texts
) -> Difference:
    same = common_items(old, new)
    if same == len(old):
        return Difference(
            "system", new[same].name, "the system prompt got another block", 0
        )
    name = old[same].name
    if same == len(new) or old[same].digest in {item.digest for item in new[same:]}:
        if same < len(new):
            return Difference("system", name, f"a block came in front of {name}", 0)
        return Difference("system", name, f"{name} left", 0)
    if new[same].digest in {item.digest for item in old[same:]}:
        return Difference("system", name, f"{name} left", 0)
    words, quote = _text_change(was(old[same]), is_now(new[same]))
    if len(new) == 1:
        name = "the system prompt"
    return Difference("system", old[same].name, f"{name} changed{words}", 0, quote)


def _settings(
    old: list[SentItem], new: list[SentItem], was: Texts, is_now: Texts
) -> Difference:
    known = {item.digest for item in old}
    sent = {item.digest for item in new}
    item = next(
        (each for each in [*new, *old] if each.digest not in known & sent), new[0]
    )
    before = "".join(was(each) for each in old if each.name == item.name)
    after = "".join(is_now(each) for each in new if each.name == item.name)
    quote = (
        f"{before[:AROUND] or 'none'} became {after[:AROUND] or 'none'}"
        if before or after
        else ""
    )
    kind: DifferenceKind = "cache_key" if item.name == "prompt_cache_key" else "setting"
    return Difference(kind, item.name, f"`{item.name}` changed", 0, quote)


def _has_moved_up(
    before: Sequence[SentItem], old: list[SentItem], new: list[SentItem]
) -> bool:
    """Whether the new blocks of the system prompt were messages, and what was in front of them has left."""
    known = {item.digest for item in of_kind(before, "message")}
    is_longer = common_items(old, new) == len(old)
    return is_longer and all(item.digest in known for item in new[len(old) :])


_HEADS: Final[tuple[tuple[str, _Told], ...]] = (
    ("model", _models),
    ("beta", _betas),
    ("tool", _tools),
    ("system", _system),
    ("setting", _settings),
)


def _messages(old: list[SentItem], new: list[SentItem], same: int) -> Difference:
    """What became of the messages behind the ``same`` first items, which are equal."""
    if same >= len(new):
        words = f"the history ends before {old[same].name}"
        return Difference("rewind", old[same].name, words, 0)
    gone, come, is_matched = _replaced(old, new, same)
    first, name = old[same] if same < len(old) else new[same], new[same].name
    if is_matched and not come:
        words = f"{_pieces(gone)} from {first.name} on left"
        return Difference("messages_removed", first.name, words, 0)
    if is_matched and not gone:
        words = f"{_pieces(come)} came in front of {first.name}"
        return Difference("message_inserted", name, words, 0)
    is_short = gone >= FEWEST_COMPACTED and come <= gone // 2
    if is_short and (is_matched or same < gone):
        words = f"{_pieces(gone)} from {first.name} on became {come}"
        return Difference("compaction", first.name, words, 0)
    if (
        not is_matched
        and gone > 1
        and name.partition(" (")[0] != first.name.partition(" (")[0]
    ):
        return Difference(
            "rewind",
            first.name,
            f"{_pieces(gone)} from {first.name} on were gone back on",
            0,
        )
    return Difference("message_edited", first.name, f"{first.name} changed", 0)


def _pieces(count: int) -> str:
    return "1 piece" if count == 1 else f"{count} pieces"


def _replaced(
    old: list[SentItem], new: list[SentItem], same: int
) -> tuple[int, int, bool]:
    """How many items behind the first ``same`` left, how many came for them, and whether one behind them stayed.

    What stayed is told by the largest item that is in both once, if there is any, and by those in front of it: short
    texts come again and again.
    """
    places: dict[str, int] = {}
    for place in range(len(new) - 1, same - 1, -1):
        places[new[place].digest] = place
    counts = Counter(item.digest for item in (*old[same:], *new[same:]))
    best: tuple[bool, int, int, int] | None = None
    for place in range(same, len(old)):
        item = old[place]
        found = places.get(item.digest)
        if found is not None:
            found_one = (counts[item.digest] == 2, item.size, -place, -found)
            best = found_one if best is None else max(best, found_one)
    if best is None:
        return len(old) - same, len(new) - same, False
    gone, come = -best[2] - same, -best[3] - same
    while gone and come and old[same + gone - 1].digest == new[same + come - 1].digest:
        gone, come = gone - 1, come - 1
    return gone, come, True


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


# -- marks --


def mark_difference(
    before: Sequence[SentItem], now: Sequence[SentItem]
) -> Difference | None:
    """Why a request that extends the earlier one does not find its entry; ``None`` where the marks don't tell.

    The provider looks back from each mark for an entry that an earlier mark has written.
    """
    written = [place for place, item in enumerate(before) if item.mark]
    if not written:
        return None
    marked = [place for place, item in enumerate(now) if item.mark]
    name = before[written[-1]].name
    if not marked:
        return Difference("marks", name, "the request has no cache mark any more", 0)
    lives = (
        {before[place].mark for place in written},
        {now[place].mark for place in marked},
    )
    if lives[0] != lives[1]:
        words = f"the cache marks changed from {_joined(lives[0])} to {_joined(lives[1])}"
        return Difference("marks", name, words, 0)
    last = written[-1]
    if any(last <= place <= last + LOOKBACK for place in marked):
        return None
    place = sum(item.size for item in now[: marked[-1]])
    if all(each < last for each in marked):
        words = f"the cache mark behind {name} is gone"
        return Difference("marks", name, words, place)
    between = min(each for each in marked if each > last) - last
    words = f"the next cache mark is {between} blocks behind the last one; the provider looks back {LOOKBACK}"
    return Difference("lookback", name, words, place)


def _joined(lives: set[str]) -> str:
    return " and ".join(sorted(lives))
