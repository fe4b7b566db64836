"""Models of the catalogue whose names are like one that is unknown."""

from __future__ import annotations

import difflib
from typing import Final

from ullage.models.catalogue import in_use

SUGGESTED: Final = 3
"""How many similar names are suggested for an unknown one."""

_ALIKE: Final = 0.75
"""``difflib``'s ratio above which a model is suggested. Names of one family differ little, so it is a high one."""


def similar_models(name: str) -> list[str]:
    """At most ``SUGGESTED`` models, as ``provider:model``, whose names, with or without provider, are like this one."""
    full = catalogue_names()
    bare = {each.partition(":")[2]: each for each in reversed(full)}
    lowered = name.lower()
    near = difflib.get_close_matches(lowered, full, SUGGESTED, _ALIKE)
    for each in difflib.get_close_matches(lowered, bare, SUGGESTED, _ALIKE):
        near.append(bare[each])
    return list(dict.fromkeys(near))[:SUGGESTED]


def similar_models_of(provider: str, name: str) -> list[str]:
    """The same among one provider's models, without the provider. Empty where the catalogue has the model itself."""
    rows = in_use().providers.get(provider, ())
    if any(row.matches(name.lower()) for row in rows):
        return []
    names = []
    for row in rows:
        names.append(next(iter(row.names), row.patterns))
    return difflib.get_close_matches(name.lower(), names, SUGGESTED, _ALIKE)


def catalogue_names() -> list[str]:
    """Every model of the catalogue as ``provider:model``."""
    names = []
    for provider, rows in in_use().providers.items():
        for row in rows:
            names.append(f"{provider}:{next(iter(row.names), row.patterns)}")
    return names
