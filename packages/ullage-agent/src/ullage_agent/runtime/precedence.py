"""Which value of a setting counts: argument > session > environment > project's file > user's file > default.

    resolved = resolve({"model": "anthropic:claude-haiku-4-5"}, {}, read_configs(Path.cwd(), os.environ), os.environ)
    resolved.settings.trigger, resolved.source_of("trigger")

What the operator sets (argument, environment, user's file) is a ceiling: what a session sets is narrowed as the
``Authority`` of the setting says. ``Resolved.narrowed`` lists what does not count; ``refuse_beyond`` refuses a command
that asks for it. A project's file holds only harmless settings (``layers.read_layer``).

A table of one model (``[models."claude-haiku-4-5"]``) wins over what the same layer sets for all models.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, cast, get_args

from ullage.codec.params import owned_in
from ullage.errors import SettingError
from ullage.models.providers import ProviderRow, read_name
from ullage.wire.endpoints import destination_of
from ullage_agent.runtime.authority import Kept
from ullage_agent.runtime.layers import Layer, environment_layer, read_layer
from ullage_agent.runtime.setting_values import shown
from ullage_agent.runtime.settings import (
    KEYS,
    TABLES,
    Place,
    Settings,
    environment_name,
    meaning_of,
)

log = logging.getLogger("ullage.agent")

_RANKS: Final = get_args(Place)

_UNNAMED_SERVER: Final = "(server)"
"""Stands for the provider of a model that names none: the server at the operator's address."""


class SettingSource(NamedTuple):
    """Which place set a value, and which file, table or variable there."""

    place: Place
    where: str = ""

    def __str__(self) -> str:
        return f"{self.place} ({self.where})" if self.where else self.place


class Narrowed(NamedTuple):
    """A value of a session, or a part of it, that does not count."""

    key: str
    what: str

    def __str__(self) -> str:
        why = meaning_of(self.key).who.why
        return f"{self.key}: {self.what} does not count: {why or 'the value can not be read'}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The settings that count, and the source of each. ``layers`` are what was set, highest rank first."""

    settings: Settings
    layers: tuple[Layer, ...]
    sources: Mapping[str, SettingSource] = field(repr=False)
    narrowed: tuple[Narrowed, ...] = ()
    """What a session sets in vain."""

    def source_of(self, key: str) -> SettingSource:
        """The source of a key's value; for a table, the highest place that set an entry. Raises ``SettingError``."""
        meaning_of(key)
        return self.sources.get(key, SettingSource("default"))


def resolve(
    arguments: Mapping[str, object],
    session: Mapping[str, object],
    files: Sequence[Layer],
    environment: Mapping[str, str],
    *,
    session_first: Collection[str] = (),
) -> Resolved:
    """The settings that count. ``files`` are the user's and a project's, and a program's own defaults, in any order.

    ``session_first`` names the settings in which the session wins over an argument. A value of the session that can't
    be read is left out, for a ledger may have been written by anyone. Raises ``SettingError`` for every other unknown
    key, with the nearest known one; for an impossible value; for a field of ``params`` that only the encoder sets. The
    message names the file and the line, or the variable.
    """
    given = [Layer(place="argument", values=arguments), *files]
    others = _ranked([*map(read_layer, given), environment_layer(environment)])
    narrowed: list[Narrowed] = []
    own = _readable(Layer(place="session", values=session), narrowed)
    layers = _ranked([*others, own])
    # A session's narrower value of a ceiling counts although an argument has a higher rank.
    above = {
        *session_first,
        *(key for key in own.values if meaning_of(key).who.is_ceiling),
    }
    model = _model_in_use(others, own, above)

    ceiling, _ = _merged(others, model)
    own = _within(own, Settings(**ceiling), model.wire, narrowed)
    values, sources = _merged(_with_session(others, own, above), model)
    if model.is_elsewhere:
        # The operator's address and wire belong to the provider of the operator's model.
        values["base_url"] = ""
        if "wire" not in sources or sources["wire"].place != "session":
            values["wire"] = ""
    _refuse_owned(values, layers, model.wire)
    return Resolved(
        settings=Settings(**values),
        layers=layers,
        sources=sources,
        narrowed=tuple(narrowed),
    )


# -- what a session or a caller asked for beyond the operator's settings --


def refuse_beyond(resolved: Resolved, keys: Collection[str]) -> None:
    """Raise ``SettingError`` where a session's value of one of these keys is more than the operator allows."""
    for key, what in resolved.narrowed:
        if key not in keys:
            continue
        option, variable = meaning_of(key).who.option, environment_name(key)
        is_argument = any(
            key in layer.values for layer in resolved.layers if layer.place == "argument"
        )
        if is_argument and not option:
            raise SettingError(
                f"{key}: {what} is more than the agent was made with. Make it with a larger Agent({key}=…), and open "
                "the session again."
            )
        way = "Stop it"
        if option or variable:
            way = f"Start it with {option or f'{variable}=…'}"
        raise SettingError(
            f"{key}: {what} is more than this program was started with. {way}, or set `{key}` in your own ullage.toml "
            "and start it again."
        )


def left_out(resolved: Resolved) -> str:
    """One sentence on what the session itself sets in vain, and how to allow it; empty where all of it counts.

    Names the settings and not their values, which anyone may have written.
    """
    keys = list(dict.fromkeys(found.key for found in resolved.narrowed))
    if not keys:
        return ""
    options = [meaning_of(key).who.option for key in keys if meaning_of(key).who.option]
    way = f"{', '.join(options)} at the start" if options else "your own ullage.toml"
    return (
        f"This session's own {', '.join(keys)} {'count' if len(keys) > 1 else 'counts'} only as far as this program "
        f"was started with; {way} can allow more."
    )


# -- layers and their rank --


def _ranked(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    return tuple(sorted(layers, key=lambda layer: _RANKS.index(layer.place)))


def _readable(layer: Layer, narrowed: list[Narrowed]) -> Layer:
    """The layer with the values that can be read; ``narrowed`` gets the others."""
    good: dict[str, object] = {}
    for key, given in layer.values.items():
        try:
            good |= read_layer(replace(layer, values={key: given})).values
        except SettingError as problem:
            log.info("A setting of a session is left out: %s", problem)
            if key in KEYS:
                narrowed.append(Narrowed(key, "its value"))
    return replace(layer, values=good)


def _with_session(
    others: Sequence[Layer], own: Layer, above: Collection[str]
) -> list[Layer]:
    """The session's layer among the others: above the arguments with the keys in ``above``, below with the rest."""
    first: dict[str, object] = {}
    rest: dict[str, object] = {}
    for key, value in own.values.items():
        (first if key in above else rest)[key] = value
    return [
        replace(own, values=first),
        *_ranked([*others, replace(own, values=rest)]),
    ]


def _within(
    layer: Layer, ceiling: Settings, wire: str, narrowed: list[Narrowed]
) -> Layer:
    """What a session may set within the operator's settings; ``narrowed`` gets the rest."""
    values: dict[str, object] = {}
    for key, value in layer.values.items():
        who = meaning_of(key).who
        kept = Kept(value)
        if who.session == "never":
            narrowed.append(Narrowed(key, shown(value)))
            continue
        if who.narrow is not None:
            kept = who.narrow(value, getattr(ceiling, key), wire)
        values[key] = kept.value
        if kept.dropped:
            narrowed.append(Narrowed(key, kept.dropped))
    return replace(layer, values=values)


# -- the model that counts --


class _ModelInUse(NamedTuple):
    """The model that counts, by the names that a table of it may have, and its wire.

    ``is_elsewhere``: its provider is not that of the operator's model.
    """

    names: tuple[str, ...]
    wire: str
    is_elsewhere: bool


def _model_in_use(
    others: Sequence[Layer], own: Layer, above: Collection[str]
) -> _ModelInUse:
    """The model that counts.

    An address belongs to the provider of the model that is named beside it, else of the operator's model; without a
    model, to models that name no provider. No other provider's key goes there.
    """
    addressed = [layer for layer in others if layer.values.get("base_url")][:1]
    base_url = _first("base_url", addressed)
    endpoints: dict[str, ProviderRow] = {}
    for layer in reversed(others):
        endpoints |= cast(Mapping[str, ProviderRow], layer.values.get("endpoints", {}))

    owner, _ = _provider_of(
        _first("model", [*addressed, *others]),
        base_url,
        _first("wire", others),
        endpoints,
    )
    if not owner and base_url:
        owner = _UNNAMED_SERVER
    ranked = _with_session(others, own, above)
    model = _first("model", ranked)
    provider, wire = _provider_of(model, base_url, _first("wire", ranked), endpoints)
    is_elsewhere = bool(owner and provider and owner != provider)
    if is_elsewhere:
        _, wire = _provider_of(model, "", _first("wire", [own]), endpoints)
    try:
        bare = read_name(model, endpoints).model
    except SettingError:
        bare = model
    return _ModelInUse(tuple(dict.fromkeys((bare, model))), wire, is_elsewhere)


def _provider_of(
    model: str, base_url: str, wire: str, endpoints: Mapping[str, ProviderRow]
) -> tuple[str, str]:
    """The provider's name (``_UNNAMED_SERVER`` for one without) and wire; both empty where there is no provider."""
    if not model:
        return "", ""
    try:
        provider, _ = destination_of(
            model, base_url=base_url, wire=wire, endpoints=endpoints
        )
    except SettingError:
        return "", ""
    return provider.name or _UNNAMED_SERVER, provider.wire


def _first(key: str, layers: Iterable[Layer]) -> str:
    return next((str(layer.values[key]) for layer in layers if key in layer.values), "")


# -- merging layers --


def _merged(
    layers: Sequence[Layer], model: _ModelInUse
) -> tuple[dict[str, Any], dict[str, SettingSource]]:
    """The values of all layers, the highest rank first among them, and the source of each."""
    values: dict[str, Any] = {}
    sources: dict[str, SettingSource] = {}
    for layer in reversed(layers):
        tables = cast(Mapping[str, Mapping[str, Any]], layer.values.get("models", {}))
        for table in ("", *model.names):
            given: Mapping[str, Any] = tables.get(table, {}) if table else layer.values
            for key, value in given.items():
                lower = values.get(key, {})
                values[key] = {**lower, **value} if key in TABLES else value
                sources[key] = _source(layer, key, table)
    return values, sources


def _source(layer: Layer, key: str, table: str) -> SettingSource:
    """The place of a key's value; ``table`` names its table of one model."""
    where = str(layer.path or "")
    if layer.place == "environment":
        where = environment_name(key)
    if table:
        where = f'{where} [models."{table}"]'.strip()
    return SettingSource(layer.place, where)


def _refuse_owned(values: Mapping[str, Any], layers: Sequence[Layer], wire: str) -> None:
    for name in owned_in(values.get("params", {}), wire):
        where = ""
        for layer in reversed(layers):
            if name in cast(Mapping[str, object], layer.values.get("params", {})):
                where = f"{layer.where('params', name)}: "
        raise SettingError(
            f"{where}params.{name} can't be set: that field of a request is made from the session itself. Remove it."
        )
