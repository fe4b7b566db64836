import pytest

from ullage_programs.line.settings import ITEMS, LineSettings


def test_without_a_file_everything_is_shown_in_color() -> None:
    settings = LineSettings({})
    assert settings.items == list(ITEMS)
    assert (settings.warn, settings.alert, settings.color) == (0.7, 0.9, True)


@pytest.mark.parametrize(
    "found",
    [
        {"items": "bar"},
        {"items": [1, None, {}]},
        {"warn": "half", "alert": -1},
        {"warn": True, "alert": 7},
        {"compose": ["ls"]},
        {"hooks": "none"},
        {"hooks": {"share": "half", "tell_model": "yes"}},
    ],
)
def test_a_setting_that_cannot_be_used_is_left_out(found: dict[str, object]) -> None:
    assert vars(LineSettings(found)) == vars(LineSettings({}))
