"""A layer is what one place sets: arguments, a session, a file or the environment. Its values are checked here."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ullage.display.text import quoted
from ullage.errors import SettingError, WrongType
from ullage.similar import TYPO
from ullage_agent.runtime.authority import PROJECT_KEYS, is_hidden
from ullage_agent.runtime.setting_values import is_secret_name, literal_secrets
from ullage_agent.runtime.settings import (
    KEYS,
    TABLES,
    Place,
    environment_name,
    from_text,
    read_value,
)
from ullage_agent.tools.other_names import CALLS, explained

NO_SETTINGS: Final = frozenset(
    {
        "ULLAGE_DATA",
        "ULLAGE_CONFIG",
        "ULLAGE_API_KEY",
        "ULLAGE_RECORDINGS",
        "ULLAGE_TOKEN",
    }
)
"""Variables that are read elsewhere: directories, a file, a key, a server's token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one place sets. ``path`` and ``text`` are a file's, for messages and for directories relative to it."""

    place: Place
    values: Mapping[str, object]
    path: Path | None = None
    text: str = field(default="", repr=False)

    def where(self, *key: str) -> str:
        """The place as text, with the line of a key for a file: ``/home/me/ullage.toml, line 3``.

        Args:
            key: The key, as its path through tables.
        """
        if self.path is not None:
            line = _line_of(self.text, key) if key and self.text else 0
            return f"{self.path}, line {line}" if line else str(self.path)
        if self.place == "environment" and key:
            return environment_name(key[0])
        return self.place


def read_layer(layer: Layer) -> Layer:
    """The layer with every value read. Raises ``SettingError`` that names the place."""
    read: dict[str, object] = {}
    for key, given in layer.values.items():
        if key not in KEYS:
            raise SettingError(f"{layer.where(key)}: {unknown_setting(key)}")
        if layer.place == "project file" and key not in PROJECT_KEYS:
            raise _no_project_s(layer, key)
        value = _read(layer, key, given)
        if layer.place == "project file" and key == "instruction_files":
            _refuse_hidden(value, layer)
        if layer.path is not None and isinstance(value, Path):
            value = layer.path.parent / value
        if key in TABLES and layer.place != "argument":
            _refuse_secrets(key, value, layer)
        read[key] = value
    return replace(layer, values=read)


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """The settings that the environment's variables set. Raises ``SettingError``."""
    values: dict[str, object] = {}
    for name, value in environment.items():
        if not name.startswith("ULLAGE_") or name in NO_SETTINGS or not value.strip():
            continue
        key = name.removeprefix("ULLAGE_").lower()
        if key in KEYS:
            if not environment_name(key):
                raise SettingError(
                    f"{name}: {key} is a table, which no variable can hold. Set it in ullage.toml."
                )
            values[key] = from_text(key, value)
        elif alike := difflib.get_close_matches(key, KEYS, n=1, cutoff=TYPO):
            meant = f"ULLAGE_{alike[0].upper()}"
            raise SettingError(
                f"The environment sets {name}, which is no setting. Did you mean {meant!r}?"
            )
    return read_layer(Layer(place="environment", values=values))


def unknown_setting(key: str, arguments: Iterable[str] = ()) -> str:
    """One sentence about a setting that there is not. ``arguments`` are further names that are known at this place."""
    if is_secret_name(key):
        return (
            f"{quoted(key)} is no setting: keys come from the environment alone, so that none lies in a file or a "
            "session. Remove it, and set the provider's variable, such as ANTHROPIC_API_KEY."
        )
    return explained(key, [*KEYS, *arguments])


def refuse_arguments(call: str, names: Iterable[str], has: Sequence[str]) -> None:
    """Raise ``WrongType`` for the first of these arguments, which a call that gives a message does not have.

    Args:
        call: How the call is written, as ``agent.ask``.
        names: The names of what it got too much.
        has: Those that it has.
    """
    listed = f"It takes {', '.join(has)}."
    for name in names:
        why = explained(name, has, CALLS, listed=listed)
        if name in KEYS and name not in CALLS:
            why = f"{quoted(name)} is a setting. {listed}"
        raise WrongType(
            f"{call}: {why} Give settings to Agent(…), or to a new session, agent.session(…). Nothing was sent."
        )


def _no_project_s(layer: Layer, key: str) -> SettingError:
    """The one sentence about a key that a project's file can't set, and where it may stand."""
    variable = environment_name(key)
    places = f"your own ullage.toml, {variable}" if variable else "your own ullage.toml"
    return SettingError(
        f"{layer.where(key)}: a project's file can't set {key}: remove it there, and set it in {places} or the call."
    )


def _refuse_hidden(names: object, layer: Layer) -> None:
    for name in names if isinstance(names, tuple) else ():
        if is_hidden(name):
            raise SettingError(
                f"{layer.where('instruction_files')}: a project's file can't name the hidden file {quoted(name)} in "
                "`instruction_files`: remove it there, and name it in your own ullage.toml, "
                "ULLAGE_INSTRUCTION_FILES or the call."
            )


def _refuse_secrets(key: str, table: object, layer: Layer) -> None:
    instead = "Remove it."
    if key == "mcp":
        instead = 'Write "${NAME}" for a variable of the environment.'
    for path in literal_secrets(table, (key,)):
        raise SettingError(
            f"{layer.where(*path)}: {'.'.join(path)} holds a secret, and none may lie in a file or a session. {instead}"
        )


def _read(layer: Layer, key: str, given: object) -> object:
    """The value; a table is read entry by entry before, so that the place of a wrong one is named."""
    paths: dict[tuple[str, ...], object] = {}
    if key in TABLES and isinstance(given, Mapping):
        paths = {(key, str(name)): {name: entry} for name, entry in given.items()}
    value: object = None
    for path, part in {**paths, (key,): given}.items():
        try:
            value = read_value(key, part)
        except SettingError as problem:
            raise SettingError(f"{layer.where(*path)}: {problem}") from problem
    return value


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """The line, from 1, that names ``path`` or as much of it as any line does; 0 where none begins with it."""
    table: tuple[str, ...] = ()
    found, longest = 0, 0
    for number, line in enumerate(text.splitlines(), 1):
        is_table = line.lstrip().startswith("[")
        try:
            keys = _keys_of(line if is_table else line.partition("=")[0] + "=0")
        except ValueError:
            continue
        table = keys if is_table else table
        here = (keys if is_table else (*table, *keys))[: len(path)]
        if here == path[: len(here)] and len(here) > longest:
            found, longest = number, len(here)
    return found


def _keys_of(line: str) -> tuple[str, ...]:
    """The keys of a line of TOML: ``mcp`` and ``github`` of ``[mcp.github]``."""
    keys: list[str] = []
    read: object = tomllib.loads(line)
    while isinstance(read, dict) and read:
        name, read = next(iter(read.items()))
        keys.append(name)
    return tuple(keys)
