"""The command that adds an optional package is the one of the program that installed Ullage."""

import json
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from ullage.installation import extra_command, is_temporary, package_command

RECEIPT = """[tool]
requirements = [{ name = "splintr-rs" }, { name = "ullage", extras = ["chat", "bpe"] }]
"""


def environment(root: Path, name: str = "", text: str = "") -> Path:
    """An environment, with one file where ``name`` is given."""
    prefix = root / "env"
    prefix.mkdir()
    if name:
        (prefix / name).write_text(text)
    return prefix


def commands(prefix: Path, direct: object = None, installer: str = "pip") -> list[str]:
    """What adds the extra ``server``, and what adds a package, for a distribution installed from ``direct``."""
    info = prefix / "ullage-0.1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "INSTALLER").write_text(f"{installer}\n")
    if direct:
        (info / "direct_url.json").write_text(json.dumps(direct))
    installed = Distribution.at(info)
    return [
        extra_command("server", prefix=str(prefix), installed=installed),
        package_command("genai-prices", prefix=str(prefix), installed=installed),
    ]


FOLDER = {"url": "file:///my%20clone/packages/ullage", "dir_info": {}}
GIT = {
    "url": "https://git.example.org/ullage",
    "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "0a"},
    "subdirectory": "packages/ullage",
}


def test_pip_names_what_it_cannot_find_beside_ullage(tmp_path: Path) -> None:
    update = "pip install --upgrade genai-prices"
    assert commands(tmp_path) == ["pip install 'ullage[server]'", update]
    assert commands(tmp_path, FOLDER) == [
        "pip install '/my clone/packages/ullage[server]' '/my clone/packages/ullage-agent'"
        " '/my clone/packages/ullage-server'",
        update,
    ]
    place = "git+https://git.example.org/ullage@v1#subdirectory=packages"
    assert commands(tmp_path, GIT) == [
        f"pip install 'ullage[server] @ {place}/ullage' 'ullage-agent @ {place}/ullage-agent'"
        f" 'ullage-server @ {place}/ullage-server'",
        update,
    ]


def test_uv_pip(tmp_path: Path) -> None:
    assert commands(tmp_path, FOLDER, "uv") == [
        "uv pip install '/my clone/packages/ullage[server]'",
        "uv pip install --upgrade genai-prices",
    ]


def test_uv_tool_keeps_the_extras_that_are_installed(tmp_path: Path) -> None:
    prefix = environment(tmp_path, "uv-receipt.toml", RECEIPT)
    assert commands(prefix) == [
        "uv tool install 'ullage[bpe,chat,server]'",
        "uv tool install --upgrade 'ullage[bpe,chat]' --with genai-prices",
    ]
    assert commands(prefix, FOLDER)[0] == (
        "uv tool install '/my clone/packages/ullage[bpe,chat,server]'"
    )
    assert commands(prefix, GIT)[0].startswith(
        "uv tool install 'ullage[bpe,chat,server] @ git+https://git.example.org/ullage@v1#"
    )


def test_pipx_where_it_says_so(tmp_path: Path) -> None:
    prefix = environment(tmp_path, "pipx_metadata.json")
    inject = "pipx inject ullage genai-prices"
    assert commands(prefix) == ["pipx install --force 'ullage[server]'", inject]
    assert commands(prefix, FOLDER)[0].startswith(
        "pipx runpip ullage install '/my clone/packages/ullage[server]' '/my clone/"
    )


def test_uvx_where_the_environment_lies_in_its_cache(tmp_path: Path) -> None:
    assert commands(tmp_path / "archive-v0" / "x1") == [
        "uvx --from 'ullage[server]' ullage",
        "uvx --from ullage --with genai-prices ullage",
    ]


def test_where_nothing_stays_installed_the_running_command_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/x/bin/ullage", "serve", "--root", "my project"])
    assert commands(tmp_path / "archive-v0" / "x1")[0] == (
        "uvx --from 'ullage[server]' ullage serve --root 'my project'"
    )


def test_only_an_environment_in_the_cache_is_temporary(tmp_path: Path) -> None:
    assert is_temporary(str(tmp_path / "archive-v0" / "x1"))
    assert not is_temporary(str(tmp_path / "tools" / "ullage"))


def test_a_clone_and_a_project_of_uv(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").touch()
    package = (tmp_path / "packages" / "ullage").as_uri()
    member = {"url": package, "dir_info": {"editable": True}}
    assert commands(tmp_path / ".venv", member) == [
        "uv run --no-dev --extra server ullage",
        "uv run --no-dev --with genai-prices ullage",
    ]
    update = "uv add genai-prices"
    assert commands(tmp_path / ".venv", FOLDER) == [
        "uv add --editable '/my clone/packages/ullage[server]'",
        update,
    ]
    (tmp_path / ".venv" / "ullage-0.1.0.dist-info" / "direct_url.json").unlink()
    assert commands(tmp_path / ".venv") == ["uv add 'ullage[server]'", update]


@pytest.mark.parametrize(
    "direct", [[], {"url": 3}, {"dir_info": {}, "url": 3}, {"vcs_info": 3, "url": "x"}]
)
def test_a_damaged_record_counts_as_none(tmp_path: Path, direct: object) -> None:
    assert commands(tmp_path, direct)[0] == "pip install 'ullage[server]'"


@pytest.mark.parametrize(
    "text",
    ["", "[", "[tool]", "[tool]\nrequirements = 3", "[tool]\nrequirements = [{}]", "\0"],
)
def test_a_damaged_receipt_names_no_extras(tmp_path: Path, text: str) -> None:
    prefix = environment(tmp_path, "uv-receipt.toml", text)
    assert commands(prefix) == [
        "uv tool install 'ullage[server]'",
        "uv tool install --upgrade ullage --with genai-prices",
    ]
