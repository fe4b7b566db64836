"""``Provider`` objects among an agent's arguments: their names stand in the settings, the objects beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Protocol, runtime_checkable

from ullage.codec.wires import PYTHON
from ullage.display.text import quoted
from ullage.errors import SettingError, WrongType
from ullage.models.providers import ProviderRow
from ullage.provider import Provider

_NAME: Final = re.compile(r"[a-z][a-z0-9_.-]*")

MODEL_SETTINGS: Final = ("model", "fallback", "summary_model")
"""The settings that take a ``Provider``."""


@runtime_checkable
class _Served(Protocol):
    def served(self) -> tuple[ProviderRow, str] | None:
        """The server that answers in its place, and the model's name there."""
        ...


def with_names(arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments with ``name:model`` in the place of each provider, and the providers among ``endpoints``.

    Of two providers with the same name the second is called ``name-2``. Raises ``WrongType`` for an object that is
    neither a name nor a provider, ``SettingError`` for a name that a provider can't have.
    """
    named = dict(arguments)
    rows: dict[str, ProviderRow] = {}
    for key in MODEL_SETTINGS:
        value = named.get(key)
        if isinstance(value, list | tuple):
            named[key] = tuple(_named(one, rows) for one in value)
        elif value is not None:
            named[key] = _named(value, rows)
    if rows:
        given = named.get("endpoints")
        named["endpoints"] = {**(given if isinstance(given, Mapping) else {}), **rows}
    return named


def _named(value: object, rows: dict[str, ProviderRow]) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, type) or not isinstance(value, Provider):
        what = value.__name__ if isinstance(value, type) else type(value).__name__
        raise WrongType(
            f"A model is a name ('openai:gpt-5') or an object of a subclass of ullage.Provider, and not {what}."
        )
    if isinstance(value, _Served) and (served := value.served()) is not None:
        row, model = served
        rows[row.name] = row
        return f"{row.name}:{model}"
    name = first = (value.name or type(value).__name__.strip("_")).lower()
    if not _NAME.fullmatch(name):
        raise SettingError(
            f"A provider can't have the name {quoted(name)}: a name is a letter, then letters, digits, '-', '_' and "
            "'.'. Set `name` in its class."
        )
    count = 1
    while name in rows and rows[name].source is not value:
        count += 1
        name = f"{first}-{count}"
    rows[name] = ProviderRow(
        name=name, wire=PYTHON.name, needs_key=False, hosting="own server", source=value
    )
    return f"{name}:{value.model or first}"
