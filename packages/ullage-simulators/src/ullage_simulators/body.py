"""The type of what requests and answers are made of."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Body = dict[str, Any]
"""A JSON object."""

Count = Annotated[int, msgspec.Meta(ge=0)]
Quantity = Annotated[float, msgspec.Meta(ge=0)]
"""Numbers that a scenario's file may set."""
