"""Which value of a setting counts: argument > session > project's file > user's file > environment > default.

    resolved = resolve({"model": "anthropic:claude-haiku-4-5"}, {}, read_configs(Path.cwd(), os.environ), os.environ)
    resolved.settings.trigger, resolved.source_of("trigger")
    resolved = resolved.change({"trigger": 0.9})          # in a running session: counts from now on

The operator's layers (argument, user's file, environment, and a project's file that the user has agreed to) are a
ceiling: what a session or any other project's file sets is narrowed as the ``Authority`` of the setting says.
``Resolved.narrowed`` lists what does not count; ``refuse_beyond`` refuses a command that asks for it.

What a layer says of one model (``[models."claude-haiku-4-5"]``) wins over what the same layer says of all. Of the
tables ``params``, ``mcp``, ``models`` and ``endpoints`` each entry is looked up by itself. Nothing is read but links,
to see whether one directory is inside another.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

from ullage.codec.params import owned_in, split
from ullage.errors import SettingError
from ullage.models.providers import Provider, read_name
from ullage.runtime.narrowing import Beyond, of_project, of_session
from ullage.runtime.setting_values import is_secret_name, literal_secrets
from ullage.runtime.settings import KEYS, Place, Settings, environment_name, meaning_of, nearest, read_value
from ullage.runtime.toml_lines import line_of
from ullage.wire.endpoints import destination_of

log = logging.getLogger(__name__)

NO_SETTINGS: Final = frozenset({"ULLAGE_DATA", "ULLAGE_CONFIG", "ULLAGE_API_KEY", "ULLAGE_RECORDINGS", "ULLAGE_TOKEN"})
"""Variables that are read elsewhere: directories, a file, a key, a server's token."""

_TABLES: Final = ("params", "mcp", "models", "endpoints")
_RANKS: Final[tuple[Place, ...]] = ("argument", "session", "project file", "user file", "environment")
_ALIKE: Final = 0.8  # a foreign ULLAGE_… variable is let be; one this much like a setting's is taken for a slip


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one place says. ``path`` and ``text`` are a file's, for messages and for directories relative to it."""

    place: Place
    said: Mapping[str, object]
    path: Path | None = None
    text: str = field(default="", repr=False)
    is_agreed: bool = False
    """Of a project's file: the user has looked at its content and agreed to it."""
    needs_answer: bool = False
    """Of a project's file: sessions have worked in its directory, so lying in a trusted one is not enough."""
    digest: str = ""
    """Of a file: names its content."""

    def where(self, *key: str) -> str:
        """The place in words, with the line of a key where a file says it: ``/home/me/ullage.toml, line 3``."""
        if self.path is None:
            return environment_name(key[0]) if self.place == "environment" and key else self.place
        line = line_of(self.text, key) if key and self.text else None
        return str(self.path) if line is None else f"{self.path}, line {line}"


class SettingSource(NamedTuple):
    """Who said a value: the place (``default`` is nobody), and which file, table or variable there."""

    place: Place | Literal["default"]
    where: str = ""

    def __str__(self) -> str:
        return f"{self.place} ({self.where})" if self.where else self.place


class Narrowed(NamedTuple):
    """A value of a session or of a project's file, or a part of it, that does not count."""

    place: Place
    key: str
    what: str
    where: str = ""
    """The file and line that set it."""
    may_be_asked: bool = False
    """Whether it counts once the user agrees to the project's file."""

    def __str__(self) -> str:
        why = meaning_of(self.key).who.why
        return f"{self.key}: {self.what} does not count: {why or 'the value can not be read'}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The settings that count, and who set each. ``layers`` are what was set, highest rank first."""

    settings: Settings
    layers: tuple[Layer, ...]
    sources: Mapping[str, SettingSource] = field(repr=False)
    narrowed: tuple[Narrowed, ...] = ()
    """What a session or a project's file sets in vain."""

    def source_of(self, key: str) -> SettingSource:
        """Who set a key's value; of a table, the highest place that set anything. Raises ``SettingError``."""
        meaning_of(key)
        return self.sources.get(key, SettingSource("default"))

    @property
    def session(self) -> Mapping[str, object]:
        """What the session itself sets: what a store keeps of it."""
        return next((layer.said for layer in self.layers if layer.place == "session"), {})

    def change(self, changes: Mapping[str, object]) -> Resolved:
        """What counts after a change in a running session: it is the session's value, and wins over an argument.

        Another ``model`` brings what the layers say of that model. Raises ``SettingError`` for a value that can't be
        and for one beyond the operator's; then nothing has changed.
        """
        own = checked(Layer(place="session", said={**self.session, **changes}))
        others = [layer for layer in self.layers if layer.place != "session"]
        resolved = _resolved(_ranked([*others, own]), frozenset(changes))
        refuse_beyond(resolved, changes)
        return resolved


def resolve(
    arguments: Mapping[str, object],
    session: Mapping[str, object],
    files: Sequence[Layer],
    environment: Mapping[str, str],
    *,
    session_first: Collection[str] = (),
) -> Resolved:
    """The settings that count. ``files`` may stand in any order: each says whether it is the user's or a project's.

    ``session_first`` names the settings in which the session wins over an argument. A value of the session that can't
    be read is left out, for a ledger may have been written by anyone. Raises ``SettingError`` for every other unknown
    key, with the nearest known one; for a value that a key can't take; for a field of ``params`` that only the encoder
    sets. The message names the file and the line, or the variable.
    """
    layers = [checked(Layer(place="argument", said=arguments)), *map(checked, files)]
    layers.append(checked(Layer(place="environment", said=_of_environment(environment))))
    own, unreadable = _readable(Layer(place="session", said=session))
    resolved = _resolved(_ranked([*layers, own]), frozenset(session_first))
    return replace(resolved, narrowed=(*unreadable, *resolved.narrowed))


def check_values(said: Mapping[str, object]) -> None:
    """Raise ``SettingError`` where a command's value can't be, or its key is unknown."""
    checked(Layer(place="session", said=said))


def refuse_beyond(resolved: Resolved, keys: Collection[str]) -> None:
    """Raise ``SettingError`` where a session's value of one of these keys is more than the operator allows."""
    for one in resolved.narrowed:
        if one.place == "session" and one.key in keys:
            raise SettingError(
                f"{one.key}: {one.what} is more than this program was started with. {_how_to_allow(one.key)}"
            )


def left_out(resolved: Resolved) -> str:
    """One sentence on what the session itself sets in vain, and how to allow it; empty where all of it counts.

    Names the settings and not their values, which anyone may have written.
    """
    keys = list(dict.fromkeys(one.key for one in resolved.narrowed if one.place == "session"))
    if not keys:
        return ""
    options = [meaning_of(key).who.option for key in keys if meaning_of(key).who.option]
    way = f"{', '.join(options)} at the start" if options else "your own ullage.toml"
    return (
        f"This session's own {', '.join(keys)} {'count' if len(keys) > 1 else 'counts'} only as far as this program "
        f"was started with; {way} can allow more."
    )


def _how_to_allow(key: str) -> str:
    option, variable = meaning_of(key).who.option, environment_name(key)
    way = f"Start it with {option}" if option else f"Start it with {variable}=…" if variable else "Stop it"
    return f"{way}, or set `{key}` in your own ullage.toml and start it again."


def _ranked(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    return tuple(sorted(layers, key=lambda one: _RANKS.index(one.place)))


def _readable(layer: Layer) -> tuple[Layer, list[Narrowed]]:
    """The layer with the values that can be read, and the others."""
    good: dict[str, object] = {}
    bad: list[Narrowed] = []
    for key, value in layer.said.items():
        try:
            good |= checked(replace(layer, said={key: value})).said
        except SettingError as problem:
            log.info("A setting of a session is left out: %s", problem)
            if key in KEYS:
                bad.append(Narrowed(layer.place, key, "its value"))
    return replace(layer, said=good), bad


class _Spoken(NamedTuple):
    """The model that counts, by the names a table of it may have, and how it is reached.

    ``is_elsewhere``: its provider is not the operator's model's.
    """

    names: tuple[str, ...]
    wire: str
    is_elsewhere: bool


def _resolved(layers: tuple[Layer, ...], session_first: frozenset[str]) -> Resolved:
    trusted = next((cast(tuple[Path, ...], one.said["trusted"]) for one in layers if _may_trust(one)), ())
    layers = tuple(replace(one, is_agreed=True) if _is_trusted(one, trusted) else one for one in layers)
    own = next((one for one in layers if one.place == "session"), Layer(place="session", said={}))
    first = session_first | {key for key in own.said if meaning_of(key).who.is_ceiling}
    spoken = _spoken(layers, first)
    narrowed: list[Narrowed] = []
    counting: list[Layer] = []
    for layer in layers:
        if layer.place == "project file":
            kept, beyond = of_project(layer.said, is_agreed=layer.is_agreed, wire=spoken.wire)
            narrowed += [_narrowed(layer, one) for one in beyond]
            counting.append(replace(layer, said=kept))
        elif layer.place != "session":
            counting.append(layer)
    ceiling, _ = _merged_layers(counting, spoken)
    limits = {key: value for key, value in ceiling.items() if meaning_of(key).who.session == "narrower"}
    kept, beyond = of_session(own.said, Settings(**limits), spoken.wire)
    narrowed += [_narrowed(own, one) for one in beyond]
    found, sources = _merged_layers(_with_session(counting, replace(own, said=kept), first), spoken)
    if spoken.is_elsewhere:
        found |= _elsewhere(found, sources)
    _refuse_owned(found, layers, spoken.wire)
    return Resolved(settings=Settings(**found), layers=layers, sources=sources, narrowed=tuple(narrowed))


def _may_trust(layer: Layer) -> bool:
    return "trusted" in layer.said and layer.place not in ("session", "project file")


def _narrowed(layer: Layer, beyond: Beyond) -> Narrowed:
    where = layer.where(beyond.key) if layer.path is not None else ""
    return Narrowed(layer.place, beyond.key, beyond.what, where, beyond.may_be_asked)


def _spoken(layers: Sequence[Layer], session_first: frozenset[str]) -> _Spoken:
    """Which model counts, on which wire. A project's file is heard when the user has agreed to it.

    An address belongs to the provider of the model that is named beside it, else of the operator's model; without
    one to models that name no provider. No other provider's key goes there.
    """
    heard = [one for one in layers if one.place != "project file" or one.is_agreed]
    operator = [one for one in heard if one.place != "session"]
    addressed = [one for one in operator if one.place != "project file" and one.said.get("base_url")][:1]
    base_url = _first("base_url", addressed)
    endpoints = _endpoints(layers)
    before = _provider(_first("model", [*addressed, *operator]), base_url, _first("wire", operator), endpoints)
    own = next((one for one in heard if one.place == "session"), None)
    ranked = operator if own is None else _with_session(operator, own, session_first)
    model = _first("model", ranked)
    now = _provider(model, base_url, _first("wire", ranked), endpoints)
    owner = before.name or (base_url and SERVER)
    is_elsewhere = bool(owner and now.name and owner != now.name)
    if is_elsewhere:
        now = _provider(model, "", _first("wire", [one for one in ranked if one.place == "session"]), endpoints)
    return _Spoken(_names_of(model, endpoints), now.wire, is_elsewhere)


def _with_session(others: Sequence[Layer], own: Layer, first: Collection[str]) -> list[Layer]:
    """The session's layer among the others: above the arguments with the keys in ``first``, below with the rest."""
    above = replace(own, said={key: value for key, value in own.said.items() if key in first})
    below = replace(own, said={key: value for key, value in own.said.items() if key not in first})
    return [above, *_ranked([*others, below])]


SERVER: Final = "(server)"
"""Stands for the provider of a model that names none: whoever answers at the operator's address."""


class _Reached(NamedTuple):
    name: str
    wire: str


def _endpoints(layers: Iterable[Layer]) -> dict[str, Provider]:
    """The endpoints that the operator names, the highest rank first among those of one name."""
    found: dict[str, Provider] = {}
    for layer in layers:
        if layer.place not in ("session", "project file"):
            found = {**cast(Mapping[str, Provider], layer.said.get("endpoints", {})), **found}
    return found


def _provider(model: str, base_url: str, wire: str, endpoints: Mapping[str, Provider]) -> _Reached:
    """The provider's name (``SERVER`` for one without) and wire; both empty for a model that leads nowhere."""
    if not model:
        return _Reached("", "")
    try:
        provider, _ = destination_of(model, base_url=base_url, wire=wire, endpoints=endpoints)
    except SettingError:
        return _Reached("", "")
    return _Reached(provider.name or SERVER, provider.wire)


def _first(key: str, layers: Iterable[Layer]) -> str:
    return next((str(one.said[key]) for one in layers if key in one.said), "")


def _elsewhere(found: Mapping[str, Any], sources: Mapping[str, SettingSource]) -> dict[str, Any]:
    """The operator's address and wire belong to the provider of its own model: another one is reached as usual."""
    is_own_wire = "wire" in sources and sources["wire"].place == "session"
    return {"base_url": "", "wire": found["wire"] if is_own_wire else ""}


def _refuse_owned(found: Mapping[str, Any], layers: Sequence[Layer], wire: str) -> None:
    for name in owned_in(found.get("params", {}), wire):
        layer = next((one for one in layers if name in cast(Mapping[str, object], one.said.get("params", {}))), None)
        where = f"{layer.where('params', name)}: " if layer is not None else ""
        raise SettingError(
            f"{where}params.{name} can't be set: that field of a request is made from the session itself. Remove it."
        )


def _merged_layers(layers: Sequence[Layer], spoken: _Spoken) -> tuple[dict[str, Any], dict[str, SettingSource]]:
    """All layers in one, the highest rank first among them."""
    found: dict[str, Any] = {}
    sources: dict[str, SettingSource] = {}
    for layer in reversed(layers):
        is_operator = layer.place not in ("session", "project file") or layer.is_agreed
        for said, table in _said_of(layer, spoken.names):
            for key, given in said.items():
                value = _only_open(given, spoken.wire) if key == "params" and not is_operator else given
                found[key] = _merged(key, found.get(key), value) if key in _TABLES else value
                sources[key] = SettingSource(layer.place, _place_of(layer, key, table))
    return found, sources


def _only_open(params: object, wire: str) -> dict[str, object]:
    return split(cast(Mapping[str, object], params), wire).open


def _said_of(layer: Layer, names: Iterable[str]) -> Iterator[tuple[Mapping[str, object], str]]:
    """What the layer says of all models, then what it says of this one, by its bare and by its full name."""
    yield layer.said, ""
    tables = layer.said.get("models")
    if isinstance(tables, Mapping):
        for name in names:
            if name in tables:
                yield tables[name], name


def _names_of(model: str, endpoints: Mapping[str, Provider]) -> tuple[str, ...]:
    """What a table of one model may be called: the model's name without and with its provider."""
    try:
        bare = read_name(model, endpoints).model
    except SettingError:
        return (model,)
    return (bare,) if bare == model else (bare, model)


def _merged(key: str, lower: Any, higher: Any) -> dict[str, Any]:
    merged = {**(lower or {}), **higher}
    if key == "models" and lower:
        return {name: {**lower.get(name, {}), **said} for name, said in merged.items()}
    return merged


def _place_of(layer: Layer, key: str, table: str) -> str:
    where = str(layer.path) if layer.path else environment_name(key) if layer.place == "environment" else ""
    if not table:
        return where
    return f'{where} [models."{table}"]'.strip()


def _of_environment(environment: Mapping[str, str]) -> dict[str, object]:
    said: dict[str, object] = {}
    for name, value in environment.items():
        if not name.startswith("ULLAGE_") or name in NO_SETTINGS or not value.strip():
            continue
        key = name.removeprefix("ULLAGE_").lower()
        if key in KEYS and not environment_name(key):
            raise SettingError(f"{name}: {key} is a table, which no variable can hold. Set it in ullage.toml.")
        if key in KEYS:
            said[key] = value
        elif alike := difflib.get_close_matches(key, KEYS, n=1, cutoff=_ALIKE):
            meant = f"ULLAGE_{alike[0].upper()}"
            raise SettingError(f"The environment sets {name}, which is no setting. Did you mean {meant!r}?")
    return said


def checked(layer: Layer) -> Layer:
    """The layer with every value read. Raises ``SettingError`` that says where."""
    read: dict[str, object] = {}
    for key, value in layer.said.items():
        if key not in KEYS:
            raise SettingError(f"{layer.where(key)}: {_unknown(key)}")
        try:
            read[key] = _read(key, value, layer)
        except SettingError as problem:
            raise SettingError(f"{layer.where(*_path_of_problem(key, value))}: {problem}") from problem
        if key in _TABLES and layer.place != "argument":
            _refuse_secrets(key, read[key], layer)
    return replace(layer, said=read)


def _unknown(key: str) -> str:
    if is_secret_name(key):
        return (
            f"{key!r} is no setting: keys come from the environment alone, so that none lies in a file or a session. "
            "Remove it, and set the provider's variable, such as ANTHROPIC_API_KEY."
        )
    return f"there is no setting {key!r}.{nearest(key, KEYS)}"


def _read(key: str, value: object, layer: Layer) -> object:
    read = read_value(key, value)
    if layer.path is not None and isinstance(read, Path):
        return layer.path.parent / read
    if layer.path is not None and key == "trusted":
        return tuple(layer.path.parent / each for each in read)
    return read


def _refuse_secrets(key: str, table: object, layer: Layer) -> None:
    for path in literal_secrets(table, (key,)):
        instead = 'Write "${NAME}" for a variable of the environment.' if key == "mcp" else "Remove it."
        raise SettingError(
            f"{layer.where(*path)}: {'.'.join(path)} holds a secret, and none may lie in a file or a session. {instead}"
        )


def _path_of_problem(key: str, value: object) -> tuple[str, ...]:
    """The key that can't be, or the first entry in its table that can't be by itself."""
    if not isinstance(value, Mapping) or key not in _TABLES:
        return (key,)
    for name, entry in value.items():
        if key == "models" and isinstance(entry, Mapping):
            for each in entry:
                if not _can_be(key, {name: {each: entry[each]}}):
                    return (key, name, each)
        elif not _can_be(key, {name: entry}):
            return (key, name)
    return (key,)


def _can_be(key: str, value: object) -> bool:
    try:
        read_value(key, value)
    except SettingError:
        return False
    return True


def _is_trusted(layer: Layer, trusted: tuple[Path, ...]) -> bool:
    if layer.path is None or layer.place != "project file" or layer.needs_answer:
        return False
    return is_inside(layer.path.parent, trusted)


def is_inside(directory: Path, places: Iterable[Path]) -> bool:
    """Whether a directory is one of these or lies below one, wherever links lead."""
    real = directory.resolve()
    return any(real.is_relative_to(each.resolve()) for each in places)
