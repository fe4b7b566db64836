"""Calls and logs to sum up, with little to say of each."""

from typing import Any

from ullage.meter.distinct_calls import PlacedCall
from ullage.meter.spent_calls import CallsOfLog, SpentCall

NOON = 1_795_262_400.0
"""2026-11-21 12:00 UTC."""


def spent_call(name: str = "", **more: Any) -> SpentCall:
    fields: dict[str, Any] = {
        "at": NOON,
        "name": name,
        "model": "claude-sonnet-4-5",
        "provider": "anthropic",
        "purpose": "main",
        "input": 1_000,
        "output": 100,
        "cache_read": 600,
        "cache_write": 300,
        "reasoning": 40,
    }
    return SpentCall(**(fields | more))


def log_of(*calls: SpentCall, **more: Any) -> CallsOfLog:
    fields = {
        "program": "claude-code 2.1.330",
        "session": "s-1",
        "project": "/home/ann/shop",
    }
    return CallsOfLog(calls=calls, **(fields | more))


def placed(call: SpentCall, *, is_child: bool = False, **more: Any) -> PlacedCall:
    return PlacedCall(call, log_of(call, **more), is_child)
