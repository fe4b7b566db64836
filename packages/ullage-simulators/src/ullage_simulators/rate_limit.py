"""The limits of a key and model per minute: token buckets, and the headers in which the providers show them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(slots=True)
class ProviderBucket:
    """A limit of so much a minute, refilled continuously as Anthropic describes it
    (https://platform.claude.com/docs/en/api/rate-limits)."""

    per_minute: int
    left: float
    at: float

    def refill(self, now: float) -> None:
        refilled = self.left + (now - self.at) * self.per_minute / 60
        self.left, self.at = min(self.per_minute, refilled), now

    def until(self, needed: float) -> float:
        """Seconds until so much is left."""
        return max(0.0, needed - self.left) * 60 / self.per_minute


class RateLimit:
    """The limits of one key and model. ``clock`` is in seconds since 1970."""

    def __init__(self, requests: int, tokens: int, clock: Callable[[], float]) -> None:
        now = clock()
        limits = {"requests": requests, "tokens": tokens}
        self._clock = clock
        self._buckets = {
            name: ProviderBucket(limit, limit, now)
            for name, limit in limits.items()
            if limit
        }

    def take(self) -> float | None:
        """Count a request that may be answered; for one too many, the seconds to wait."""
        now = self._clock()
        wait_s = 0.0
        for bucket in self._buckets.values():
            bucket.refill(now)
            wait_s = max(wait_s, bucket.until(1.0))
        if wait_s:
            return wait_s
        if "requests" in self._buckets:
            self._buckets["requests"].left -= 1
        return None

    def spend(self, tokens: int) -> None:
        """Count the tokens of an answer."""
        if "tokens" in self._buckets:
            self._buckets["tokens"].left -= tokens

    def headers(self, wire: str, wait_s: float | None) -> dict[str, str]:
        """What the provider of the wire shows of its limits, with the time to wait for a refused request."""
        shown: dict[str, str] = {}
        for name, bucket in self._buckets.items():
            left, full_s = max(0, int(bucket.left)), bucket.until(bucket.per_minute)
            if wire == "anthropic":
                full_at = datetime.fromtimestamp(bucket.at, UTC) + timedelta(
                    seconds=math.ceil(full_s)
                )
                begin = f"anthropic-ratelimit-{name.replace('tokens', 'input-tokens')}-"
                shown[f"{begin}limit"] = str(bucket.per_minute)
                shown[f"{begin}remaining"] = str(left)
                shown[f"{begin}reset"] = full_at.strftime("%Y-%m-%dT%H:%M:%SZ")
            elif wire != "gemini":
                shown[f"x-ratelimit-limit-{name}"] = str(bucket.per_minute)
                shown[f"x-ratelimit-remaining-{name}"] = str(left)
                shown[f"x-ratelimit-reset-{name}"] = _duration(full_s)
        if wait_s is not None:
            shown["retry-after"] = str(math.ceil(wait_s))
        return shown


def _duration(seconds: float) -> str:
    """As OpenAI writes it: 12ms, 6.1s, 6m0s."""
    if seconds < 1:
        return f"{int(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{int(rest)}s" if minutes else f"{rest:.3g}s"
