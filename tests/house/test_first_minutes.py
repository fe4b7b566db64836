"""What the README tells newcomers works: each sees what it promises, in an empty home."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.first_minutes import STEPS, command_of, prepare, without_uv


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "step"), STEPS, ids=[step.__name__ for _, step in STEPS]
)
def test_a_newcomer_sees_what_the_readme_promises(
    part: str, step: Callable[..., object], tmp_path: Path
) -> None:
    prepare(tmp_path)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ULLAGE_", "XDG_"))
    }
    environment = {**kept, "HOME": str(tmp_path), "COLUMNS": "100"}
    root = Path(__file__).parents[2]
    step(without_uv(command_of(part)), root, environment)


def test_a_command_that_the_readme_lacks_is_an_error() -> None:
    with pytest.raises(LookupError, match="no command"):
        command_of("ullage fill")


def test_a_command_runs_without_uv_as_with_it() -> None:
    assert without_uv("uv run --no-dev --extra server ullage serve")[1:] == [
        "-m",
        "ullage",
        "serve",
    ]
    assert without_uv("uv run --with openai python a.py")[1:] == ["a.py"]
