"""How many examples a test tries, by tier (CONTRIBUTING.md).

The first tier, ``uv run pytest``, tries some of them. The second, ``make sweep``, tries all, and
``HYPOTHESIS_PROFILE=thorough`` many more.
"""

from __future__ import annotations

import os
from typing import Final

PROFILE: Final = os.environ.get("HYPOTHESIS_PROFILE", "quick")
IS_THOROUGH: Final = PROFILE == "thorough"
SHARE: Final = 10
"""The first tier tries one of so many."""


def examples(count: int, thorough: int = 0) -> int:
    """How many of ``count`` examples this tier tries; ``thorough`` of them in the thorough profile."""
    if IS_THOROUGH:
        return thorough or count
    return count if PROFILE == "sweep" else max(1, count // SHARE)
