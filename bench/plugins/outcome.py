"""What the requests of one run come to, on any wire: every figure is the simulator's, but for what is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from bench.plugins.frameworks import Framework
from bench.plugins.scenarios import TRIGGER, Played, Step, markers_of
from ullage_simulators.server import Exchange

UNCACHED_TARGET = 1.05
"""Times the uncached tokens of the plain SDK with ``Compactor``, in the same scenario."""
TELLING = 20
"""Characters of a message that stand nowhere else by chance: shorter ones are not looked for."""


@dataclass(slots=True, kw_only=True)
class PluginOutcome:
    """Sums of the runs of one cell. Tokens are true ones.

    ``billed`` and ``counted`` are input and output of all calls that were not cancelled, as the simulator and the
    program have them. ``unseen``: turns whose words left the view without having been in any request for a summary.
    """

    calls: int = 0
    summaries: int = 0
    refused: int = 0
    failed_turns: int = 0
    cancelled: int = 0
    above: int = 0
    billed: int = 0
    counted: int = 0
    uncached: int = 0
    unseen: int = 0

    def add(self, other: PluginOutcome) -> None:
        """And what another run came to."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def failures(self, plain: PluginOutcome | None) -> list[str]:
        """The targets that are missed, in words; without ``plain`` the cache is not looked at."""
        found: list[str] = []
        if not self.calls:
            found.append("no call was made")
        if self.refused:
            found.append(f"{self.refused} refused")
        if self.failed_turns:
            found.append(f"{self.failed_turns} failed turns")
        if self.counted != self.billed:
            found.append(f"counted {self.counted:,} and billed {self.billed:,}")
        if plain and self.uncached > plain.uncached * UNCACHED_TARGET:
            found.append(f"uncached {self.above_plain(plain):+.1%} against the plain SDK")
        return found

    def above_plain(self, plain: PluginOutcome) -> float:
        """Uncached tokens above the plain SDK's, as a share of these."""
        return self.uncached / plain.uncached - 1


def outcome(
    exchanges: Sequence[Exchange], played: Played, framework: Framework
) -> PluginOutcome:
    """What one run's requests come to; failed turns and what was counted are not in it."""
    found = PluginOutcome()
    markers = markers_of(framework)
    summaries: list[Exchange] = []
    talk: list[Exchange] = []
    for each in exchanges:
        found.calls += 1
        if each.bill is None:
            found.refused += 1
            continue
        found.uncached += each.bill.input - each.bill.cache_read
        whole = each.bill.input + each.bill.output
        if is_summary(each, markers):
            found.summaries += 1
            found.billed += whole
            summaries.append(each)
            continue
        if is_cancelled(each, played.steps):
            found.cancelled += 1
            continue
        found.billed += whole
        found.above += each.bill.input > TRIGGER * played.window
        talk.append(each)
    kept = [*summaries, *talk[-1:]]
    seen = "\n".join(text for each in kept for text in texts(each.body))
    said = [step.said for step in played.steps if step.is_kept]
    found.unseen = sum(text not in seen for text in said if len(text) >= TELLING)
    return found


def items(exchange: Exchange) -> list[Any]:
    """The conversation of a request, on any wire."""
    body: dict[str, Any] = exchange.body or {}
    for name in ("messages", "input", "contents"):
        if name in body:
            found = body[name]
            return found if isinstance(found, list) else [found]
    return []


def is_summary(exchange: Exchange, markers: Sequence[str]) -> bool:
    """Whether a request asks for a summary: by the words of its last message."""
    last = json.dumps(items(exchange)[-1:])
    return any(marker in last for marker in markers)


def is_cancelled(exchange: Exchange, steps: Sequence[Step]) -> bool:
    """Whether the answer to a request was left: by the words of its last message."""
    last = json.dumps(items(exchange)[-1:])
    return any(step.stop_after and step.said in last for step in steps)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
