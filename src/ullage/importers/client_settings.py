"""Reads what another program's settings say about its window and its compaction threshold.

The files lie in the program's own directory, which is found from the place of the log: a log that was copied elsewhere
has no settings. They are not trusted: one that can't be read is left out, with a note.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ullage.bounds import value_excess
from ullage.clients.facts import ClientSetting, ClientSettings
from ullage.clients.limits import name_and_version
from ullage.errors import UnreadableInput
from ullage.importers.fields import Unusable, decode_line
from ullage.importers.places import usual_directories
from ullage.importers.regular import read_regular
from ullage.importers.ullage import PROXY_FILE

MOST_BYTES: Final = 1_000_000
"""Bytes of a settings file at the most; real ones have a few thousand."""

MOST_BRACKETS: Final = 20_000
"""Brackets in a TOML file at the most, which its reader follows recursively."""


class SettingsPlaces(NamedTuple):
    """Where a program keeps its settings: below its own directory, in the user's, and in a project's."""

    logs: str
    """The directory of the logs in the program's own directory; empty: the log does not lie in it."""
    levels: int
    """Levels of directories between that one and a log."""
    own: tuple[str, ...]
    """Later files win over earlier ones."""
    home: tuple[str, ...]
    project: tuple[str, ...]
    variables: tuple[str, ...]
    keys: tuple[str, ...]
    """The keys that are read; one that ends with a dot is read with all that is below it."""
    env: str = ""
    """The key of a table of environment variables."""


PLACES: Final[dict[str, SettingsPlaces]] = {
    "claude-code": SettingsPlaces(
        logs="projects",
        levels=1,
        own=("../.claude.json", "settings.json"),
        home=(),
        project=(".claude/settings.json", ".claude/settings.local.json"),
        variables=(
            "DISABLE_COMPACT",
            "DISABLE_AUTO_COMPACT",
            "CLAUDE_CODE_DISABLE_1M_CONTEXT",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
            "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
        ),
        keys=("autoCompactEnabled", "autoCompactWindow", "modelSettings"),
        env="env",
    ),
    "codex": SettingsPlaces(
        logs="sessions",
        levels=3,
        own=("config.toml",),
        home=(),
        project=(),
        variables=(),
        keys=(
            "model_context_window",
            "model_auto_compact_token_limit",
            "model_auto_compact_token_limit_scope",
        ),
    ),
    "copilot-cli": SettingsPlaces(
        logs="",
        levels=0,
        own=(),
        home=(),
        project=(),
        variables=("COPILOT_BACKGROUND_COMPACTION_THRESHOLD",),
        keys=(),
    ),
    "gemini-cli": SettingsPlaces(
        logs="tmp",
        levels=2,
        own=("settings.json",),
        home=(),
        project=(".gemini/settings.json",),
        variables=(),
        keys=(
            "model.compressionThreshold",
            "chatCompression.contextPercentageThreshold",
        ),
    ),
    "opencode": SettingsPlaces(
        logs="",
        levels=0,
        own=(),
        home=(
            ".config/opencode/config.json",
            ".config/opencode/opencode.json",
            ".config/opencode/opencode.jsonc",
        ),
        project=("opencode.json", "opencode.jsonc"),
        variables=("OPENCODE_DISABLE_AUTOCOMPACT",),
        keys=("compaction.auto", "compaction.reserved", "provider."),
    ),
    "pi": SettingsPlaces(
        logs="sessions",
        levels=1,
        own=("settings.json",),
        home=(),
        project=(".pi/settings.json",),
        variables=(),
        keys=(
            "compaction.enabled",
            "compaction.reserveTokens",
            "compaction.modelOverrides.",
        ),
    ),
    "qwen-code": SettingsPlaces(
        logs="projects",
        levels=2,
        own=("settings.json",),
        home=(),
        project=(".qwen/settings.json",),
        variables=(),
        keys=(
            "context.autoCompactThreshold",
            "model.generationConfig.contextWindowSize",
        ),
    ),
}
"""By program. The pages that ``ullage.clients`` names document the places. ``.claude.json`` is the older place of
``autoCompactEnabled`` (https://github.com/anthropics/claude-code/issues/24589). Codex reads a project's file only if
the user trusts the project, so it is not read here."""


class FoundSettings(NamedTuple):
    """The settings by name, and what could not be read."""

    values: ClientSettings
    notes: tuple[str, ...] = ()


NOTHING_FOUND: Final = FoundSettings({})


def settings_of(
    program: str,
    log: Path,
    cwd: str,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> FoundSettings:
    """The settings of the program that wrote a log, as they are now. Never raises.

    ``environ`` and ``home`` default to the process's own. The environment counts for logs below the home directory.
    Of a session that a proxy metered, they are those in the program's usual place.
    """
    name = name_and_version(program)[0]
    places = PLACES.get(name)
    if places is None:
        return NOTHING_FOUND
    base = Path.home() if home is None else home
    environment = os.environ if environ is None else environ
    log = log.absolute()
    if log.name == PROXY_FILE:
        log = _usual_log(name, places, environment, base)
    values: dict[str, ClientSetting] = {}
    notes: list[str] = []
    for path in _files(places, log, cwd, base):
        try:
            settings = _read(path)
        except (UnreadableInput, Unusable) as problem:
            notes.append(
                f"The settings in {_short(path, base)} can't be read, so limits set there are unknown: {problem}"
            )
            continue
        place = _short(path, base)
        for key, value in _chosen(settings, places):
            values[key] = ClientSetting(value, f"{key} in {place}")
    if log.is_relative_to(base):
        for variable in places.variables:
            if variable in environment:
                values[variable] = ClientSetting(
                    environment[variable],
                    variable,
                )
    return FoundSettings(values, tuple(notes))


def _usual_log(
    name: str,
    places: SettingsPlaces,
    environment: Mapping[str, str],
    home: Path,
) -> Path:
    """Where the program's own log of a session would lie, whatever it is called."""
    directory = home
    for usual in usual_directories(environment, home):
        if usual.program == name and usual.directory.exists():
            directory = usual.directory
            break
    if not places.logs:
        return directory / "log"
    return directory.joinpath(
        places.logs,
        *["log"] * (places.levels + 1),
    )


def _files(
    places: SettingsPlaces,
    log: Path,
    cwd: str,
    home: Path,
) -> Iterator[Path]:
    """The files that are there, those of the user before those of the project."""
    wanted: list[Path] = []
    logs = log.parents[min(places.levels, len(log.parents) - 1)]
    if places.logs and logs.name == places.logs:
        wanted += [Path(os.path.normpath(logs.parent / each)) for each in places.own]
    if log.is_relative_to(home):
        wanted += [home / each for each in places.home]
        if cwd and Path(cwd).is_absolute():
            wanted += [Path(cwd) / each for each in places.project]
    for path in wanted:
        try:
            is_there = path.exists()
        except (OSError, ValueError):
            continue
        if is_there:
            yield path


def _short(path: Path, home: Path) -> str:
    if path.is_relative_to(home):
        return f"~/{path.relative_to(home)}"
    return str(path)


def _read(path: Path) -> dict[str, Any]:
    """The settings in a file. Raises ``UnreadableInput`` and ``Unusable``."""
    data = read_regular(path, most=MOST_BYTES)
    if path.suffix == ".toml":
        return _read_toml(data)
    if not data.strip():
        return {}
    value = decode_line(without_comments(data))
    if not isinstance(value, dict):
        raise Unusable("no JSON object")
    return value


def _read_toml(data: bytes) -> dict[str, Any]:
    if data.count(b"[") + data.count(b"{") > MOST_BRACKETS:
        raise Unusable("more brackets than any settings have")
    try:
        table = tomllib.loads(data.decode("utf-8-sig", "replace"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
        raise Unusable(f"no TOML: {str(problem)[:100]}") from None
    if value_excess(table):
        raise Unusable("nested too deeply")
    return table


_STRING_OR_COMMENT: Final = re.compile(
    rb'"(?:[^"\\]|\\.)*(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])', re.DOTALL
)
"""A string or comment without an end reaches to the end of the file, so that nothing is searched twice."""


def without_comments(data: bytes) -> bytes:
    """JSON as some programs allow it: with comments, and a comma after the last item."""
    text = data.removeprefix(b"\xef\xbb\xbf")

    def kept(match: re.Match[bytes]) -> bytes:
        return match[0] if match[0].startswith(b'"') else b" "

    bare = _STRING_OR_COMMENT.sub(kept, text)
    return _STRING_OR_COMMENT.sub(
        kept,
        bare,
    )  # a comma may stand before a comment


def _chosen(
    settings: dict[str, Any], places: SettingsPlaces
) -> Iterator[tuple[str, object]]:
    """The values by the names of ``places``."""
    for key in places.keys:
        if key.endswith("."):
            yield from _below(_at(settings, key.rstrip(".")), key)
        elif (value := _at(settings, key)) is not None:
            yield key, value
    variables = settings.get(places.env)
    if places.env and isinstance(variables, dict):
        for name in places.variables:
            if name in variables:
                yield name, variables[name]


def _at(settings: dict[str, Any], key: str) -> object:
    value: object = settings
    for part in key.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def _below(value: object, prefix: str) -> Iterator[tuple[str, object]]:
    """Every number and switch below a key. Texts stay unread: keys and addresses of providers are among them."""
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _below(inner, f"{prefix}{name}.")
        elif isinstance(inner, int | float):
            yield f"{prefix}{name}", inner
