import tomllib
from pathlib import Path

import pytest

from tests.cli.command import Ended, perform

MINE = """\
# my settings
model = "gpt-5"   # for now

[model_providers.azure]  # at work
name = 'Azure'
\tbase_url = 'https://example.com/v1' # theirs

[tui]
notifications = true"""

PROXY = "http://127.0.0.1:4141/v1"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(MINE.encode())
    return path


def run(home: Path, *words: str) -> Ended:
    return perform(home, {"HOME": str(home)}, *words)


def install(home: Path, *words: str) -> Ended:
    return run(home, "install", "codex", "--proxy", PROXY, *words)


def test_codexs_own_provider_gets_the_address(settings: Path, tmp_path: Path) -> None:
    assert install(tmp_path).returncode == 0
    text = settings.read_text()
    assert tomllib.loads(text)["openai_base_url"] == PROXY
    assert text.endswith(MINE)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_provider_of_the_users_own_gets_it_in_its_table(
    settings: Path, tmp_path: Path, ends: str
) -> None:
    mine = ('model_provider = "azure"\n' + MINE).replace("\n", ends).encode()
    settings.write_bytes(mine)
    install(tmp_path)
    changed = settings.read_bytes()
    assert changed.replace(f'"{PROXY}"'.encode(), b"'https://example.com/v1'") == mine
    run(tmp_path, "uninstall", "codex")
    assert settings.read_bytes() == mine


def test_another_address_takes_the_place_of_the_first(
    settings: Path, tmp_path: Path
) -> None:
    install(tmp_path)
    run(tmp_path, "install", "codex", "--proxy", "http://127.0.0.1:9")
    assert PROXY not in settings.read_text()
    run(tmp_path, "uninstall", "codex")
    assert settings.read_bytes() == MINE.encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("model = ", "it is not valid TOML"),
        ('model_provider = "ollama"', "it has no table [model_providers.ollama]"),
    ],
)
def test_a_file_that_does_not_allow_it_is_named_and_unchanged(
    settings: Path, tmp_path: Path, content: str, reason: str
) -> None:
    settings.write_text(content)
    refused = install(tmp_path)
    assert refused.returncode == 2
    assert f"nothing was changed: {settings}: {reason}" in refused.stderr
    assert "then run this again" in refused.stderr
    assert settings.read_text() == content


def test_a_projects_configuration_has_no_place_for_it(tmp_path: Path) -> None:
    assert "no place" in install(tmp_path, "--project").stderr
