"""``ullage context --html``, ``--svg`` and ``--png``: the picture of a session as a file."""

from __future__ import annotations

import argparse
import os
import sys

from ullage.errors import UllageError
from ullage.picture.html import html
from ullage.picture.model import SessionPicture
from ullage.picture.png import png
from ullage.picture.svg import svg
from ullage_programs.replacement import Replacement


class PictureUnwritable(UllageError):
    """The file of a picture can't be written; one that was there is as it was."""


def write_pictures(picture: SessionPicture, options: argparse.Namespace) -> None:
    """Write each picture that the options name; ``-`` is standard output. Raises ``UllageError``."""
    if options.html:
        _write(options.html, html(picture).encode(), ".html")
    if options.svg:
        _write(options.svg, svg(picture).encode(), ".svg")
    if options.png:
        _write(options.png, png(picture), ".png")


def _write(path: str, data: bytes, ending: str) -> None:
    """A file that is there is replaced if it is a picture by its name: a log that was named by mistake is not."""
    if path == "-":
        sys.stdout.buffer.write(data)
        return
    place = os.path.realpath(path)
    try:
        if os.path.exists(place) and not place.endswith(ending):
            raise OSError(f"it is there, and is no {ending} file; `-` is standard output")
        with Replacement(place, is_lasting=False) as file:
            file.write(data)
    except OSError as problem:
        why = problem.strerror or problem
        raise PictureUnwritable(f"{path} can't be written: {why}.") from problem
    print(f"{path} is written.")
