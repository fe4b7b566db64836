"""The simulators by name, which is the first part of their paths."""

from __future__ import annotations

from ullage_simulators.anthropic.simulator import Anthropic
from ullage_simulators.chat.simulator import Chat
from ullage_simulators.chat.variants import VARIANTS
from ullage_simulators.gemini.simulator import Gemini
from ullage_simulators.responses.simulator import Responses
from ullage_simulators.wire import WireSimulator


def simulators() -> dict[str, tuple[WireSimulator, ...]]:
    """One of each. ``openai`` serves Responses and Chat; the other names are Chat as others speak it."""
    chats = {name: (Chat(variant),) for name, variant in VARIANTS.items()}
    return {
        "anthropic": (Anthropic(),),
        **chats,
        "openai": (Responses(), *chats["openai"]),
        "gemini": (Gemini(),),
    }
