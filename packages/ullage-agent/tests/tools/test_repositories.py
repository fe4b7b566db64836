import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tools.escapes import index_of
from ullage_agent.tools.repositories import git_places, submodules


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


def submodules_in(place: Path) -> set[str]:
    program = shutil.which("git")
    assert program is not None
    return set(submodules(place / ".git", program))


def test_submodules_are_found(repository: Path) -> None:
    assert submodules_in(repository) == {"a", "lib/deep/er", "z" * 200}
    git(repository, "update-index", "--split-index")
    git(repository, "update-index", "--force-remove", "a")
    assert submodules_in(repository) == {"lib/deep/er", "z" * 200}


def test_an_index_that_git_can_not_read_is_a_problem(repository: Path) -> None:
    (repository / ".git/index").write_bytes(b"no index" * 20)
    assert "git can't list submodules in" in git_places(repository).problem


def test_no_program_of_the_repository_is_run(tmp_path: Path) -> None:
    """Not even to fetch what is missing: git reads the directories of a sparse index from other repositories."""
    root, ran, program = tmp_path / "root", tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    program.chmod(0o755)
    (root / "docs").mkdir(parents=True)
    (root / "docs/a.txt").touch()
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")
    git(root, "sparse-checkout", "init", "--cone", "--sparse-index")
    shutil.rmtree(root / ".git/objects")
    (root / ".git/objects").mkdir()
    settings = {
        "core.fsmonitor": f"{program}",
        "core.pager": f"{program}",
        "core.sshCommand": f"{program}",
        "alias.ls-files": f"!{program}",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "protocol.allow": "always",
    }
    for name, value in settings.items():
        git(root, "config", name, value)
    assert submodules_in(root) == set()
    assert not ran.exists()
    arguments = ["git", "-C", str(root), "-c", "core.fsmonitor=", "ls-files", "--stage"]
    subprocess.run(arguments, check=False, capture_output=True)
    assert ran.exists(), "these settings run a program where nothing keeps them from it"


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
