"""What tests of your agent are written with; docs/testing.md shows it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ullage_agent.testing import (
        Delay,
        FunctionModel,
        ScriptedModel,
        Sent,
        capture,
        check_store,
        reasoning,
        structured,
        tool_call,
    )

__all__ = [
    "Delay",
    "FunctionModel",
    "ScriptedModel",
    "Sent",
    "capture",
    "check_store",
    "reasoning",
    "structured",
    "tool_call",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'ullage.testing' has no attribute {name!r}")
    from ullage.installation import part

    return getattr(part("ullage_agent.testing"), name)


def __dir__() -> list[str]:
    return list(__all__)
