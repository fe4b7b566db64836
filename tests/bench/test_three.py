"""The three programs of bench.three do their work with Ullage, and are counted right. The other's run in the bench."""

from pathlib import Path

import pytest

from bench.three.__main__ import HERE, SIDES, coding, lines_of, research, support
from bench.three.mistakes import MISTAKES, OURS, SHARED


def test_lines_of_code_are_counted_without_docstring_comments_and_empty_ones(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        '"""Two\nlines."""\n\n# why\nimport sys\n\nprint(sys.argv)  # what\n'
    )
    assert lines_of(program) == 2


@pytest.mark.program
@pytest.mark.parametrize("run", [coding, research, support])
def test_a_program_does_its_work(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert run(SIDES[0], HERE / f"{run.__name__}.py", tmp_path)


def test_every_mistake_is_in_an_agent_that_is_right_without_it() -> None:
    for mistake in MISTAKES:
        compile(f"{SHARED}{OURS}\n{mistake.ours}\n", mistake.title, "exec")
    assert len({mistake.title for mistake in MISTAKES}) == len(MISTAKES) == 12
