"""The type of what requests and answers are made of."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]
"""A JSON object."""
