"""Finds and reads the user's and the project's ``ullage.toml``."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, cast

from ullage.bounds import value_excess
from ullage.directories import data_directory
from ullage.envelope import CONFIG_BYTES, TOML_DEPTH
from ullage.errors import SettingError
from ullage.models.providers import Provider
from ullage.runtime.layers import Layer, is_inside, read_layer
from ullage.runtime.precedence import Resolved
from ullage.runtime.toml_lines import is_too_deep
from ullage.store.project_answers import ProjectAnswers

FILE: Final = "ullage.toml"


def user_config(environment: Mapping[str, str], *, platform: str = sys.platform) -> Path:
    """The path of the user's file: ``ULLAGE_CONFIG``, else in ``XDG_CONFIG_HOME``, else in the platform's place.

    A relative ``XDG_CONFIG_HOME`` is ignored, as its specification asks
    (https://specifications.freedesktop.org/basedir-spec/latest/).
    """
    if own := environment.get("ULLAGE_CONFIG", "").strip():
        return Path(own).expanduser()
    shared = environment.get("XDG_CONFIG_HOME", "")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "ullage" / FILE
    home = Path(environment.get("HOME") or Path.home())
    if platform == "darwin":
        return home / "Library" / "Application Support" / "ullage" / FILE
    if platform == "win32":
        return (
            Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
            / "ullage"
            / FILE
        )
    return home / ".config" / "ullage" / FILE


def project_config(start: Path) -> Path | None:
    """The nearest ``ullage.toml``, from a directory upwards; ``None`` if there is none."""
    here = start.absolute()
    return next(
        (path for each in (here, *here.parents) if (path := each / FILE).is_file()), None
    )


def config_files(
    start: Path, environment: Mapping[str, str], *, platform: str = sys.platform
) -> list[Path]:
    """The existing files, the project's before the user's; a file that is both counts as the user's.

    Raises ``SettingError`` if ``ULLAGE_CONFIG`` names a missing file.
    """
    user, project = user_config(environment, platform=platform), project_config(start)
    found = [] if project is None or _are_same(project, user) else [project]
    if user.is_file():
        return [*found, user]
    if environment.get("ULLAGE_CONFIG", "").strip():
        raise SettingError(
            f"ULLAGE_CONFIG names {user}, which is no file. Correct it, or unset it."
        )
    return found


def read_configs(
    start: Path, environment: Mapping[str, str], *, platform: str = sys.platform
) -> tuple[Layer, ...]:
    """The layers of the user's and the project's file, for ``resolve``. Raises ``SettingError`` as ``read_config``.

    Looks up the user's answer about the project's file.
    """
    user = user_config(environment, platform=platform)
    answers = ProjectAnswers(data_directory(environment, platform=platform))
    layers: list[Layer] = []
    for path in config_files(start, environment, platform=platform):
        if path == user:
            layers.append(read_config(path))
            continue
        layer = read_config(path, place="project file")
        is_agreed = answers.of(path.parent, layer.digest) is True
        layers.append(
            replace(layer, is_agreed=is_agreed, needs_answer=answers.knows(path.parent))
        )
    return tuple(layers)


def remember_trusted(resolved: Resolved, environment: Mapping[str, str]) -> None:
    """Store the content of a file that counts because its directory is trusted, and which places commands can write.

    So a command of this session can't extend the settings of the next one. Raises ``UllageError``.
    """
    trusted = resolved.settings.trusted
    if not trusted:
        return
    answers = ProjectAnswers(data_directory(environment))
    for layer in resolved.layers:
        if (
            layer.place == "project file"
            and layer.path is not None
            and layer.is_agreed
            and not layer.needs_answer
        ):
            answers.add(layer.path.parent, layer.digest, is_agreed=True)
    for place in (resolved.settings.root or Path.cwd(), *resolved.settings.sandbox_write):
        if is_inside(place, trusted):
            answers.note_session(place)


def read_config(
    path: Path, *, place: Literal["user file", "project file"] = "user file"
) -> Layer:
    """The layer of one file.

    Raises ``SettingError``, which names the file and the line: it can't be read, is no TOML, or has an unknown key, an
    impossible value or a secret.
    """
    try:
        with path.open("rb") as file:
            data = file.read(CONFIG_BYTES + 1)
        text = data.decode("utf-8-sig")  # Windows editors write a byte order mark
    except OSError as problem:
        raise SettingError(
            f"{path} can't be read ({problem.strerror}). Check who may read it."
        ) from problem
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise SettingError(
            f"{path}, line {line}: this is not UTF-8, which TOML must be. Save it as UTF-8."
        ) from problem
    if len(data) > CONFIG_BYTES:
        raise SettingError(
            f"{path} has more than {CONFIG_BYTES:,} bytes, the most that is read. Make it shorter."
        )
    if is_too_deep(text):
        raise SettingError(
            f"{path} nests brackets deeper than {TOML_DEPTH} levels. Make it flatter."
        )
    try:
        values = tomllib.loads(text)
    except ValueError as problem:  # TOML's own error is one, and so is that of a number with thousands of digits
        at = (
            f", line {text.count(chr(10)) + 1}"
            if "end of document" in str(problem)
            else ""
        )
        raise SettingError(
            f"{path}{at}: this is no TOML: {problem}. Correct it there."
        ) from problem
    if value_excess(values, most=TOML_DEPTH):
        raise SettingError(
            f"{path} nests tables deeper than {TOML_DEPTH} levels. Make it flatter."
        )
    digest = sha256(data).hexdigest()
    return read_layer(
        Layer(place=place, values=values, path=path.absolute(), text=text, digest=digest)
    )


def user_endpoints(
    environment: Mapping[str, str] | None = None,
) -> Mapping[str, Provider]:
    """The endpoints in the user's own file; a project's file does not count. Raises ``SettingError``.

    ``ullage.Meter`` takes them, as ``Meter("lab:qwen3", endpoints=ullage.user_endpoints())``; an ``Agent`` has them.
    """
    path = user_config(os.environ if environment is None else environment)
    return (
        cast(Mapping[str, Provider], read_config(path).values.get("endpoints", {}))
        if path.is_file()
        else {}
    )


def _are_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
