import json
from pathlib import Path

import pytest

from tests.cli.wrapping.starts import start_in, write
from ullage.cli.wrapping.setup import BASE, WrapRefused
from ullage_programs.claude_code.client import setup, used_address

ADDRESS = "ANTHROPIC_BASE_URL"


@pytest.fixture(autouse=True)
def no_settings_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))


def test_it_gets_an_address_and_the_tool_search(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    found = setup(start)
    assert found.environment == {
        ADDRESS: f"{BASE}/anthropic",
        "ENABLE_TOOL_SEARCH": "true",
    }
    assert not found.arguments
    assert "ENABLE_TOOL_SEARCH=true" in found.said[0]
    assert start.upstreams == {"anthropic": "https://api.anthropic.com"}


def test_calls_go_on_to_the_address_of_the_environment(tmp_path: Path) -> None:
    start = start_in(tmp_path, ANTHROPIC_BASE_URL="https://gateway.example/claude")
    setup(start)
    assert start.upstreams == {"anthropic": "https://gateway.example/claude"}


def test_an_address_in_its_settings_comes_before_the_environment(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    write(path, {"env": {ADDRESS: "https://settings.example"}})
    start = start_in(tmp_path, "-p", "hello", ANTHROPIC_BASE_URL="https://env.example")
    found = setup(start)
    assert start.upstreams == {"anthropic": "https://settings.example"}
    option, value = found.arguments
    assert option == "--settings"
    assert json.loads(value)["env"][ADDRESS] == f"{BASE}/anthropic"


def test_a_projects_own_settings_come_first(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    write(tmp_path / ".claude" / "settings.json", {"env": {ADDRESS: "https://a.example"}})
    local = tmp_path / "project" / ".claude" / "settings.local.json"
    write(local, {"env": {ADDRESS: "https://b.example"}})
    assert used_address(start).url == "https://b.example"
    assert str(local) in used_address(start).where
    assert used_address(start).place == start.directory


def test_settings_of_a_trusted_directory_are_not_asked_about(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    assert start.directory is not None
    settings = start.directory / ".claude" / "settings.json"
    write(settings, {"env": {ADDRESS: "https://a.example"}})
    state = {"projects": {str(start.directory): {"hasTrustDialogAccepted": True}}}
    write(tmp_path / ".claude" / ".claude.json", state)
    own = start_in(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / ".claude"))
    assert used_address(own).place is None
    assert used_address(start).place is not None


def test_a_proxy_in_its_settings_is_not_asked_for_ours(tmp_path: Path) -> None:
    start = start_in(tmp_path, NO_PROXY="intern.example")
    path = tmp_path / "project" / ".claude" / "settings.json"
    write(path, {"env": {"HTTPS_PROXY": "http://proxy.example", "no_proxy": ""}})
    found = setup(start)
    values = json.loads(found.arguments[1])["env"]
    assert values["NO_PROXY"] == "intern.example,127.0.0.1"
    assert values["no_proxy"] == "127.0.0.1"
    with pytest.raises(WrapRefused, match=r"HTTPS_PROXY in .*only one --settings"):
        setup(start_in(tmp_path, "--settings", "{}"))


@pytest.mark.parametrize("chosen", ["false", "true", "auto:10"])
def test_the_users_own_choice_of_tool_search_stays(tmp_path: Path, chosen: str) -> None:
    found = setup(start_in(tmp_path, ENABLE_TOOL_SEARCH=chosen))
    assert "ENABLE_TOOL_SEARCH" not in found.environment
    assert not found.said


def test_a_choice_in_the_settings_stays_too(tmp_path: Path) -> None:
    write(
        tmp_path / ".claude" / "settings.json", {"env": {"ENABLE_TOOL_SEARCH": "false"}}
    )
    assert "ENABLE_TOOL_SEARCH" not in setup(start_in(tmp_path)).environment


@pytest.mark.parametrize("value", ["1", "true"])
def test_a_cloud_is_refused_with_what_to_do(tmp_path: Path, value: str) -> None:
    with pytest.raises(WrapRefused, match=r"Amazon Bedrock .* Start `claude` by itself"):
        setup(start_in(tmp_path, CLAUDE_CODE_USE_BEDROCK=value))


def test_a_cloud_that_is_turned_off_is_none(tmp_path: Path) -> None:
    assert setup(start_in(tmp_path, CLAUDE_CODE_USE_BEDROCK="0"))


def test_a_second_settings_option_is_refused_where_ours_is_needed(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / "settings.json", {"env": {ADDRESS: "https://a.example"}})
    with pytest.raises(WrapRefused, match="only one --settings"):
        setup(start_in(tmp_path, "--settings", "{}"))
