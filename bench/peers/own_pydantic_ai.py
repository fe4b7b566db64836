"""pydantic-ai's agent with its harness' compaction (``harness_tiers.py``)."""

from __future__ import annotations

from harness_tiers import compaction
from plugin_session import TRIGGER, WINDOW, drive
from plugin_with_pydantic_ai import PydanticAI


class WithHarness(PydanticAI):
    packages = ("pydantic-ai-harness", "pydantic-ai-slim")


drive(WithHarness([compaction(WINDOW, TRIGGER)]))
