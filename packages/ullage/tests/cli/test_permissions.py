import json
from pathlib import Path

import pytest
from pytest import CaptureFixture

from ullage.cli import main
from ullage.store.grants import ProjectGrants
from ullage.turns.grants import Grant


@pytest.fixture
def grants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectGrants:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    made = ProjectGrants(tmp_path / "data")
    made.add(tmp_path / "b", Grant(id="g-2", tool="write", at=2))
    made.add(
        tmp_path / "a", Grant(id="g-1", tool="shell", prefix=("git", "status"), at=1)
    )
    return made


def test_grants_are_listed_by_project(
    grants: ProjectGrants, tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    assert main(["permissions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(tmp_path / "a")
    assert lines[1].startswith("  g-1") and lines[1].endswith("shell: git status …")
    assert lines[3].endswith("write")
    assert main(["permissions", "--json"]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)["permissions"]] == [
        "g-1",
        "g-2",
    ]


def test_a_grant_is_revoked(grants: ProjectGrants, capsys: CaptureFixture[str]) -> None:
    assert main(["permissions", "--revoke", "g-1", "--revoke", "g-2"]) == 0
    assert "Revoked g-1" in capsys.readouterr().out
    assert grants.all() == []
    assert main(["permissions"]) == 0
    assert "Nothing is allowed" in capsys.readouterr().out


def test_the_beginning_of_an_id_is_enough_where_only_one_begins_so(
    grants: ProjectGrants, tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    grants.add(tmp_path / "a", Grant(id="g-9f717a", tool="edit", at=3))
    grants.add(tmp_path / "a", Grant(id="g-9f8", tool="list", at=4))
    assert main(["permissions", "--revoke", "g-9f"]) == 2
    assert "g-9f717a, g-9f8" in capsys.readouterr().err
    assert main(["permissions", "--revoke", "g-9f717"]) == 0
    assert "Revoked g-9f717a" in capsys.readouterr().out
    assert main(["permissions", "--revoke", ""]) == 2
    assert [one.grant.id for one in grants.all()] == ["g-1", "g-2", "g-9f8"]


@pytest.mark.parametrize("name", ["g-9", "../g-1"])
def test_an_id_that_there_is_not_revokes_nothing(
    grants: ProjectGrants, capsys: CaptureFixture[str], name: str
) -> None:
    assert main(["permissions", "--revoke", name]) == 2
    assert "ullage permissions" in capsys.readouterr().err
    assert len(grants.all()) == 2
