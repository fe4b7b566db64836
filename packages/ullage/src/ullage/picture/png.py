"""The card as PNG, drawn by resvg (``ullage[png]``) with the fonts of the system."""

from __future__ import annotations

from typing import Final, Literal

from ullage.errors import MissingExtra
from ullage.installation import part
from ullage.picture.model import Picture
from ullage.picture.policy import PIXELS
from ullage.picture.style import FONTS
from ullage.picture.svg import svg

START: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" class="ullage" width="9" height="9">'
    f"<style>{FONTS}</style>"
)
"""Of a drawing that shows whether there is a font."""


def png(picture: Picture, *, scheme: Literal["light", "dark"] = "light") -> bytes:
    """The card as a PNG of twice its size in pixels. Reads the fonts of the system.

    Args:
        picture: What is drawn.
        scheme: Its colours.

    Raises:
        MissingExtra: ``ullage[png]`` is not installed, or the system has none of the usual fonts.
    """
    draw = part("resvg_py").svg_to_bytes
    blank = draw(svg_string=f"{START}</svg>")
    if draw(svg_string=f'{START}<text y="9">M</text></svg>') == blank:
        raise MissingExtra(
            "The system has no font to write the picture's text with. Install one, such as the package fonts-dejavu, "
            "or use --svg, which a browser draws."
        )
    drawn: bytes = draw(svg_string=svg(picture, scheme=scheme), zoom=PIXELS)
    return drawn
