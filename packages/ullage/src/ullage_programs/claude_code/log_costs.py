"""What Claude Code's own totals hold beyond the calls that its log has: summaries, and calls of the program's own.

``cost-state`` lines of version 2.1.330 have the tokens of each model since the session began, also over a resume, and
those of subagents. In logs of four sessions (46 calls) what the totals hold more is the summaries, to the token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

import ullage.importers.fields as f
from ullage.events import Purpose
from ullage.importers.fields import JsonObject
from ullage_programs.policy import MOST_MODELS

LONG: Final = "[1m]"
"""The end of a model's name that asks for the longer window."""

KINDS: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
    "cacheCreationEphemeral5mInputTokens": "ephemeral_5m_input_tokens",
    "cacheCreationEphemeral1hInputTokens": "ephemeral_1h_input_tokens",
}
"""The tokens of a total, as the usage of a call names them."""

_INPUT: Final = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class ModelTokens(NamedTuple):
    """A model, and one kind of its tokens."""

    model: str
    kind: str


class UnloggedCalls(NamedTuple):
    """The calls to one model that are not in the log, as one."""

    model: str
    purpose: Purpose
    usage: JsonObject


class ClaudeTotals:
    """Compares the program's totals with the calls that were read."""

    def __init__(self) -> None:
        self._logged: Counter[ModelTokens] = Counter()
        """Calls of the conversation since the last total."""
        self._children: Counter[ModelTokens] = Counter()
        self._total: Counter[ModelTokens] = Counter()
        self._summaries: Counter[ModelTokens] = Counter()
        self._others: Counter[ModelTokens] = Counter()
        self._has_compacted = False
        self._starts_earlier = False

    def start_earlier(self) -> None:
        """The next total may hold calls that were made before the log began: behind ``/clear``, or of a cut log."""
        self._starts_earlier = True

    def compacted(self) -> None:
        """A compaction asked for a summary."""
        self._has_compacted = True

    def read_call(self, model: str, usage: JsonObject) -> None:
        """A call of the conversation."""
        _count(self._logged, model, usage)

    def read_child(self, model: str, usage: JsonObject) -> None:
        """A call of a subagent, which may be read after the totals that hold it."""
        _count(self._children, model, usage)

    def read_total(self, entry: JsonObject, model: str) -> None:
        """A total. ``model`` is that of the conversation, which is asked for its summaries."""
        total = _total_of(f.mapping(entry, "modelUsage"))
        before, self._total = self._total, total
        logged, self._logged = self._logged, Counter()
        has_compacted, self._has_compacted = self._has_compacted, False
        if self._starts_earlier:
            self._starts_earlier = False
            return
        if any(total[each] < count for each, count in before.items()):
            before = Counter()
        for each, count in total.items():
            more = count - before[each] - logged[each]
            if more > 0 and has_compacted and each.model == model:
                self._summaries[each] += more
            elif more > 0:
                self._others[each] += more

    def unlogged(self) -> list[UnloggedCalls]:
        """What no call of the log accounts for."""
        others = self._others - self._children
        summaries = self._summaries - (self._children - self._others)
        found: list[UnloggedCalls] = []
        found.extend(_calls(summaries, "summary"))
        found.extend(_calls(others, "other"))
        return found


def _count(counts: Counter[ModelTokens], model: str, usage: JsonObject) -> None:
    by_age = f.mapping(usage, "cache_creation")
    for kind in KINDS.values():
        count = f.count(usage, kind) or f.count(by_age, kind) or 0
        counts[ModelTokens(model, kind)] += count


def _total_of(models: JsonObject) -> Counter[ModelTokens]:
    total: Counter[ModelTokens] = Counter()
    for name in list(models)[:MOST_MODELS]:
        tokens = f.mapping(models, name)
        model = name.removesuffix(LONG)
        for key, kind in KINDS.items():
            total[ModelTokens(model, kind)] += f.count(tokens, key) or 0
    return total


def _calls(counts: Mapping[ModelTokens, int], purpose: Purpose) -> list[UnloggedCalls]:
    """By model; output without input is a correction of a call that was read."""
    usages: dict[str, JsonObject] = {}
    for each, count in counts.items():
        usages.setdefault(each.model, {})[each.kind] = count
    found: list[UnloggedCalls] = []
    for model, tokens in usages.items():
        usage: JsonObject = dict.fromkeys(KINDS.values(), 0)
        usage.update(tokens)
        by_age = {
            kind: usage.pop(kind) for kind in list(usage) if kind.startswith("ephemeral")
        }
        if any(by_age.values()):
            usage["cache_creation"] = by_age
        if any(usage[kind] for kind in _INPUT):
            found.append(UnloggedCalls(model, purpose, usage))
    return found
