"""``ullage context --html``, ``--svg`` and ``--png``: the picture of a session as a file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from ullage.errors import UllageError
from ullage.picture.html import html
from ullage.picture.model import Picture
from ullage.picture.png import png
from ullage.picture.svg import svg
from ullage_programs.replacement import Replacement


class PictureUnwritable(UllageError):
    """The file of a picture can't be written; one that was there is as it was."""


def write_pictures(picture: Picture, options: argparse.Namespace) -> None:
    """Write each picture that the options name. ``-`` is standard output. Raises ``UllageError``."""
    drawings: tuple[tuple[str, Callable[[], bytes]], ...] = (
        (options.html, lambda: html(picture).encode()),
        (options.svg, lambda: svg(picture).encode()),
        (options.png, lambda: png(picture)),
    )
    for path, draw in drawings:
        if path:
            _write(path, draw())


def _write(path: str, data: bytes) -> None:
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    place = os.path.realpath(path)
    try:
        if os.path.exists(place) and not os.path.isfile(place):
            with open(place, "wb") as device:
                device.write(data)
        else:
            with Replacement(place, is_lasting=False) as file:
                file.write(data)
    except OSError as problem:
        raise PictureUnwritable(
            f"{path} can't be written: {problem.strerror or problem}. Give another path."
        ) from problem
    print(f"{path} is written.")
