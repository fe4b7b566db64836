"""The user's own ``ullage.toml``: where it is, how it is read, and the endpoints that it names."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ullage.bounds import value_excess
from ullage.codec.wires import WIRES
from ullage.directories import own_directory
from ullage.envelope import CONFIG_BYTES, TOML_DEPTH
from ullage.errors import SettingError
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import ProviderRow

FILE: Final = "ullage.toml"


def user_config(environment: Mapping[str, str], *, platform: str = sys.platform) -> Path:
    """The path of the user's file: ``ULLAGE_CONFIG``, else in ``XDG_CONFIG_HOME``, else in the platform's place.

    A relative ``XDG_CONFIG_HOME`` is ignored, as its specification asks
    (https://specifications.freedesktop.org/basedir-spec/latest/).
    """
    if own := environment.get("ULLAGE_CONFIG", "").strip():
        return Path(own).expanduser()
    return own_directory("CONFIG", environment, platform) / FILE


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """The values of a settings file and its text. Raises ``SettingError``, which names the file and the line."""
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
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(path) from None
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
        raise _too_deep(path)
    return values, text


def user_endpoints(
    environment: Mapping[str, str] | None = None,
) -> Mapping[str, ProviderRow]:
    """The endpoints in the user's own file; a project's file does not count.

    ``Meter("lab:qwen3", endpoints=ullage.measure.user_endpoints())`` takes them; an ``Agent`` has them.

    Args:
        environment: Says where the file is; by default that of this process.

    Raises:
        SettingError: The file can't be read.
    """
    path = user_config(os.environ if environment is None else environment)
    if not path.is_file():
        return {}
    values, _ = read_toml(path)
    try:
        return read_endpoints(values.get("endpoints", {}), WIRES)
    except SettingError as problem:
        raise SettingError(f"{path}: {problem}") from problem


def _too_deep(path: Path) -> SettingError:
    return SettingError(
        f"{path} is nested deeper than {TOML_DEPTH} levels. Make it flatter."
    )
