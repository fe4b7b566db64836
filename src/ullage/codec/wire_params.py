"""Which fields of a request body ``params`` may set, wire by wire.

Two lists per wire. *Owned* fields are written by the encoder from the session itself, and nobody can replace them:
the conversation, the tools, the model, what the provider stores. *Open* fields shape the answer and nothing else, so
that a project, a caller or a session may set them. Everything between is the operator's: it may attach servers, keep
data on the provider's side, or cost extra.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

FieldTree = Mapping[str, "FieldTree | None"]
"""Names of fields; behind each the fields that an object there may have, ``None`` for a value of any shape."""


class WireParams(NamedTuple):
    """The two lists of one wire. ``source`` documents its fields."""

    owned: frozenset[str]
    open: FieldTree
    source: str

    def owned_in(self, params: Mapping[str, object]) -> tuple[str, ...]:
        """The names in ``params`` of fields that the encoder writes itself.

        Some servers read names without regard to case or underscores, so neither makes another field of one.
        """
        owned = frozenset(map(_folded, self.owned))
        return tuple(name for name in params if _folded(name) in owned)

    def unowned(self, params: Mapping[str, object]) -> Mapping[str, object]:
        """``params`` without the encoder's own fields; the same mapping where there are none."""
        owned = self.owned_in(params)
        return {name: value for name, value in params.items() if name not in owned} if owned else params


def fields(*names: str) -> dict[str, FieldTree | None]:
    """FieldTree that take a value of any shape."""
    return dict.fromkeys(names)


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
