"""The names under which Restate knows sessions."""

from __future__ import annotations

from typing import Final

OBJECT: Final = "UllageSession"
"""The Virtual Object; its keys are the ids of sessions."""

HANDLER: Final = "drive"
