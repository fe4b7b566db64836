from pathlib import Path

import pytest

from tests.cli.command import perform
from ullage.cli.install import CHANGES
from ullage.cli.parser import CLIENTS

PLACES = {
    "copilot-cli": ".copilot/settings.json",
    "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/ullage.js",
    "pi": ".pi/agent/extensions/ullage.js",
    "qwen-code": ".qwen/settings.json",
}


def test_every_client_of_the_command_line_can_be_installed() -> None:
    assert sorted(CHANGES) == sorted(CLIENTS)


@pytest.mark.parametrize("client", PLACES)
def test_a_client_gets_its_extension_and_loses_it(client: str, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    assert perform(tmp_path, environment, "install", client).returncode == 0
    assert "ullage" in (tmp_path / PLACES[client]).read_text()
    perform(tmp_path, environment, "uninstall", client)
    assert not (tmp_path / PLACES[client]).exists()


@pytest.mark.parametrize(
    ("client", "place"),
    [
        ("codex", ".codex/config.toml"),
        ("opencode", ".config/opencode/opencode.json"),
        ("pi", ".pi/agent/models.json"),
        ("qwen-code", ".qwen/settings.json"),
    ],
)
def test_a_proxys_address_is_put_into_the_configuration(
    client: str, place: str, tmp_path: Path
) -> None:
    words = ("install", client, "--proxy", "http://127.0.0.1:4141")
    perform(tmp_path, {"HOME": str(tmp_path)}, *words)
    assert "http://127.0.0.1:4141" in (tmp_path / place).read_text()
    perform(tmp_path, {"HOME": str(tmp_path)}, "uninstall", client)
    assert not (tmp_path / place).exists()


def test_addresses_that_qwen_code_takes_first_are_not_hidden_behind_ours(
    tmp_path: Path,
) -> None:
    settings = tmp_path / ".qwen" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"modelProviders": {"openai": [{"id": "m"}]}}')
    words = ("install", "qwen-code", "--proxy", "http://127.0.0.1:4141")
    ended = perform(tmp_path, {"HOME": str(tmp_path)}, *words)
    assert ended.returncode == 2
    assert "its modelProviders come first" in ended.stderr


def test_what_a_client_has_no_place_for_is_said(tmp_path: Path) -> None:
    words = ("install", "gemini-cli", "--statusline")
    ended = perform(tmp_path, {"HOME": str(tmp_path)}, *words)
    assert ended.returncode == 2
    assert "gemini-cli has no place for that" in ended.stderr


@pytest.mark.parametrize(
    ("client", "instead"),
    [
        ("codex", "Use `ullage install codex --proxy`."),
        ("gemini-cli --proxy URL", "Use `ullage install gemini-cli --hooks`."),
        ("copilot-cli --hooks", "Use `ullage install copilot-cli --statusline`."),
        ("copilot-cli --project", "Use `ullage install copilot-cli --statusline`."),
        ("qwen-code --hooks", "--statusline` or `ullage install qwen-code --proxy`."),
    ],
)
def test_what_can_be_installed_instead_is_named(
    client: str, instead: str, tmp_path: Path
) -> None:
    ended = perform(tmp_path, {"HOME": str(tmp_path)}, "install", *client.split())
    assert ended.returncode == 2
    assert instead in ended.stderr


@pytest.mark.parametrize(
    ("client", "before"),
    [
        ("copilot-cli", '{"statusLine": {"command": "mine"}}'),
        ("qwen-code", '{"ui": {"statusLine": {"command": "mine"}}}'),
        ("qwen-code", '{"ui": {"statusLine": {"type": "preset", "items": []}}}'),
    ],
)
def test_a_status_line_of_the_users_own_stays(
    client: str, before: str, tmp_path: Path
) -> None:
    settings = tmp_path / PLACES[client]
    settings.parent.mkdir()
    settings.write_text(before)
    ended = perform(tmp_path, {"HOME": str(tmp_path)}, "install", client)
    assert ended.returncode == 2
    assert "another status line" in ended.stderr
    assert settings.read_text() == before
