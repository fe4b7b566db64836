import json
from pathlib import Path

import pytest

from tests.cli.wrapping.starts import start_in, write
from ullage.cli.wrapping.setup import BASE
from ullage_programs.pi.client import EXTENSION, setup


def test_its_providers_get_other_addresses_by_an_extension(tmp_path: Path) -> None:
    start = start_in(tmp_path, PI_CODING_AGENT_DIR=str(tmp_path))
    found = setup(start)
    assert found.arguments == ["-e", str(EXTENSION)]
    assert EXTENSION.is_file()
    assert json.loads(found.environment["ULLAGE_PI_ADDRESSES"]) == {
        "anthropic": f"{BASE}/anthropic",
        "openai": f"{BASE}/openai",
        "google": f"{BASE}/gemini",
    }
    assert start.upstreams["openai"] == "https://api.openai.com/v1"


def test_an_address_of_models_json_is_where_calls_go_on_to(tmp_path: Path) -> None:
    entry = {"baseUrl": "https://llm.example/v1"}
    write(tmp_path / "models.json", {"providers": {"anthropic": entry, "lab": entry}})
    start = start_in(tmp_path, PI_CODING_AGENT_DIR=str(tmp_path))
    setup(start)
    assert start.upstreams["anthropic"] == "https://llm.example/v1"
    assert start.upstreams["lab"] == "https://llm.example/v1"


@pytest.mark.parametrize("odd", [3, {"lab": 3}, {"lab": {"baseUrl": 3}}])
def test_settings_of_other_types_are_passed_over(tmp_path: Path, odd: object) -> None:
    write(tmp_path / "models.json", {"providers": odd})
    start = start_in(tmp_path, PI_CODING_AGENT_DIR=str(tmp_path))
    setup(start)
    assert list(start.upstreams) == ["anthropic", "openai", "gemini"]
