import os
from pathlib import Path

import pytest

from ullage_agent.tools.file_access import FileAccess, file_access_of, store_files
from ullage_agent.tools.protected_paths import is_below


def sees(reach: FileAccess, path: Path) -> bool:
    places = (*reach.places, *reach.readable)
    return is_below(path, places) and not is_below(path, reach.hidden)


def writes(reach: FileAccess, path: Path) -> bool:
    return is_below(path, reach.places) and not is_below(
        path, (*reach.hidden, *reach.closed)
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in (".ssh", ".cargo/bin", ".config/gh", "project"):
        (home / name).mkdir(parents=True)
    (home / ".bashrc").touch()
    return home


def test_of_a_home_only_toolchains_and_the_workspace_are_seen(home: Path) -> None:
    reach = file_access_of(home / "project", home=home)
    assert (
        sees(reach, home / ".cargo/bin/cargo")
        and sees(reach, home / "project/a")
        and sees(reach, Path("/usr/bin/env"))
    )
    assert not any(
        sees(reach, home / name)
        for name in (".ssh/id", ".config/gh/hosts.yml", ".cargo/credentials", "b")
    )
    assert writes(reach, home / "project/a")
    assert not writes(reach, home / ".cargo/bin/cargo") and not writes(
        reach, Path("/usr/bin/env")
    )


def test_a_home_directory_on_the_search_path_opens_nothing(home: Path) -> None:
    (home / "tools").mkdir()
    reach = file_access_of(
        home / "project", home=home, search_path=f"{home}:{home}/tools:.:/"
    )
    assert sees(reach, home / "tools/a")
    assert not sees(reach, home / ".ssh/id")


def test_a_place_that_holds_the_home_directory_can_not_be_confined(home: Path) -> None:
    for place in (home, home.parent, Path("/")):
        assert "holds the home directory" in file_access_of(place, home=home).problem
        found = file_access_of(home / "project", home=home, writable=(place,)).problem
        assert "holds the home directory" in found
    assert file_access_of(home / "project", home=home).problem == ""


def test_what_is_hidden_is_hidden_in_the_workspace_too(home: Path) -> None:
    store = home / "project/s.db"
    for name in ("s.db", "s.db-wal", "other"):
        (home / "project" / name).touch()
    reach = file_access_of(home / "project", home=home, hidden=store_files(store))
    assert not sees(reach, store) and not sees(reach, home / "project/s.db-wal")
    assert sees(reach, home / "project/other")


@pytest.mark.parametrize(
    "name",
    [
        ".local/share/uv/credentials/credentials.toml", ".dotnet/corefx/cryptography/x509stores/my/a.pfx",
        ".npm-global/etc/npmrc", ".nvm/versions/node/v22/etc/npmrc", "miniconda3/.condarc",
        "miniconda3/envs/a/.condarc", ".asdf/installs/nodejs/22/etc/npmrc",
    ],
)  # fmt: skip
def test_secrets_of_toolchains_are_not_seen(name: str, home: Path) -> None:
    (home / name).parent.mkdir(parents=True)
    (home / name).touch()
    assert not sees(file_access_of(home / "project", home=home), home / name)


def test_programs_of_toolchains_are_seen(home: Path) -> None:
    names = (
        ".local/share/uv/python",
        ".dotnet/sdk",
        ".npm-global/lib",
        ".nvm/versions/node/v22/bin",
        "miniconda3/lib",
    )
    for name in names:
        (home / name).mkdir(parents=True)
        assert sees(file_access_of(home / "project", home=home), home / name / "a")


def test_what_only_root_may_read_is_hidden_from_root(home: Path) -> None:
    reach = file_access_of(home / "project", home=home)
    assert sees(reach, Path("/etc/passwd"))
    assert sees(reach, Path("/etc/shadow")) is (
        os.geteuid() != 0
    )  # from others its permissions hide it
