"""The calls of a log as what they spent: when, of which model, what for, and how many tokens of each kind.

A ``SpentCall`` is small and can be stored, so that a log is read once; money is computed when it is asked for, since
prices change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from ullage.codec.dialects import hour_writes, normalise, passes_of
from ullage.events import (
    CallEnded,
    Event,
    ModelChanged,
    SessionStarted,
)
from ullage.meter.limits import Prices, lookup
from ullage.meter.policy import DEAREST_USD
from ullage.meter.spend import (
    BESIDE,
    Cost,
    cost_of,
)
from ullage.usage import Usage

COPY: Final = "@"
"""Stands between the id of a call and the number of its copy in one log (``importers/rows.py``)."""

CHILD: Final = "child-"
"""How the id of a subagent's call begins in the log of its session."""

UNLOGGED: Final = "unlogged-"
"""How the id begins of what only the totals of a program show (``claude_code/log_costs.py``)."""

ZERO: Final = ":zero"
"""How the flag of a count ends that was not made (``codec/usage.py``)."""


class SpentCall(msgspec.Struct, frozen=True, array_like=True):
    """One call. ``input`` includes cache, ``output`` includes reasoning; ``None`` was not reported.

    ``name`` is the provider's id of the answer, empty where the log has none. ``hour_write`` is the part of
    ``cache_write`` that is kept for an hour. ``logged_usd`` is what the log itself says the call cost. With ``is_cut``
    the output is only the count with which it began to stream.
    """

    at: float
    name: str
    model: str
    provider: str
    purpose: str
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    hour_write: int = 0
    logged_usd: float | None = None
    is_cut: bool = False

    @property
    def total(self) -> int:
        """All tokens, cache included."""
        return (self.input or 0) + (self.output or 0)

    @property
    def fresh_input(self) -> int:
        """Input that was neither read from a cache nor written to one."""
        cached = (self.cache_read or 0) + (self.cache_write or 0)
        return max(0, (self.input or 0) - cached)


class CallsOfLog(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one log, and what it says of itself.

    ``origin`` is the session that this one was copied from, ``is_proxied`` says that the proxy recorded it, and
    ``unreported`` counts calls without usage, ``implausible`` those with a count that can't be true, which is left out.
    ``skipped`` counts lines that were not read.
    """

    program: str = ""
    session: str = ""
    project: str = ""
    origin: str = ""
    is_subagent: bool = False
    is_proxied: bool = False
    calls: tuple[SpentCall, ...] = ()
    unreported: int = 0
    implausible: int = 0
    skipped: int = 0


class CallCollector:
    """Takes the events of one log in their order; ``calls`` is what was spent.

    ``has_ids``: the calls of this log are named by the provider's ids.
    """

    def __init__(self, *, has_ids: bool = False) -> None:
        self.calls: list[SpentCall] = []
        self.unreported = 0
        self.implausible = 0
        self._has_ids = has_ids
        self._model = self._provider = ""

    def copy(self) -> CallCollector:
        """Another one that goes on from here."""
        other = CallCollector(has_ids=self._has_ids)
        other.calls = list(self.calls)
        other.unreported = self.unreported
        other.implausible = self.implausible
        other._model = self._model
        other._provider = self._provider
        return other

    def add(self, events: Iterable[Event]) -> None:
        """Take more events."""
        for event in events:
            if isinstance(event, CallEnded):
                self._ended(event)
            elif isinstance(event, SessionStarted | ModelChanged):
                self._model = event.model or self._model
                self._provider = event.provider or self._provider

    def _ended(self, event: CallEnded) -> None:
        usage = event.usage
        if usage is None:
            self.unreported += event.outcome == "finished"
            return
        self.implausible += any(not flag.endswith(ZERO) for flag in usage.flags)
        if usage.input is None and usage.output is None:
            self.unreported += not usage.flags
            return
        name = ""
        if self._has_ids and not event.call.startswith(UNLOGGED):
            name = event.call.removeprefix(CHILD).partition(COPY)[0]
        model = event.model or self._model
        self._add(
            event,
            usage,
            model,
            name,
            event.purpose,
        )
        for one in passes_of(usage):
            if one.kind in BESIDE:
                beside = f"{name}/{one.kind}" if name else ""
                self._add(
                    event,
                    one.usage,
                    one.model or model,
                    beside,
                    "other",
                )

    def _add(
        self, event: CallEnded, usage: Usage, model: str, name: str, purpose: str
    ) -> None:
        output = usage.output
        if usage.placeholder:
            output = normalise(usage.dialect or "", usage.raw).output
        call = SpentCall(
            at=event.at,
            name=name,
            model=model,
            provider=event.provider or self._provider,
            purpose=purpose,
            input=usage.input,
            output=output,
            cache_read=usage.cache_read,
            cache_write=usage.cache_write,
            reasoning=usage.reasoning,
            is_cut=usage.placeholder,
            hour_write=hour_writes(usage),
            logged_usd=_logged_usd(usage),
        )
        self.calls.append(call)


class _LoggedCost(msgspec.Struct, frozen=True):
    """A usage object with the program's own cost: a number (OpenRouter), or an object with a total (pi)."""

    cost: float | dict[str, float | None] | None = None


_cost_in: Final = msgspec.json.Decoder(_LoggedCost)


def _logged_usd(usage: Usage) -> float | None:
    raw = b"" if usage.raw is None else bytes(usage.raw)
    if b'"cost"' not in raw:
        return None
    try:
        cost = _cost_in.decode(raw).cost
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if isinstance(cost, dict):
        cost = cost.get("total")
    if cost is None or not 0 < cost < DEAREST_USD:
        return None
    return float(cost)


class PriceList:
    """Prices by model, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Prices | None] = {}

    def cost(self, call: SpentCall) -> Cost | None:
        """What the call costs at list prices; ``None`` where the price of its model is unknown."""
        key = (call.provider, call.model)
        if key not in self._known:
            limits = lookup(*key)
            self._known[key] = limits.prices if limits else None
        prices = self._known[key]
        if prices is None:
            return None
        usage = Usage(
            input=call.input,
            output=call.output,
            cache_read=call.cache_read,
            cache_write=call.cache_write,
        )
        return cost_of(
            usage,
            prices,
            hour_writes=call.hour_write,
        )
