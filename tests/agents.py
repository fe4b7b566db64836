"""An agent as most tests need it: Claude Haiku with a key that opens nothing, and no configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ullage.store.store import SessionStore
from ullage_agent.runtime.agent import Agent

KEY: Final = {"ANTHROPIC_API_KEY": "x"}


def haiku(store: Path | SessionStore, **settings: Any) -> Agent:
    """An agent with this store; ``settings`` are ``Agent``'s."""
    given = {"environment": KEY, "config": False, **settings}
    return Agent("anthropic:claude-haiku-4-5", store=store, **given)
