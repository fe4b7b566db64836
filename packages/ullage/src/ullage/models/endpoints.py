"""Endpoints that the user names in a configuration file: ``[endpoints.lab]`` makes ``lab:model`` a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, cast, get_args

from ullage.errors import SettingError
from ullage.models.providers import (
    Auth,
    ProviderRow,
    check_wire,
    is_listed,
    provider_named,
)
from ullage.similar import did_you_mean

KEYS: Final = ("base_url", "wire", "key_env", "auth")

_NAME: Final = re.compile(r"[a-z][a-z0-9_.-]*")
_VARIABLE: Final = re.compile(
    r"([A-Z][A-Z0-9_]*_)?(API_?KEY|KEY|TOKEN|SECRET)(_[A-Z0-9_]+)?"
)
"""Names of variables whose values are masked in logs."""
_ADDRESS: Final = re.compile(r"https?://[^\s/@?#]+(/[^\s@?#]*)?")
_RESERVED: Final = frozenset({"ft", "arn"})
"""How the names of models begin, with a colon behind it."""


def read_endpoints(table: object, wires: Collection[str]) -> dict[str, ProviderRow]:
    """The endpoints of a table ``{name: {base_url, wire, key_env, auth}}``, by name, as rows like those of providers.

    ``wires`` are the names of those that Ullage can send on. Raises ``SettingError`` that names the endpoint and says
    what would be right, and shows nothing that may be secret.
    """
    if not isinstance(table, Mapping):
        raise SettingError(
            "endpoints can't be this: give a table for each name, as in [endpoints.lab]."
        )
    endpoints: dict[str, ProviderRow] = {}
    for name, entry in table.items():
        provider = (
            entry
            if isinstance(entry, ProviderRow)
            else _read_endpoint(str(name), entry, wires)
        )
        if provider.name in endpoints:
            raise SettingError(
                f"endpoints.{name}: there are two endpoints of this name. Rename one of them."
            )
        endpoints[provider.name] = provider
    return endpoints


def _read_endpoint(name: str, entry: object, wires: Collection[str]) -> ProviderRow:
    where = f"endpoints.{name}"
    lowered = name.lower()
    if is_listed(name):
        raise SettingError(
            f"{where} has the name of the provider {provider_named(name).name!r}, which every program means by it. "
            "Choose another name."
        )
    if not _NAME.fullmatch(lowered) or lowered in _RESERVED:
        raise SettingError(
            f"{where}: a name is a letter, then letters, digits, '-', '_' and '.'. Choose another name."
        )
    if not isinstance(entry, Mapping):
        raise SettingError(f"{where} can't be this: give a table of {', '.join(KEYS)}.")
    for key in entry:
        if key not in KEYS:
            raise SettingError(f"{where} can't set {key!r}.{_hint(str(key))}")
    texts = {key: _text(where, key, entry.get(key, "")) for key in KEYS}
    if not _ADDRESS.fullmatch(texts["base_url"]):
        raise SettingError(
            f"{where}.base_url must be the address of a server, without a key in it: as https://host.example/v1."
        )
    if texts["key_env"] and not _VARIABLE.fullmatch(texts["key_env"]):
        raise SettingError(
            f"{where}.key_env must be the name of a variable such as LAB_API_KEY or LAB_TOKEN, and not the key itself."
        )
    auth = texts["auth"] or "bearer"
    if auth not in get_args(Auth):
        raise SettingError(
            f"{where}.auth={auth!r} is not possible: there are {', '.join(get_args(Auth))}."
        )
    try:
        wire = check_wire(texts["wire"] or "chat", wires)
    except SettingError as problem:
        raise SettingError(f"{where}.wire: {problem}") from None
    return ProviderRow(
        name=lowered,
        wire=wire,
        base_url=texts["base_url"],
        key_env=(texts["key_env"],) if texts["key_env"] else (),
        needs_key=bool(texts["key_env"]),
        auth=cast(Auth, auth),
        hosting="own server",
    )


def _text(where: str, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise SettingError(f"{where}.{key} must be a text.")
    return value.strip()


def _hint(key: str) -> str:
    if re.search(r"key|token|secret", key, re.IGNORECASE):
        return " A key comes from the environment alone: name its variable with key_env."
    return did_you_mean(key, KEYS) or f" There are {', '.join(KEYS)}."
