import os
from pathlib import Path

import pytest

from tests.other_user import OTHER, needs_root
from ullage.store.sqlite.ownership import ForeignStore, require_own
from ullage.store.sqlite.store import SqliteStore


async def made(path: Path) -> Path:
    store = SqliteStore(path)
    await store.create("s")
    await store.close()
    return path


async def test_a_store_of_ones_own_may_be_moved(tmp_path: Path) -> None:
    path = await made(tmp_path / "new" / "s.db")
    require_own(path)
    os.replace(path, tmp_path / "moved.db")
    require_own(tmp_path / "moved.db")
    require_own(tmp_path / "yet-to-be-made.db")


@pytest.mark.parametrize("name", ["s.db", "s.db-wal", "s.db-journal"])
async def test_a_readable_file_came_from_elsewhere(tmp_path: Path, name: str) -> None:
    path = await made(tmp_path / "s.db")
    (tmp_path / name).touch()
    for mode in (0o644, 0o620, 0o602):
        (tmp_path / name).chmod(mode)
        with pytest.raises(ForeignStore, match=f"`chmod 600 {tmp_path / name}`"):
            require_own(path)
    (tmp_path / name).chmod(0o600)
    require_own(path)


async def test_a_directory_that_others_may_write_to_is_named(tmp_path: Path) -> None:
    place = tmp_path / "shared place"
    path = await made(place / "s.db")
    place.chmod(0o755)
    require_own(path)
    for mode in (0o775, 0o1777):
        place.chmod(mode)
        with pytest.raises(ForeignStore, match=f"`chmod go-w '{place}'`"):
            require_own(path)
        with pytest.raises(ForeignStore):
            require_own(place / "yet-to-be-made.db")


async def test_a_link_is_as_good_as_its_place_and_target(tmp_path: Path) -> None:
    path = await made(tmp_path / "there" / "s.db")
    (tmp_path / "here").mkdir(mode=0o755)
    link = tmp_path / "here" / "link.db"
    link.symlink_to(path)
    require_own(link)
    (tmp_path / "directory").symlink_to(tmp_path / "there")
    require_own(tmp_path / "directory" / "s.db")
    for place in (link.parent, path.parent):
        place.chmod(0o777)
        with pytest.raises(ForeignStore, match=str(place)):
            require_own(link)
        place.chmod(0o755)
    path.chmod(0o644)
    with pytest.raises(ForeignStore, match=str(path)):
        require_own(link)


@needs_root
async def test_what_another_user_owns_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = await made(tmp_path / "there" / "s.db")
    link = tmp_path / "link.db"
    link.symlink_to(path)
    before = path.read_bytes()
    for theirs in (path, path.parent, link):
        os.chown(theirs, OTHER, OTHER, follow_symlinks=False)
        with pytest.raises(ForeignStore, match=f"`chown -h {os.getuid()} {theirs}`"):
            require_own(link)
        os.chown(theirs, 0, 0, follow_symlinks=False)
    require_own(link)
    assert path.read_bytes() == before
