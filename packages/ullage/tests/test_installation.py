"""The command that adds an optional package is the one of the program that installed Ullage."""

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


def commands(prefix: Path, source: Path) -> tuple[str, str]:
    where = {"prefix": str(prefix), "source": source}
    return extra_command("server", **where), package_command("genai-prices", **where)  # type: ignore[arg-type]


def test_pip_where_nothing_says_otherwise(tmp_path: Path) -> None:
    prefix = environment(tmp_path)
    assert commands(prefix, prefix / "lib" / "ullage") == (
        "pip install 'ullage[server]'",
        "pip install --upgrade genai-prices",
    )


def test_uv_tool_keeps_the_extras_that_are_installed(tmp_path: Path) -> None:
    prefix = environment(tmp_path, "uv-receipt.toml", RECEIPT)
    assert commands(prefix, prefix / "lib" / "ullage") == (
        "uv tool install 'ullage[bpe,chat,server]'",
        "uv tool install --upgrade 'ullage[bpe,chat]' --with genai-prices",
    )


def test_pipx_where_it_says_so(tmp_path: Path) -> None:
    prefix = environment(tmp_path, "pipx_metadata.json")
    assert commands(prefix, prefix / "lib" / "ullage") == (
        "pipx install --force 'ullage[server]'",
        "pipx inject ullage genai-prices",
    )


def test_uvx_where_the_environment_lies_in_its_cache(tmp_path: Path) -> None:
    prefix = tmp_path / "archive-v0" / "x1"
    assert commands(prefix, prefix / "lib" / "ullage") == (
        "uvx --from 'ullage[server]' ullage",
        "uvx --with genai-prices ullage",
    )


def test_only_an_environment_in_the_cache_is_temporary(tmp_path: Path) -> None:
    assert is_temporary(str(tmp_path / "archive-v0" / "x1"))
    assert not is_temporary(str(tmp_path / "tools" / "ullage"))


def test_a_clone_and_a_project_of_uv(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").touch()
    installed = tmp_path / ".venv" / "lib" / "ullage"
    assert commands(tmp_path / ".venv", tmp_path / "packages/ullage/src/ullage") == (
        "uv run --extra server ullage",
        "uv run --with genai-prices ullage",
    )
    assert commands(tmp_path / ".venv", installed) == (
        "uv add 'ullage[server]'",
        "uv add genai-prices",
    )


@pytest.mark.parametrize(
    "text",
    ["", "[", "[tool]", "[tool]\nrequirements = 3", "[tool]\nrequirements = [{}]", "\0"],
)
def test_a_damaged_receipt_names_no_extras(tmp_path: Path, text: str) -> None:
    prefix = environment(tmp_path, "uv-receipt.toml", text)
    assert commands(prefix, prefix / "lib" / "ullage") == (
        "uv tool install 'ullage[server]'",
        "uv tool install --upgrade ullage --with genai-prices",
    )
