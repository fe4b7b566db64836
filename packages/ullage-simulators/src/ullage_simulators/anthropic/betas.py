"""The header that turns on what is in beta."""

from __future__ import annotations

from ullage_simulators.wire import CallInProgress


def has_beta(call: CallInProgress, *names: str) -> bool:
    """Whether the request carries one of these betas."""
    sent = call.headers.get("anthropic-beta", "").split(",")
    return any(each.strip() in names for each in sent)
