from pathlib import Path

import pytest

from tests.cli.wrapping.starts import start_in
from ullage.cli.wrapping.setup import BASE, WrapRefused
from ullage_programs.copilot_cli.client import setup

OWN = "https://llm.example/anthropic"


def test_a_provider_of_the_users_own_gets_another_address(tmp_path: Path) -> None:
    own = {"COPILOT_PROVIDER_BASE_URL": OWN, "COPILOT_PROVIDER_TYPE": "anthropic"}
    start = start_in(tmp_path, **own)
    found = setup(start)
    assert found.environment == {"COPILOT_PROVIDER_BASE_URL": f"{BASE}/anthropic"}
    assert start.upstreams == {"anthropic": OWN}


def test_without_a_kind_it_is_compatible_with_openai(tmp_path: Path) -> None:
    start = start_in(tmp_path, COPILOT_PROVIDER_BASE_URL=OWN)
    setup(start)
    assert start.upstreams == {"openai": OWN}


def test_models_of_github_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(WrapRefused, match=r"set COPILOT_PROVIDER_BASE_URL"):
        setup(start_in(tmp_path))


def test_a_web_socket_becomes_http_and_it_is_said(tmp_path: Path) -> None:
    own = {
        "COPILOT_PROVIDER_BASE_URL": OWN,
        "COPILOT_PROVIDER_TRANSPORT": "websockets",
    }
    found = setup(start_in(tmp_path, **own))
    assert found.environment["COPILOT_PROVIDER_TRANSPORT"] == "http"
    assert found.said == ["COPILOT_PROVIDER_TRANSPORT=http"]
