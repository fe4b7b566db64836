"""The colours of the full screen: the terminal's own, or one of Textual's themes; the choice outlives the program.

What Ullage draws is said in the sixteen colours of a terminal. A theme gives each of them a colour of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.terminal_theme import TerminalTheme
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from ullage.errors import CommandRefused, InputError
from ullage.similar import similar
from ullage.store.private_file import replace_file

if TYPE_CHECKING:
    from textual.app import App

TERMINAL: Final = "terminal"
"""The theme that leaves the colours to the terminal."""

THEMES: Final = (
    TERMINAL,
    *sorted(name for name in BUILTIN_THEMES if name[:5] != "ansi-"),
)

LEAST_CONTRAST: Final = 3.5
"""Of each colour with the background; below it a colour is mixed with that of the text."""

_NAMES: Final = (
    "surface", "error", "success", "warning", "primary", "accent", "secondary", "foreground",
)  # fmt: skip
"""What stands for black, red, green, yellow, blue, magenta, cyan and white."""


def apply_theme(app: App[str], name: str) -> None:
    """Draw everything in this theme. Raises ``CommandRefused`` for a name that is none."""
    if name not in THEMES:
        hint = _meant(name) or "/theme lists them."
        raise CommandRefused(f"There is no theme {name}. {hint}")
    if name == TERMINAL:
        app.ansi_color, app.theme = True, "ansi-dark"
        return
    theme = BUILTIN_THEMES[name]
    colours = sixteen_colours(theme)
    app.ansi_theme_dark = app.ansi_theme_light = colours
    app.ansi_color, app.theme = False, name


def _meant(name: str) -> str:
    meant = similar(name, list(THEMES), cutoff=0.5)
    return f"Did you mean {meant}?" if meant else ""


def sixteen_colours(theme: Theme) -> TerminalTheme:
    """The colours of a theme in the places of a terminal's, each readable on its background."""
    named = theme.to_color_system().generate()
    background = Color.parse(named["background"])
    text = Color.parse(named["foreground"])
    normal: list[tuple[int, int, int]] = []
    bright: list[tuple[int, int, int]] = []
    for name in _NAMES:
        colour = readable(Color.parse(named[name]), background, text)
        normal.append(colour.rgb)
        bright.append(readable(colour.blend(text, 0.25), background, text).rgb)
    return TerminalTheme(background.rgb, text.rgb, normal, bright)


def readable(colour: Color, background: Color, text: Color) -> Color:
    """The colour, with as much of the text's in it as it takes to be read on the background."""
    for share in range(0, 100, 10):
        mixed = colour.blend(text, share / 100)
        if contrast(mixed, background) >= LEAST_CONTRAST:
            return mixed
    return text


def contrast(one: Color, other: Color) -> float:
    """The ratio of two colours' luminance, 1 to 21: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio"""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    """https://www.w3.org/TR/WCAG22/#dfn-relative-luminance"""
    linear: list[float] = []
    for value in colour.normalized:
        is_small = value <= 0.04045
        linear.append(value / 12.92 if is_small else ((value + 0.055) / 1.055) ** 2.4)
    red, green, blue = linear
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def remembered_theme(file: Path) -> str:
    """The theme that was chosen last; the terminal's where none was, or the file can't be read."""
    try:
        name = json.loads(file.read_text("utf-8"))["theme"]
    except (OSError, ValueError, KeyError, TypeError):
        return TERMINAL
    return name if name in THEMES else TERMINAL


def remember_theme(file: Path, name: str) -> None:
    """Keep the choice. Raises ``InputError`` where it can't be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, json.dumps({"theme": name}).encode() + b"\n")
    except OSError as problem:
        raise InputError(
            f"The theme is set, and can't be kept for the next time: {file} can't be written: {problem.strerror}."
        ) from problem
