"""Finds and reads the user's and the project's ``ullage.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ullage.errors import SettingError
from ullage.user_file import FILE, read_toml, user_config
from ullage_agent.runtime.layers import Layer, read_layer


def project_config(start: Path) -> Path | None:
    """The nearest ``ullage.toml``, from a directory upwards; ``None`` if there is none."""
    here = start.absolute()
    return next(
        (path for each in (here, *here.parents) if (path := each / FILE).is_file()), None
    )


def read_configs(start: Path, environment: Mapping[str, str]) -> tuple[Layer, ...]:
    """The layers of the project's and the user's file, for ``resolve``; a file that is both is the user's.

    Raises ``SettingError`` as ``read_config``, and if ``ULLAGE_CONFIG`` names a missing file.
    """
    user, project = user_config(environment), project_config(start)
    layers: list[Layer] = []
    if project is not None and project.resolve() != user.resolve():
        layers.append(read_config(project, place="project file"))
    if user.is_file():
        layers.append(read_config(user))
    elif environment.get("ULLAGE_CONFIG", "").strip():
        raise SettingError(
            f"ULLAGE_CONFIG names {user}, which is no file. Correct it, or unset it."
        )
    return tuple(layers)


def read_config(
    path: Path, *, place: Literal["user file", "project file"] = "user file"
) -> Layer:
    """The layer of one file.

    Raises ``SettingError``, which names the file and the line: it can't be read, is no TOML, or has an unknown key, an
    impossible value or a secret.
    """
    values, text = read_toml(path)
    return read_layer(Layer(place=place, values=values, path=path.absolute(), text=text))
