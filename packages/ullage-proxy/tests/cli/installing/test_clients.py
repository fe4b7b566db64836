import json
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.command import Ended, perform
from ullage.cli.client_names import CLIENTS
from ullage.cli.wrapping.setup import client_of
from ullage_programs.programs import PROGRAMS, folder_of

PLACES = {
    "copilot-cli": ".copilot/settings.json",
    "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/ullage.js",
    "pi": ".pi/agent/extensions/ullage.js",
    "qwen-code": ".qwen/settings.json",
}


def run(home: Path, *words: str) -> Ended:
    yes = ("--yes",) if words[0] == "install" else ()
    return perform(home, {"HOME": str(home)}, *words, *yes)


def files_of(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def test_install_and_wrap_take_the_same_clients() -> None:
    assert all(PROGRAMS[name].command == command for command, name in CLIENTS.items())
    modules = {name: f"ullage_programs.{folder_of(name)}.client" for name in PROGRAMS}
    assert {name for name in modules if find_spec(modules[name])} == {*CLIENTS.values()}
    for name in CLIENTS.values():
        client = client_of(name)
        assert callable(client.entries) and callable(client.setup)


@pytest.mark.parametrize("client", PLACES)
def test_a_client_gets_an_extension_and_loses_it(client: str, tmp_path: Path) -> None:
    assert run(tmp_path, "install", client).returncode == 0
    place = tmp_path / PLACES[client]
    once = place.read_bytes()
    assert b"ullage" in once
    program = next(word for word, name in CLIENTS.items() if name == client)
    assert "Already installed" in run(tmp_path, "install", program).stdout
    assert place.read_bytes() == once
    run(tmp_path, "install", program, "--remove")
    assert files_of(tmp_path) == []


@pytest.mark.program
@pytest.mark.parametrize(
    ("client", "place", "address"),
    [
        ("codex", ".codex/config.toml", "http://127.0.0.1:4141/openai/v1"),
        ("opencode", ".config/opencode/opencode.json", "4141/anthropic/v1"),
        ("pi", ".pi/agent/models.json", "http://127.0.0.1:4141/anthropic"),
        ("qwen-code", ".qwen/settings.json", "http://127.0.0.1:4141/openai/v1"),
    ],
)
def test_a_client_gets_the_address_of_its_provider_and_loses_it(
    client: str, place: str, address: str, tmp_path: Path
) -> None:
    assert run(tmp_path, "install", client, "--proxy").returncode == 0
    assert f'{address}"' in (tmp_path / place).read_text()
    run(tmp_path, "install", client, "--remove")
    assert files_of(tmp_path) == []


def test_an_address_of_another_provider_is_put_back(tmp_path: Path) -> None:
    settings = tmp_path / ".qwen" / "settings.json"
    settings.parent.mkdir()
    before = {"env": {"OPENAI_BASE_URL": "https://api.deepseek.com/v1"}}
    settings.write_text(json.dumps(before))
    run(tmp_path, "install", "qwen", "--proxy")
    assert "http://127.0.0.1:4141/deepseek" in settings.read_text()
    run(tmp_path, "install", "qwen", "--remove", "--proxy")
    assert json.loads(settings.read_text()) == before


def test_an_address_that_the_proxy_does_not_know_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / ".qwen" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"env": {"OPENAI_BASE_URL": "https://llm.example/v1"}}')
    refused = run(tmp_path, "install", "qwen-code", "--proxy")
    assert refused.returncode == 2
    assert "--upstream mine=https://llm.example/v1" in refused.stderr
    assert "llm.example" in path.read_text()


def test_addresses_that_qwen_code_takes_first_are_not_hidden(tmp_path: Path) -> None:
    settings = tmp_path / ".qwen" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"modelProviders": {"openai": [{"id": "m"}]}}')
    words = ("install", "qwen-code", "--proxy", "http://127.0.0.1:4141")
    ended = run(tmp_path, *words)
    assert ended.returncode == 2
    assert "its modelProviders come first" in ended.stderr


@pytest.mark.parametrize(
    ("client", "instead"),
    [
        (
            "codex --statusline",
            "takes no status line. Use `ullage install codex --hooks` or `ullage install codex --proxy`.",
        ),
        ("gemini-cli --proxy URL", "Use `ullage install gemini-cli --hooks`."),
        ("copilot-cli --proxy", "Use `ullage install copilot-cli --statusline`."),
        (
            "copilot-cli --hooks",
            "takes no hook. Use `ullage install copilot-cli --statusline`.",
        ),
        (
            "copilot-cli --project",
            "takes no status line or hook in a project. Use `ullage install copilot-cli --statusline`.",
        ),
        ("codex --proxy URL --project", "or `ullage install codex --proxy`."),
        ("qwen-code --hooks", "--statusline` or `ullage install qwen-code --proxy`."),
    ],
)
def test_what_to_install_is_named(client: str, instead: str, tmp_path: Path) -> None:
    ended = run(tmp_path, "install", *client.split())
    assert ended.returncode == 2
    assert instead in ended.stderr


CODEX = """\
# my settings
model = "gpt-5"   # for now
{provider}
[model_providers.azure]  # at work
name = 'Azure'
\tbase_url = 'https://example.com/v1' # theirs

[tui]
notifications = true"""
ADDRESS = "http://127.0.0.1:4141/v1"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("provider", ["", 'model_provider = "azure"'])
def test_comments_and_layout_of_toml_stay(
    tmp_path: Path, provider: str, ends: str
) -> None:
    settings = tmp_path / ".codex" / "config.toml"
    settings.parent.mkdir()
    mine = CODEX.format(provider=provider).replace("\n", ends).encode()
    settings.write_bytes(mine)
    run(tmp_path, "install", "codex", "--proxy", ADDRESS)
    text = settings.read_bytes().decode()
    found = tomllib.loads(text)
    if provider:
        assert found["model_providers"]["azure"]["base_url"] == ADDRESS
        assert f'"{ADDRESS}" # theirs' in text
    else:
        assert found["openai_base_url"] == ADDRESS
        assert mine.decode().partition("[model")[2] == text.partition("[model")[2]
    assert "# my settings" in text and "# for now" in text
    run(tmp_path, "install", "codex", "--remove", "--proxy", ADDRESS)
    left = settings.read_bytes().decode()
    assert ADDRESS not in left
    assert provider or left.encode() == mine


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("model = ", "it is not valid TOML"),
        ('model_provider = "ollama"', "it has no table [model_providers.ollama]"),
    ],
)
def test_a_file_that_does_not_allow_it_is_named_and_unchanged(
    tmp_path: Path, content: str, reason: str
) -> None:
    settings = tmp_path / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(content)
    refused = run(tmp_path, "install", "codex", "--proxy", ADDRESS)
    assert refused.returncode == 2
    assert f"nothing was changed: {settings}: {reason}" in refused.stderr
    assert "then run this again" in refused.stderr
    assert settings.read_text() == content
