import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.escapes import index_of
from ullage.tools.repositories import git_places, submodules


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for name in ("a", "lib/deep/er", "z" * 200):
        git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{name}")
    for name in ("a.txt", "lib/b.txt", "zz.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", "a.txt", "lib/b.txt", "zz.txt")
    return tmp_path


def git(place: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", place, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_submodules_are_found_in_each_version_of_the_index(
    version: str, repository: Path
) -> None:
    if version == "3":
        git(repository, "add", "-N", "--", "zz.txt")
        (repository / "new.txt").touch()
        git(
            repository, "add", "--intent-to-add", "new.txt"
        )  # an extended flag, which makes it version 3
    else:
        git(repository, "update-index", "--index-version", version)
    assert (repository / ".git/index").read_bytes()[7] == int(version)
    assert set(submodules(repository / ".git")) == {"a", "lib/deep/er", "z" * 200}


def test_submodules_are_found_in_an_index_that_is_split(repository: Path) -> None:
    git(repository, "update-index", "--split-index")
    assert set(submodules(repository / ".git")) == {"a", "lib/deep/er", "z" * 200}


def test_submodules_are_found_beside_names_of_sha256(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 64},sub")
    assert submodules(tmp_path / ".git") == ("sub",)


@given(
    st.binary(max_size=300)
    | st.binary(max_size=100).map(lambda more: index_of("sub")[:60] + more)
)
def test_an_index_of_any_bytes_is_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    place = tmp_path_factory.mktemp("git")
    (place / "index").write_bytes(data)
    submodules(place)


def test_a_workspace_without_a_repository_must_not_become_one(tmp_path: Path) -> None:
    assert git_places(tmp_path).missing == (tmp_path / ".git", tmp_path / "HEAD")


def test_a_repository_without_a_head_does_not_keep_the_workspace_from_becoming_one(
    tmp_path: Path,
) -> None:
    (tmp_path / ".git/hooks").mkdir(parents=True)
    assert git_places(tmp_path) == ((tmp_path / ".git",), (tmp_path / "HEAD",), "")


def test_what_holds_the_place_of_a_repository_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert tmp_path / ".git" in git_places(tmp_path).missing


def test_a_submodule_that_is_not_there_must_not_come_to_be(repository: Path) -> None:
    found = git_places(repository)
    assert found.existing == (repository / ".git",)
    assert set(found.missing) == {
        repository / "a",
        repository / "lib/deep",
        repository / ("z" * 200),
    }


def test_repositories_below_and_above_the_workspace_are_found(repository: Path) -> None:
    nested = repository / "lib/own"
    nested.mkdir()
    git(nested, "init", "-q")
    assert git_places(repository).existing == (repository / ".git", nested / ".git")
    found = git_places(repository / "lib")
    assert found.existing == (nested / ".git",)
    assert repository / "lib/deep" in found.missing


def test_a_file_leads_to_a_repository_that_is_read_only_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "real"))
    assert set(git_places(tmp_path).existing) == {tmp_path / ".git", tmp_path / "real"}


def test_what_can_not_be_kept_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.git").symlink_to(tmp_path)
    assert "is a link" in git_places(tmp_path / "linked").problem
    assert git_places(tmp_path).problem == ""  # a command can have made it
    git(tmp_path, "init", "-q", "--bare", "bare")
    assert "inside of a repository" in git_places(tmp_path / "bare").problem
    assert "inside of a repository" in git_places(tmp_path / "bare/.git/x").problem


def test_names_in_an_index_that_lead_out_are_left(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("../out", "/etc", "a/../../b", "", "a" * 300):
        (tmp_path / ".git/index").write_bytes(index_of(name))
        os.utime(tmp_path / ".git/index", ns=(0, len(name) << 30))
        assert git_places(tmp_path) == ((tmp_path / ".git",), (), "")
