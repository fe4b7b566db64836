"""Reads what another program's settings say about its window and its compaction threshold.

The files lie in the program's own directory, which is found from the place of the log: a log that was copied elsewhere
has no settings. They are not trusted: one that can't be read is left out, with a note.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping

from ullage_programs.facts import (
    ClientSetting,
    ClientSettings,
    ProgramFacts,
    SettingsPlaces,
)
from ullage_programs.files import NotRegular, read_regular
from ullage_programs.record import Record

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final

MOST_BYTES: Final = 1_000_000
"""Bytes of a settings file at the most; real ones have a few thousand."""

MOST_BRACKETS: Final = 20_000
"""Brackets in a TOML file at the most, which its reader follows recursively."""

MOST_LEVELS: Final = 8
"""Objects below a key at the most; real ones have four."""

PROXY_FILE: Final = "proxy.db"
"""Where the proxy stores what it metered: its sessions are of programs that keep their settings elsewhere."""


class FoundSettings(Record):
    """The settings by name, and what could not be read."""

    values: ClientSettings
    notes: tuple[str, ...] = ()


NOTHING_FOUND: Final = FoundSettings({})


class UnusableSettings(ValueError):
    """A settings file without settings that can be read; its text says why."""


def settings_of(
    facts: ProgramFacts | None,
    log: str | os.PathLike[str],
    cwd: str,
    environ: Mapping[str, str] | None = None,
    home: str | os.PathLike[str] | None = None,
) -> FoundSettings:
    """The settings of the program that wrote a log, as they are now. Never raises.

    ``environ`` and ``home`` default to the process's own. The environment and the project count for logs below the home
    directory or in the program's own. Without a log, and of a session that a proxy metered, the settings are those in
    the program's usual place.
    """
    if facts is None:
        return NOTHING_FOUND
    environment = os.environ if environ is None else environ
    base = os.path.expanduser("~") if home is None else os.fspath(home)
    own = facts.logs.directories(environment, base)
    path = os.fspath(log)
    if not path or os.path.basename(path) == PROXY_FILE:
        path = _usual_log(facts.settings, own, base)
    path = os.path.abspath(path)
    is_the_users = any(_is_below(path, place) for place in (base, *own))
    values: dict[str, ClientSetting] = {}
    if is_the_users:
        for name in facts.settings.variables:
            if name in environment:
                values[name] = ClientSetting(environment[name], name)
    notes: list[str] = []
    for file in _files(facts.settings, path, base, cwd, is_the_users=is_the_users):
        place = _short(file, base)
        try:
            settings = _read(file)
        except (NotRegular, UnusableSettings) as problem:
            notes.append(
                f"The settings in {place} can't be read, so limits set there are unknown: {problem}"
            )
            continue
        for key, value in _chosen(settings, facts.settings):
            values[key] = ClientSetting(value, f"{key} in {place}")
    return FoundSettings(values, tuple(notes))


def _first_there(directories: list[str], home: str) -> str:
    for directory in directories:
        if os.path.exists(directory):
            return directory
    return home


def _usual_log(places: SettingsPlaces, own: list[str], home: str) -> str:
    """Where the program's own log of a session would lie, whatever it is called."""
    directory = _first_there(own, home)
    if not places.logs:
        return os.path.join(directory, "log")
    return os.path.join(directory, places.logs, *["log"] * (places.levels + 1))


def _files(
    places: SettingsPlaces, log: str, home: str, cwd: str, *, is_the_users: bool
) -> Iterator[str]:
    """The files that are there, those of the user before those of the project."""
    logs = log
    for _ in range(places.levels + 1):
        logs = os.path.dirname(logs)
    wanted: list[str] = []
    if places.logs and os.path.basename(logs) == places.logs:
        directory = os.path.dirname(logs)
        wanted += [os.path.normpath(os.path.join(directory, each)) for each in places.own]
    if is_the_users:
        wanted += [os.path.join(home, each) for each in places.home]
        if os.path.isabs(cwd):
            wanted += [os.path.join(cwd, each) for each in places.project]
    for path in wanted:
        try:
            is_there = os.path.exists(path)
        except ValueError:  # a name with a NUL in it, in older Pythons
            continue
        if is_there:
            yield path


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(os.path.join(directory, ""))


def _short(path: str, home: str) -> str:
    if _is_below(path, home):
        return f"~/{os.path.relpath(path, home)}"
    return path


def _read(path: str) -> dict[str, object]:
    """The settings in a file. Raises ``NotRegular`` and ``UnusableSettings``."""
    data = read_regular(path, most=MOST_BYTES)
    if path.endswith(".toml"):
        return _read_toml(data)
    if not data.strip():
        return {}
    try:
        value = _read_json(data.decode("utf-8-sig", "replace"))
    except RecursionError:
        raise UnusableSettings("nested too deeply") from None
    except ValueError as problem:
        raise UnusableSettings(f"no JSON: {str(problem)[:100]}") from None
    if not isinstance(value, dict):
        raise UnusableSettings("no JSON object")
    return value


def _read_json(text: str) -> object:
    """JSON as some programs allow it: with comments, and a comma after the last item. Raises ``ValueError``."""
    try:
        return json.loads(text)
    except ValueError:
        bare = without_comments(text)
        return json.loads(without_comments(bare))  # a comma may stand before a comment


def without_comments(text: str) -> str:
    """A string or comment without an end reaches to the end of the text, so that nothing is searched twice."""
    pattern = r'"(?:[^"\\]|\\.)*(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])'

    def kept(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else " "

    return re.sub(pattern, kept, text, flags=re.DOTALL)


def _read_toml(data: bytes) -> dict[str, object]:
    import tomllib  # only for a program whose settings are TOML

    if data.count(b"[") + data.count(b"{") > MOST_BRACKETS:
        raise UnusableSettings("more brackets than any settings have")
    try:
        return tomllib.loads(data.decode("utf-8-sig", "replace"))
    except (RecursionError, ValueError) as problem:
        raise UnusableSettings(f"no TOML: {str(problem)[:100]}") from None


def _chosen(
    settings: dict[str, object], places: SettingsPlaces
) -> Iterator[tuple[str, object]]:
    """The values by the names of ``places``."""
    for key in places.keys:
        if key.endswith("."):
            found = value_at(settings, key.rstrip(".").split("."))
            yield from _below(found, key, MOST_LEVELS)
        elif (value := value_at(settings, key.split("."))) is not None:
            yield key, value
    variables = settings.get(places.env)
    if places.env and isinstance(variables, dict):
        for name in places.variables:
            if name in variables:
                yield name, variables[name]


def value_at(content: object, keys: Iterable[str]) -> Any:
    """The value at a path of keys; ``None`` where there is none."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _below(value: object, prefix: str, levels: int) -> Iterator[tuple[str, object]]:
    """Every number and switch below a key. Texts stay unread: keys and addresses of providers are among them."""
    if not isinstance(value, dict) or not levels:
        return
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _below(inner, f"{prefix}{name}.", levels - 1)
        elif isinstance(inner, int | float):
            yield f"{prefix}{name}", inner
