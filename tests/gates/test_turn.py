"""No case of a sweep is left out by three landings in a row."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from scripts.turn import ALL, PLACE, take, turn
from tests.marks import THIRDS, rests, third_of


class Repository:
    """A repository with ``main``, and a number in each of its commits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / PLACE).parent.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit(5)

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=cooper", "-c", "user.email=cooper@example.com")
        command = ["git", *identity, *arguments]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def commit(self, number: int | None = None) -> None:
        if number is not None:
            (self.folder / PLACE).write_text(f"{number}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a commit")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_commit_that_takes_a_turn_tries_a_third(repository: Repository) -> None:
    assert turn(repository.folder) == ALL  # the first commit has nothing before it
    thirds = []
    for number in (6, 7, 8):
        repository.commit()
        assert turn(repository.folder) == ALL
        repository.commit(number)
        thirds.append(turn(repository.folder))
    assert thirds == ["0", "1", "2"]


@pytest.mark.parametrize("number", [4, 5, 7, 9])
def test_a_number_that_is_not_the_next_tries_all(
    repository: Repository, number: int
) -> None:
    repository.commit(number)
    assert turn(repository.folder) == ALL


def test_a_merge_of_a_branch_with_a_turn_takes_it(repository: Repository) -> None:
    repository.git("switch", "--quiet", "--create", "branch")
    repository.commit(6)
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--no-ff", "--message", "a landing", "branch")
    assert turn(repository.folder) == "0"


def test_the_turn_is_taken_once_and_last(repository: Repository) -> None:
    repository.git("switch", "--quiet", "--create", "branch")
    repository.commit()
    assert "Turn 6: commit" in take(repository.folder)
    repository.commit()
    assert turn(repository.folder) == "0"
    repository.commit()
    assert "is taken" in take(repository.folder)
    assert turn(repository.folder) == ALL


class Case:
    """A case of a sweep, as far as its turn is concerned."""

    def __init__(self, number: int, mark: str = "sweep") -> None:
        self.nodeid = f"tests/sweeps/test_killed.py::test_a_kill[{number}]"
        self._mark = mark

    def get_closest_marker(self, name: str) -> object:
        return name == self._mark or None


@pytest.mark.parametrize("mark", ["sweep", "property"])
def test_each_case_is_tried_in_one_of_three_turns(mark: str) -> None:
    cases = [Case(number, mark) for number in range(300)]
    tried: Counter[str] = Counter()
    for turned in range(7, 10):
        some = [case for case in cases if not rests(case, str(turned))]  # type: ignore[arg-type]
        assert 60 < len(some) < 140
        tried.update(case.nodeid for case in some)
    assert set(tried.values()) == {1}
    assert len(tried) == 300
    assert {third_of(case.nodeid) for case in cases} == set(range(THIRDS))


def test_a_run_of_all_leaves_nothing_out_and_other_tests_do_not_rest() -> None:
    for number in range(100):
        assert not rests(Case(number), ALL)  # type: ignore[arg-type]
        assert not rests(Case(number, "program"), "1")  # type: ignore[arg-type]
