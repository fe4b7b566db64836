import json
from pathlib import Path

import pytest

from tests.cli.wrapping.starts import start_in, write
from ullage.cli.wrapping.setup import BASE, WrapRefused
from ullage_programs.qwen_code.client import setup, used_address

ADDRESS = "OPENAI_BASE_URL"
SYSTEM = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
PROVIDERS = {
    "openai": [
        {"id": "one", "baseUrl": "https://api.deepseek.com/v1", "envKey": "KEY"},
        {"id": "two", "baseUrl": "https://llm.example/v1"},
        {"id": "three"},
        "no model",
    ],
    "odd": 3,
}


def test_it_gets_one_variable(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    assert setup(start).environment == {ADDRESS: f"{BASE}/openai"}
    assert start.upstreams == {"openai": "https://api.openai.com/v1"}


@pytest.mark.parametrize(
    "settings",
    [
        {"env": {ADDRESS: "https://llm.example/v1"}},
        {"security": {"auth": {"baseUrl": "https://llm.example/v1"}}},
    ],
)
def test_calls_go_on_to_the_settings(tmp_path: Path, settings: dict[str, object]) -> None:
    write(tmp_path / ".qwen" / "settings.json", settings)
    start = start_in(tmp_path)
    setup(start)
    assert start.upstreams == {"openai": "https://llm.example/v1"}


def test_the_environment_comes_before_the_settings(tmp_path: Path) -> None:
    write(tmp_path / ".qwen" / "settings.json", {"env": {ADDRESS: "https://a.example"}})
    start = start_in(tmp_path, OPENAI_BASE_URL="https://b.example")
    assert used_address(start).url == "https://b.example"


def test_each_of_its_model_providers_gets_another_address(tmp_path: Path) -> None:
    write(tmp_path / ".qwen" / "settings.json", {"modelProviders": PROVIDERS})
    system = tmp_path / "system.json"
    write(system, {"ui": {"theme": "dark"}})
    start = start_in(tmp_path, **{SYSTEM: str(system)})
    found = setup(start)
    settings = json.loads(found.files[SYSTEM])
    assert settings["ui"] == {"theme": "dark"}
    one, two, three, fourth = settings["modelProviders"]["openai"]
    assert one == {"id": "one", "baseUrl": f"{BASE}/deepseek", "envKey": "KEY"}
    assert two["baseUrl"] == f"{BASE}/openai-2"
    assert (three, fourth) == ({"id": "three"}, "no model")
    assert settings["modelProviders"]["odd"] == 3


def test_a_projects_settings_come_first_and_are_asked_about(tmp_path: Path) -> None:
    for place in ("", "project"):
        settings = {"env": {ADDRESS: f"https://{place or 'own'}.example"}}
        write(tmp_path / place / ".qwen" / "settings.json", settings)
    used = used_address(start_in(tmp_path))
    assert (used.url, used.place) == ("https://project.example", tmp_path / "project")
    rules = tmp_path / ".qwen" / "trustedFolders.json"
    write(rules, {str(tmp_path / "project"): "TRUST_FOLDER"})
    assert used_address(start_in(tmp_path)).place is None
    write(rules, {str(tmp_path / "project"): "DO_NOT_TRUST"})
    assert used_address(start_in(tmp_path)).url == "https://own.example"


def test_a_projects_models_do_not_become_system_settings(tmp_path: Path) -> None:
    providers = {"openai": [{"id": "three", "envKey": "AWS_SECRET_ACCESS_KEY"}]}
    settings = tmp_path / "project" / ".qwen" / "settings.json"
    write(settings, {"modelProviders": providers})
    assert not setup(start_in(tmp_path)).files


def test_system_settings_that_can_not_be_read_start_nothing(tmp_path: Path) -> None:
    write(tmp_path / ".qwen" / "settings.json", {"modelProviders": PROVIDERS})
    write(tmp_path / "system.json", "{")
    with pytest.raises(WrapRefused, match="nothing was started"):
        setup(start_in(tmp_path, **{SYSTEM: str(tmp_path / "system.json")}))
