"""The person for whom a server's request acts: what the request stores in a session bears the name."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

WHO: Final[ContextVar[str]] = ContextVar("the name of the request's token", default="")
"""Set by the server alone, for each request; empty in drivers, and in a program's own calls."""
