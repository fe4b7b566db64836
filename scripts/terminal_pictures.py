"""Pictures of a terminal, without anything of the machine that they were drawn on."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def svg(
    lines: Iterable[Text],
    title: str,
    width: int,
    name: str = "",
    colors: Literal["standard", "truecolor"] = "standard",
) -> str:
    """These lines on a terminal of this width, as an SVG picture."""
    console = Console(
        record=True,
        width=width,
        file=io.StringIO(),
        force_terminal=True,
        color_system=colors,
    )
    for line in lines:
        console.print(line, soft_wrap=True)
    return console.export_svg(title=title, unique_id=name or re.sub(r"\W+", "-", title))


def write(file: str, picture: str, arguments: Sequence[str] = ()) -> None:
    """Write the picture to the first argument, or into the documentation."""
    place = Path(arguments[0]) if arguments else IMAGES / file
    place.write_text(picture, encoding="utf-8")
