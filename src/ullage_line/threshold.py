"""Where Claude Code starts a compaction: a fact with its source, or the best that is known. Pure."""

from __future__ import annotations

import math
import re

from ullage_line.fields import count, mapping

ANSWER_RESERVE = 20_000
"""Kept free for an answer: subtracted from the window first, also below the percentage of a user
(https://github.com/anthropics/claude-code/issues/31806, https://github.com/anthropics/claude-code/issues/12004)."""

BUFFER = 13_000
"""Kept free besides. Real sessions with a window of 200,000 compacted at 167,094, 167,117, 167,731 and 170,251 tokens:
33,000 below it, and what one call added."""

OBSERVED_ABOVE = 0.1
"""An observed compaction lies above its threshold by what its last call added; more than this share has another
cause."""


USUAL_WINDOW, SMALLEST_WINDOW = 200_000, 100_000
ARMED_SINCE = (2, 1, 197)
ARMED = re.compile(r"claude-(opus|sonnet)-4-6(?!\d)")
LONG_BY_ITSELF = re.compile(
    r"claude-(opus-(4-[789]|[5-9])|sonnet-[5-9]|haiku-([6-9]|5-5)|fable|mythos)(?!\d)"
)
"""From ``ARMED_SINCE`` on, other models are compacted only when the provider refuses a request. These are the facts of
``ullage.clients.claude_code``, which has their sources; a test holds the two together."""


class Threshold:
    """The input at which compaction starts. ``is_observed`` is whether this session has shown it."""

    def __init__(self, tokens: int, *, is_observed: bool, compacts: bool = True) -> None:
        self.tokens = tokens
        self.is_observed = is_observed
        self.compacts = compacts
        """``False`` where compaction is switched off: then the window itself is the end."""


def threshold(
    window: int,
    observed: int,
    environment: dict[str, str],
    settings: list[dict[str, object]],
    *,
    model: str = "",
    version: str = "",
) -> Threshold | None:
    """The threshold for a window, ``None`` where the window is unknown.

    ``observed`` is the least input at which this session was compacted, 0 for none. ``settings`` are the contents
    of the program's settings files, the strongest first; their ``env`` counts as environment.
    """
    found = _Settings(environment, settings)
    if observed and not window:
        return Threshold(observed, is_observed=True)
    if not window:
        return None
    if found.is_off():
        return Threshold(window, is_observed=True, compacts=False)
    basis = found.basis(window)
    waits = not basis and not compacts_by_itself(model, version, window)
    if waits and not observed:
        return Threshold(window, is_observed=False, compacts=False)
    basis = basis or window
    computed = basis - ANSWER_RESERVE - BUFFER
    percent = found.number("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE")
    if 0 < percent <= 100:
        computed = min(computed, int((basis - ANSWER_RESERVE) * percent / 100))
    if not observed:
        return Threshold(max(0, computed), is_observed=False)
    if computed <= observed <= computed * (1 + OBSERVED_ABOVE):
        return Threshold(computed, is_observed=True)
    return Threshold(observed, is_observed=True)


def compacts_by_itself(model: str, version: str, window: int) -> bool:
    """Whether this version compacts the model before the provider refuses a request, without a window being set."""
    numbers = tuple(int(each) for each in re.findall("[0-9]{1,6}", version)[:3])
    if numbers < ARMED_SINCE:
        return True
    name = model.lower()
    if window > USUAL_WINDOW:
        return LONG_BY_ITSELF.search(name) is not None
    return "[1m]" not in name and ARMED.search(name) is not None


class _Settings:
    """What the user set, in the environment and in the program's settings files."""

    def __init__(
        self, environment: dict[str, str], settings: list[dict[str, object]]
    ) -> None:
        self.environment = environment
        self.settings = settings

    def word(self, name: str) -> str:
        for file in self.settings:
            value = mapping(file, "env").get(name)
            if isinstance(value, str):
                return value.strip()
        return self.environment.get(name, "").strip()

    def number(self, name: str) -> float:
        try:
            return float(self.word(name))
        except ValueError:
            return 0.0

    def is_off(self) -> bool:
        for name in ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"):
            if self.word(name).lower() in ("1", "true", "yes", "on"):
                return True
        for file in self.settings:
            if isinstance(file.get("autoCompactEnabled"), bool):
                return file["autoCompactEnabled"] is False
        return False

    def basis(self, window: int) -> int:
        """The window that the user set for compaction, at most the whole one; 0 where none is set."""
        wanted = self.number("CLAUDE_CODE_AUTO_COMPACT_WINDOW")
        if 0 < wanted < math.inf:
            return min(window, max(SMALLEST_WINDOW, int(wanted)))
        for file in self.settings:
            chosen = count(file, "autoCompactWindow")
            if chosen >= SMALLEST_WINDOW:
                return min(window, chosen)
        return 0
