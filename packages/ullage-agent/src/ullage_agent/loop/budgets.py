"""What a turn and a session may use at most, and which limit is reached. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from ullage.turns.loop import Loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most a turn or a session may use before the turn pauses; ``None`` is no limit. Children and summaries count.

    ``tokens`` are ``input`` and ``output`` together. ``seconds`` are of a turn alone.
    """

    calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    input: int | None = None
    output: int | None = None
    usd: float | None = None
    seconds: float | None = None


class BudgetUse(NamedTuple):
    """What was used so far."""

    calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    input: int = 0
    output: int = 0
    usd: float = 0.0
    seconds: float = 0.0


class _Limit(NamedTuple):
    """One limit, and what is used of it, in words."""

    name: str
    is_reached: bool
    text: str


_TURN: Final = " Resume the turn to count from zero, or raise {}."
_SESSION: Final = " Raise {} for this session, or begin another one."


def used_by_turn(loop: Loop, session: BudgetUse, elapsed_s: float) -> BudgetUse:
    """What the current turn has used since it began or was resumed."""
    return BudgetUse(
        calls=loop.calls,
        tool_calls=loop.tool_calls,
        tokens=session.tokens - loop.tokens,
        input=session.input - loop.input,
        output=session.output - loop.output,
        usd=session.usd - loop.usd,
        seconds=elapsed_s,
    )


def reached(budget: Budget, used: BudgetUse, *, is_session: bool = False) -> str:
    """The limit that allows no further model call, and what to do, in words; empty if there is none."""
    for limit in _limits(budget, used):
        if limit.is_reached:
            return _told(limit, is_session=is_session)
    return ""


def tools_reached(budget: Budget, used: BudgetUse, *, is_session: bool = False) -> str:
    """The same for a further tool call."""
    most = budget.tool_calls
    if most is None or used.tool_calls < most:
        return ""
    text = f"{used.tool_calls} of {most} tool calls are made."
    return _told(_Limit("tool_calls", True, text), is_session=is_session)


def _told(limit: _Limit, *, is_session: bool) -> str:
    if is_session:
        advice = _SESSION.format(f"`{limit.name}` of session_budget")
        return f"In this session {limit.text}{advice}"
    return limit.text + _TURN.format(f"`{limit.name}` of budget")


def _limits(budget: Budget, used: BudgetUse) -> list[_Limit]:
    limits: list[_Limit] = []
    if budget.calls is not None:
        text = f"{used.calls} of {budget.calls} model calls are made."
        limits.append(_Limit("calls", used.calls >= budget.calls, text))
    counts = (
        ("tokens", "tokens", used.tokens, budget.tokens),
        ("input", "input tokens", used.input, budget.input),
        ("output", "output tokens", used.output, budget.output),
    )
    for name, unit, count, most in counts:
        if most is not None:
            text = f"{count:,} of {most:,} {unit} are used."
            limits.append(_Limit(name, count >= most, text))
    if budget.usd is not None:
        text = f"${used.usd:.2f} of ${budget.usd:.2f} are spent."
        limits.append(_Limit("usd", used.usd >= budget.usd, text))
    if budget.seconds is not None:
        text = f"{used.seconds:.0f} of {budget.seconds:.0f} seconds are over."
        limits.append(_Limit("seconds", used.seconds >= budget.seconds, text))
    return limits
