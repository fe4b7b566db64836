"""The doubles by name: the first part of their paths."""

from __future__ import annotations

from ullage.simulators.anthropic.double import Anthropic
from ullage.simulators.chat.double import Chat
from ullage.simulators.chat.variants import VARIANTS
from ullage.simulators.gemini.double import Gemini
from ullage.simulators.responses.double import Responses
from ullage.simulators.wire import Wire


def doubles() -> dict[str, tuple[Wire, ...]]:
    """One of each. ``openai`` serves Responses and Chat; the other names are Chat as others speak it."""
    chats = {name: (Chat(variant),) for name, variant in VARIANTS.items()}
    return {"anthropic": (Anthropic(),), **chats, "openai": (Responses(), *chats["openai"]), "gemini": (Gemini(),)}
