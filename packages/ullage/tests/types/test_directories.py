from pathlib import Path

import pytest

from ullage.directories import data_directory


@pytest.mark.parametrize(
    ("environment", "platform", "place"),
    [
        ({"HOME": "/home/a"}, "linux", "/home/a/.local/share/ullage"),
        ({"HOME": "/home/a", "XDG_DATA_HOME": "/data"}, "linux", "/data/ullage"),
        (
            {"HOME": "/home/a", "XDG_DATA_HOME": "relative"},
            "linux",
            "/home/a/.local/share/ullage",
        ),
        (
            {"HOME": "/home/a", "XDG_DATA_HOME": "/data", "ULLAGE_DATA": "/own"},
            "linux",
            "/own",
        ),
        ({"HOME": "/Users/a"}, "darwin", "/Users/a/Library/Application Support/ullage"),
        ({"HOME": "/Users/a", "XDG_DATA_HOME": "/data"}, "darwin", "/data/ullage"),
        (
            {"HOME": "/c/a", "LOCALAPPDATA": "/c/a/AppData/Local"},
            "win32",
            "/c/a/AppData/Local/ullage",
        ),
    ],
)
def test_the_place_of_a_users_data(
    environment: dict[str, str], platform: str, place: str
) -> None:
    assert data_directory(environment, platform=platform) == Path(place)
