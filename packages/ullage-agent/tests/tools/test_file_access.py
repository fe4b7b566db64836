import os
from pathlib import Path

import pytest

from ullage_agent.tools.file_access import file_access_of, store_files


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in (".ssh", ".cargo/bin", ".config/gh", "project"):
        (home / name).mkdir(parents=True)
    (home / ".bashrc").touch()
    return home


def test_of_a_home_directory_only_toolchains_and_the_workspace_are_seen(
    home: Path,
) -> None:
    reach = file_access_of(home / "project", home=home)
    assert (
        reach.sees(home / ".cargo/bin/cargo")
        and reach.sees(home / "project/a")
        and reach.sees(Path("/usr/bin/env"))
    )
    assert not any(
        reach.sees(home / name)
        for name in (".ssh/id", ".config/gh/hosts.yml", ".cargo/credentials", "b")
    )
    assert reach.writes(home / "project/a")
    assert not reach.writes(home / ".cargo/bin/cargo") and not reach.writes(
        Path("/usr/bin/env")
    )


def test_a_home_directory_on_the_search_path_opens_nothing(home: Path) -> None:
    (home / "tools").mkdir()
    reach = file_access_of(
        home / "project", home=home, search_path=f"{home}:{home}/tools:.:/"
    )
    assert reach.sees(home / "tools/a")
    assert not reach.sees(home / ".ssh/id")


def test_a_place_that_holds_the_home_directory_can_not_be_confined(home: Path) -> None:
    for place in (home, home.parent, Path("/")):
        assert "holds the home directory" in file_access_of(place, home=home).problem
        assert (
            "holds the home directory"
            in file_access_of(home / "project", home=home, writable=(place,)).problem
        )
    assert file_access_of(home / "project", home=home).problem == ""


def test_what_is_hidden_is_hidden_in_the_workspace_too(home: Path) -> None:
    store = home / "project/s.db"
    for name in ("s.db", "s.db-wal", "other"):
        (home / "project" / name).touch()
    reach = file_access_of(home / "project", home=home, hidden=store_files(store))
    assert not reach.sees(store) and not reach.sees(home / "project/s.db-wal")
    assert reach.sees(home / "project/other")


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
    assert not file_access_of(home / "project", home=home).sees(home / name)


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
        assert file_access_of(home / "project", home=home).sees(home / name / "a")


def test_what_only_root_may_read_is_hidden_from_root(home: Path) -> None:
    reach = file_access_of(home / "project", home=home)
    assert reach.sees(Path("/etc/passwd"))
    assert reach.sees(Path("/etc/shadow")) is (
        os.geteuid() != 0
    )  # from others its permissions hide it
