from pathlib import Path

import pytest

from ullage.errors import CommandRefused, UllageError
from ullage.store.grants import KIND, ProjectGrants
from ullage.turns.grants import Grant

STATUS = Grant(id="g-1", tool="shell", prefix=("git", "status"), at=1)


def test_a_grant_holds_for_its_root_until_it_is_revoked(tmp_path: Path) -> None:
    grants, root, other = ProjectGrants(tmp_path / "data"), tmp_path / "a", tmp_path / "b"
    root.mkdir()
    assert (grants.all(), grants.of(root)) == ([], ())
    grants.add(root, STATUS)
    grants.add(root, Grant(id="g-0", tool="write", at=2))
    assert [one.id for one in grants.of(root)] == ["g-1", "g-0"]
    assert grants.of(other) == ()
    assert ProjectGrants(tmp_path / "data").of(root)[0] == STATUS
    assert grants.revoke("g-1")
    assert not grants.revoke("g-1")
    assert [one.id for one in grants.of(root)] == ["g-0"]


def test_a_link_to_a_root_is_the_root(tmp_path: Path) -> None:
    grants, root = ProjectGrants(tmp_path / "data"), tmp_path / "a"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    grants.add(tmp_path / "link", STATUS)
    assert grants.of(root) == grants.of(tmp_path / "link") == (STATUS,)


def test_a_root_that_holds_the_grants_has_none(tmp_path: Path) -> None:
    grants = ProjectGrants(tmp_path / "home" / "data")
    with pytest.raises(CommandRefused, match="Allow it for this session instead"):
        grants.add(tmp_path / "home", STATUS)
    grants.add(tmp_path / "home" / "project", STATUS)
    (file,) = (tmp_path / "home" / "data" / KIND).iterdir()
    text = file.read_text().replace(
        str(tmp_path / "home" / "project"), str(tmp_path / "home")
    )
    file.write_text(text)
    assert grants.of(tmp_path / "home") == ()


def test_only_the_user_reads_and_writes_them(tmp_path: Path) -> None:
    grants = ProjectGrants(tmp_path / "data")
    grants.add(tmp_path / "a", STATUS)
    (file,) = (tmp_path / "data" / KIND).iterdir()
    assert (tmp_path / "data" / KIND).stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600


DAMAGED = [
    "",
    "{}",
    "no json",
    '{"root": 5}',
    "[" * 100_000,
    '{"root":"%s","grant":{"id":"x","tool":"t"}}',
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_or_renamed_file_grants_nothing(tmp_path: Path, text: str) -> None:
    grants = ProjectGrants(tmp_path / "data")
    grants.add(tmp_path / "a", STATUS)
    (tmp_path / "data" / KIND / "g-2.json").write_text(
        text.replace("%s", str(tmp_path / "a"))
    )
    (tmp_path / "data" / KIND / "g-3.json").symlink_to(
        tmp_path / "data" / KIND / "g-1.json"
    )
    assert grants.of(tmp_path / "a") == (STATUS,)


@pytest.mark.parametrize("name", ["../data/grants/g-1", "", "a/b", ".", "g-1.json"])
def test_an_id_names_no_other_file(tmp_path: Path, name: str) -> None:
    grants = ProjectGrants(tmp_path / "data")
    grants.add(tmp_path / "a", STATUS)
    assert not grants.revoke(name)
    assert grants.of(tmp_path / "a") == (STATUS,)


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(UllageError, match="ULLAGE_DATA"):
        ProjectGrants(tmp_path / "data").add(tmp_path / "a", STATUS)
