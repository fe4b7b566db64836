from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from ullage.errors import CommandRefused, InputError
from ullage_agent.chat.themes import (
    LEAST_CONTRAST,
    TERMINAL,
    THEMES,
    apply_theme,
    contrast,
    readable,
    remember_theme,
    remembered_theme,
    sixteen_colours,
)


@pytest.mark.parametrize("name", [name for name in THEMES if name != TERMINAL])
def test_every_colour_of_every_theme_can_be_read_on_its_background(name: str) -> None:
    colours = sixteen_colours(BUILTIN_THEMES[name])
    background = Color(*colours.background_color)
    for place in range(16):
        colour = Color(*colours.ansi_colors[place])
        assert contrast(colour, background) >= LEAST_CONTRAST, place


def test_contrast_is_that_of_the_guidelines() -> None:
    black, white = Color(0, 0, 0), Color(255, 255, 255)
    assert contrast(black, white) == pytest.approx(21)
    assert contrast(white, white) == pytest.approx(1)
    assert contrast(Color(119, 119, 119), white) == pytest.approx(4.48, abs=0.01)


def test_a_colour_that_can_be_read_stays_as_it_is() -> None:
    red, white, black = Color(200, 0, 0), Color(255, 255, 255), Color(0, 0, 0)
    assert readable(red, white, black) == red
    assert readable(white, white, black) != white


async def test_a_theme_is_taken_and_the_terminal_s_colours_come_back() -> None:
    app: App[str] = App()
    async with app.run_test():
        apply_theme(app, "solarized-light")
        assert (app.theme, app.native_ansi_color) == ("solarized-light", False)
        apply_theme(app, TERMINAL)
        assert (app.theme, app.native_ansi_color) == ("ansi-dark", True)


def test_a_mistyped_theme_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(CommandRefused, match=r"no theme nort\. Did you mean nord\?"):
        apply_theme(App(), "nort")


def test_the_choice_is_kept_and_what_can_not_be_read_is_none(tmp_path: Path) -> None:
    file = tmp_path / "data" / "chat.json"
    assert remembered_theme(file) == TERMINAL
    remember_theme(file, "nord")
    assert remembered_theme(file) == "nord"
    for broken in ("", "[]", '{"theme": 5}', '{"theme": "gone"}', "\x00"):
        file.write_text(broken)
        assert remembered_theme(file) == TERMINAL


def test_the_choice_is_the_users_alone(tmp_path: Path) -> None:
    remember_theme(tmp_path / "theme.json", "dracula")
    assert (tmp_path / "theme.json").stat().st_mode & 0o777 == 0o600


def test_a_choice_that_can_not_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(InputError, match=r"The theme is set, and can't be kept"):
        remember_theme(tmp_path / "data" / "chat.json", "nord")
