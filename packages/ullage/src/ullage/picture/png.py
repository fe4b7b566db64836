"""The card as PNG, drawn by resvg (``ullage[png]``) with the fonts of the system."""

from __future__ import annotations

from ullage.errors import MissingExtra
from ullage.installation import part
from ullage.picture.model import SessionPicture
from ullage.picture.style import Scheme, style
from ullage.picture.svg import figure, svg


def png(picture: SessionPicture, *, scheme: Scheme = "light") -> bytes:
    """The card as a PNG of twice its size in pixels. Reads the fonts of the system.

    Args:
        picture: What is drawn.
        scheme: Its colours; ``auto`` is light.

    Raises:
        MissingExtra: ``ullage[png]`` is not installed, or the system has none of the usual fonts.
    """
    draw = part("resvg_py").svg_to_bytes
    looks = f"<style>{style('light')}</style>"
    letter = figure(f'{looks}<text class="ink" y="9">M</text>', 9, 9, "", "")
    if draw(svg_string=letter) == draw(svg_string=figure(looks, 9, 9, "", "")):
        raise MissingExtra(
            "The system has no font to write the picture's text with. Install one, such as the package fonts-dejavu, "
            "or use --svg, which a browser draws."
        )
    drawn: bytes = draw(svg_string=svg(picture, scheme=scheme), zoom=2)
    return drawn
