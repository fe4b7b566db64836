"""Which value of a setting counts: argument > session > project's file > user's file > environment > default.

    resolved = resolve({"model": "anthropic:claude-haiku-4-5"}, {}, read_configs(Path.cwd(), os.environ), os.environ)
    resolved.settings.trigger, resolved.source_of("trigger")
    resolved = resolved.change({"trigger": 0.9})          # in a running session: counts from now on

What a layer says of one model (``[models."claude-haiku-4-5"]``) wins over what the same layer says of all. Of the
tables ``params``, ``mcp`` and ``models`` each entry is looked up by itself. Nothing is read but links, to see
whether a directory is a trusted one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

from ullage.errors import SettingError
from ullage.runtime.setting_values import is_secret_name, literal_secrets
from ullage.runtime.settings import KEYS, Place, Settings, environment_name, meaning_of, nearest, read_value
from ullage.runtime.toml_lines import line_of
from ullage.wire.endpoints import split_provider

NO_SETTINGS: Final = frozenset({"ULLAGE_DATA", "ULLAGE_CONFIG", "ULLAGE_API_KEY", "ULLAGE_RECORDINGS", "ULLAGE_TOKEN"})
"""Variables that are read elsewhere: directories, a file, a key, a server's token."""

_TABLES: Final = ("params", "mcp", "models")
_RANKS: Final[tuple[Place, ...]] = ("argument", "session", "project file", "user file", "environment")
_ALIKE: Final = 0.8  # a foreign ULLAGE_… variable is let be; one this much like a setting's is taken for a slip


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one place says. ``path`` and ``text`` are a file's, for messages and for directories relative to it."""

    place: Place
    said: Mapping[str, object]
    path: Path | None = None
    text: str = field(default="", repr=False)

    def where(self, *key: str) -> str:
        """The place in words, with the line of a key where a file says it: ``/home/me/ullage.toml, line 3``."""
        if self.path is None:
            return environment_name(key[0]) if self.place == "environment" and key else self.place
        line = line_of(self.text, key) if key and self.text else None
        return str(self.path) if line is None else f"{self.path}, line {line}"


class Source(NamedTuple):
    """Who said a value: the place (``default`` is nobody), and which file, table or variable there."""

    place: Place | Literal["default"]
    where: str = ""

    def __str__(self) -> str:
        return f"{self.place} ({self.where})" if self.where else self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The settings that count, and who said each. ``layers`` are what was said, highest rank first."""

    settings: Settings
    layers: tuple[Layer, ...]
    sources: Mapping[str, Source] = field(repr=False)

    def source_of(self, key: str) -> Source:
        """Who said a key's value; of a table, the highest place that said anything. Raises ``SettingError``."""
        meaning_of(key)
        return self.sources.get(key, Source("default"))

    @property
    def session(self) -> Mapping[str, object]:
        """What the session itself says: what a store keeps of it."""
        return next((layer.said for layer in self.layers if layer.place == "session"), {})

    def change(self, changes: Mapping[str, object]) -> Resolved:
        """What counts after a change in a running session: it is the session's word, and the argument's no longer.

        Another ``model`` brings what the layers say of that model. Raises ``SettingError``; then nothing has changed.
        """
        earlier = {"argument": dict[str, object](), "session": dict[str, object]()}
        rest: list[Layer] = []
        for layer in self.layers:
            if layer.place in earlier:
                earlier[layer.place] = _without(layer.said, changes.keys(), self.settings.model)
            else:
                rest.append(layer)
        return _resolved(
            (
                Layer(place="argument", said=earlier["argument"]),
                checked(Layer(place="session", said={**earlier["session"], **changes})),
                *rest,
            )
        )


def resolve(
    arguments: Mapping[str, object],
    session: Mapping[str, object],
    files: Sequence[Layer],
    environment: Mapping[str, str],
) -> Resolved:
    """The settings that count. ``files`` may stand in any order: each says whether it is the user's or a project's.

    Raises ``SettingError`` for an unknown key, with the nearest known one; for a value that a key can't take; for a
    key that may not be said there. The message names the file and the line, or the variable.
    """
    layers = [Layer(place="argument", said=arguments), Layer(place="session", said=session), *files]
    layers.append(Layer(place="environment", said=_of_environment(environment)))
    return _resolved(tuple(checked(layer) for layer in sorted(layers, key=lambda one: _RANKS.index(one.place))))


def _resolved(layers: tuple[Layer, ...]) -> Resolved:
    trusted = next((cast(tuple[Path, ...], one.said["trusted"]) for one in layers if "trusted" in one.said), ())
    for layer in layers:
        _check_places(layer, trusted)
    model = str(next((layer.said["model"] for layer in layers if "model" in layer.said), ""))
    found: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for layer in reversed(layers):
        for said, table in _said_of(layer, model):
            for key, value in said.items():
                found[key] = _merged(key, found.get(key), value) if key in _TABLES else value
                sources[key] = Source(layer.place, _place_of(layer, key, table))
    return Resolved(settings=Settings(**found), layers=layers, sources=sources)


def _said_of(layer: Layer, model: str) -> Iterator[tuple[Mapping[str, object], str]]:
    """What the layer says of all models, then what it says of this one, by its bare and by its full name."""
    yield layer.said, ""
    tables = layer.said.get("models")
    if isinstance(tables, Mapping):
        for name in _names_of(model):
            if name in tables:
                yield tables[name], name


def _names_of(model: str) -> tuple[str, ...]:
    bare = split_provider(model)[1]
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


def _without(said: Mapping[str, object], keys: Iterable[str], model: str) -> dict[str, object]:
    """What is left when these keys are said anew: the current model's own table says them no longer either."""
    gone = set(keys)
    left = {key: value for key, value in said.items() if key not in gone}
    tables = left.get("models")
    if isinstance(tables, Mapping):
        names = _names_of(model)
        left["models"] = {
            name: {key: value for key, value in table.items() if key not in gone} if name in names else table
            for name, table in tables.items()
        }
    return left


def _of_environment(environment: Mapping[str, str]) -> dict[str, object]:
    said: dict[str, object] = {}
    for name, value in environment.items():
        if not name.startswith("ULLAGE_") or name in NO_SETTINGS or not value.strip():
            continue
        key = name.removeprefix("ULLAGE_").lower()
        if key in KEYS and not environment_name(key):
            raise SettingError(f"{name}: {key} can't be said by a variable, only as {_listed(meaning_of(key).places)}.")
        if key in KEYS:
            said[key] = value
        elif alike := difflib.get_close_matches(key, KEYS, n=1, cutoff=_ALIKE):
            meant = f"ULLAGE_{alike[0].upper()}"
            raise SettingError(f"The environment sets {name}, which is no setting. Did you mean {meant!r}?")
    return said


def checked(layer: Layer) -> Layer:
    """The layer with every value read. Raises ``SettingError`` that says where.

    Whether a key may be said there is not looked at: for a project's file that is a question of trust.
    """
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


def _check_places(layer: Layer, trusted: tuple[Path, ...]) -> None:
    for key in layer.said:
        places = meaning_of(key).places
        if layer.place in places:
            continue
        where = layer.where(key)
        if layer.place != "project file":
            raise SettingError(f"{where}: {key} can't be said there, only as {_listed(places)}.")
        if "user file" in places and key != "trusted" and _is_trusted(layer, trusted):
            continue
        said = "" if key == "trusted" else ", or add its directory to `trusted` in your own file"
        raise SettingError(
            f"{where}: a project's file may not say {key}, which decides where keys go, what runs or what is spent. "
            f"Say it as {_listed(places)}{said}."
        )


def _is_trusted(layer: Layer, trusted: tuple[Path, ...]) -> bool:
    if layer.path is None:
        return False
    directory = layer.path.parent.resolve()  # a link or ".." must not make a directory look trusted
    return any(directory.is_relative_to(each.resolve()) for each in trusted)


def _listed(places: Sequence[str]) -> str:
    return ", ".join(places[:-1]) + f" or {places[-1]}"
