"""Files that were read again while their content was still in the window, and results that came twice."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import Final, NamedTuple

from ullage.advice.contents import SeenPart
from ullage.advice.lives import ItemLife
from ullage.advice.savings import SavedShare, part_of
from ullage.advice.suggestion import (
    AdviceInput,
    Suggestion,
    SuggestionKind,
    largest_names,
    plural,
)

READERS: Final = frozenset(
    {
        "read",
        "read_file",
        "readfile",
        "view",
        "notebookread",
        "read_many_files",
    }
)
"""Tools that only read a file, in lower case: of Claude Code, OpenCode, pi, Gemini CLI, qwen-code, Copilot and ours."""

LEAST_OVERLAP: Final = 0.5
"""Share of its lines that a later read must have in common with an earlier one."""

SMALLEST: Final = 200
"""Tokens of a result below which a repetition is not looked at."""


MOST_EARLIER: Final = 64
"""Earlier reads of a file that one is compared with, the newest: a session that reads one file thousands of times would
otherwise take minutes."""


class _EarlierRead(NamedTuple):
    """What was read of a file so far: its lines, and the result that was first."""

    seen: SeenPart
    lines: frozenset[str]


def repeated_reads(given: AdviceInput) -> list[Suggestion]:
    """Reads of what an earlier read of the same file had shown, while it was in the window and nothing wrote to it."""
    written = _written(given)
    reads: dict[str, deque[_EarlierRead]] = {}
    shares: list[SavedShare] = []
    for result in given.contents.results:
        item = given.item(result.item)
        if item.tool.lower() not in READERS or not item.path:
            continue
        lines = frozenset(result.text.splitlines())
        known = reads.setdefault(item.path, deque(maxlen=MOST_EARLIER))
        since = _last_before(written.get(item.path, []), result.place)
        share = 0.0
        for earlier in known:
            is_changed = earlier.seen.place < since
            if is_changed or not _is_in_window(given, earlier.seen, item):
                continue
            share = max(share, _overlap(lines, earlier.lines))
        known.append(_EarlierRead(result, lines))
        if share >= LEAST_OVERLAP and item.tokens >= SMALLEST:
            shares.append(part_of(result.item, share))
    return _suggested(given, "read_again", shares)


def repeated_results(given: AdviceInput) -> list[Suggestion]:
    """Other results that came again word for word while the earlier one was in the window."""
    known: dict[tuple[str, str], SeenPart] = {}
    shares: list[SavedShare] = []
    for result in given.contents.results:
        item = given.item(result.item)
        if item.tokens < SMALLEST or item.tool.lower() in READERS:
            continue
        key = item.label, result.text
        earlier = known.get(key)
        known[key] = result
        if earlier is not None and _is_in_window(given, earlier, item):
            shares.append(SavedShare(result.item))
    return _suggested(given, "same_result", shares)


def _written(given: AdviceInput) -> dict[str, list[int]]:
    """By file, the places of calls that may have changed it: all that name it and don't only read."""
    places: dict[str, list[int]] = {}
    for call in given.contents.calls:
        if call.path and call.part.name.lower() not in READERS:
            places.setdefault(call.path, []).append(call.place)
    return places


def _last_before(places: list[int], end: int) -> int:
    """The last of these rising places before ``end``; 0 for none."""
    count = bisect_left(places, end)
    if not count:
        return 0
    return places[count - 1]


def _is_in_window(
    given: AdviceInput,
    earlier: SeenPart,
    later: ItemLife,
) -> bool:
    """Whether the request that asked for the later one held the earlier one."""
    item = given.item(earlier.item)
    if item.last_call is None:
        return True
    return item.last_call >= later.first_call - 1


def _overlap(lines: frozenset[str], earlier: frozenset[str]) -> float:
    if not lines:
        return 0.0
    return len(lines & earlier) / len(lines)


def _suggested(
    given: AdviceInput,
    kind: SuggestionKind,
    shares: list[SavedShare],
) -> list[Suggestion]:
    if not shares:
        return []
    items: list[ItemLife] = []
    for saved in shares:
        items.append(given.item(saved.place))
    count = len(shares)
    title = f"{plural(count, 'read', 'reads')} of what was already in the window"
    if kind == "same_result":
        title = f"{plural(count, 'result', 'results')} came again word for word"
    return [
        Suggestion(
            kind=kind,
            title=title,
            text=largest_names(items),
            how=given.remedy("reads"),
            items=tuple(shares),
            saving=given.costs.saving(shares),
            number=count,
        )
    ]
