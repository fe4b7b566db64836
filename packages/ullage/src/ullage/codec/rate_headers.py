"""What a provider's headers say of its rate limits.

Anthropic names the time at which a limit is fully replenished (https://platform.claude.com/docs/en/api/rate-limits),
OpenAI the time until then, as ``6m0s`` (https://developers.openai.com/api/docs/guides/rate-limits). Neither is a time
to wait: a part of the limit is there before. It only shows limits that are not per minute, as some servers have them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from ullage.models.rate_limits import Amounts, MinuteLimit

ANTHROPIC: Final = {
    "requests": "requests",
    "input-tokens": "input_tokens",
    "output-tokens": "output_tokens",
}
OPENAI: Final = {"requests": "requests", "tokens": "tokens"}

_SURE_S: Final = 10.0
"""Seconds from which on a time until replenishment is exact enough: it may be rounded to a whole second."""

_MINUTE_S: Final = 90.0
"""A limit whose replenishment takes longer than this is not one per minute."""

_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class RateHeaders(NamedTuple):
    """The limits by their kinds, and what is left of them."""

    limits: Mapping[str, MinuteLimit]
    remaining: Amounts


def rate_headers(headers: Mapping[str, str], now: float) -> RateHeaders:
    """The limits that the headers name, by lower-case names. ``now`` is in seconds since 1970."""
    limits: dict[str, MinuteLimit] = {}
    remaining: dict[str, float] = {}
    for shown, kind in ANTHROPIC.items():
        begin = f"anthropic-ratelimit-{shown}-"
        named = (f"{begin}limit", f"{begin}remaining", f"{begin}reset")
        _read(headers, named, kind, now, limits, remaining)
    for shown, kind in OPENAI.items():
        named = (
            f"x-ratelimit-limit-{shown}",
            f"x-ratelimit-remaining-{shown}",
            f"x-ratelimit-reset-{shown}",
        )
        _read(headers, named, kind, now, limits, remaining)
    return RateHeaders(limits, remaining)


def _read(
    headers: Mapping[str, str],
    named: tuple[str, str, str],
    kind: str,
    now: float,
    limits: dict[str, MinuteLimit],
    remaining: dict[str, float],
) -> None:
    most, left = (_number(headers.get(name, "")) for name in named[:2])
    if not most or left is None:
        return
    remaining[kind] = left
    limits[kind] = MinuteLimit(most, most)
    full_s = _seconds(headers.get(named[2], ""), now)
    if full_s is None or full_s < _SURE_S or left >= most:
        return
    all_s = full_s * most / (most - left)
    if all_s > _MINUTE_S:
        limits[kind] = MinuteLimit(most, most * 60 / all_s)


def _number(text: str) -> float | None:
    return float(text) if text.isdecimal() and len(text) < 13 else None


def _seconds(text: str, now: float) -> float | None:
    """Seconds of a duration as ``6m0s`` or ``12.5``, or until a time of RFC 3339."""
    parts = _PART.findall(text)
    if parts and "".join(map("".join, parts)) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = datetime.fromisoformat(text).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) else None
