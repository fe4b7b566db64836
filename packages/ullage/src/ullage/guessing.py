"""Which token can be guessed, and how many wrong ones a client may try: for the relay and for Ullage's servers."""

from __future__ import annotations

import time
from collections.abc import Callable
from ipaddress import ip_network
from typing import Final

SHORTEST: Final = 16
"""Characters of a token that a person chooses. A right token is always accepted, whatever other clients of its address
try, so it may not be guessable."""

WRONG_AT_ONCE: Final = 10
"""Wrong tokens from one address within ``WRONG_S`` until further ones are only told to wait."""
WRONG_S: Final = 60.0
ADDRESSES_KEPT: Final = 10_000


def guessable(token: str | bytes) -> str:
    """What is wrong with a token that can be guessed; empty for another."""
    if len(token) >= SHORTEST:
        return ""
    return (
        f"A token of {len(token)} characters can be guessed. Give one of at least {SHORTEST}, such as "
        "`openssl rand -hex 32` prints."
    )


class WrongTokens:
    """Counts recent wrong tokens by address. An IPv6 client counts as its whole /64 network."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[float, int]] = {}

    def wait_s(self, address: str) -> float:
        """Seconds an address has to wait; 0 for none."""
        since, count = self._seen.get(_network(address), (0.0, 0))
        left = since + WRONG_S - self._clock()
        if count < WRONG_AT_ONCE or left <= 0:
            return 0.0
        return max(left, 1.0)

    def note(self, address: str) -> None:
        """Count a wrong token from this address."""
        network, now = _network(address), self._clock()
        since, count = self._seen.pop(network, (now, 0))
        if since + WRONG_S <= now:
            since, count = now, 0
        if len(self._seen) >= ADDRESSES_KEPT:
            del self._seen[next(iter(self._seen))]
        self._seen[network] = (since, count + 1)


def _network(address: str) -> str:
    if ":" not in address:
        return address
    try:
        return str(ip_network(f"{address.partition('%')[0]}/64", strict=False))
    except ValueError:
        return address
