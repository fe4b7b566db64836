from pathlib import Path

import pytest

from tests.cli.wrapping.starts import start_in, write
from ullage.cli.wrapping.setup import BASE, Start, WrapRefused
from ullage_programs.codex.client import setup, signed_in_with_chatgpt

CUSTOM = """model_provider = "lab"
[model_providers.lab]
base_url = "https://llm.example/v1"
"""


def start_of(home: Path, config: str = "") -> Start:
    write(home / "codex" / "config.toml", config)
    return start_in(home, CODEX_HOME=str(home / "codex"), PATH=str(home / "bin"))


def codex_that_prints(home: Path, text: str) -> None:
    path = home / "bin" / "codex"
    write(path, f"#!/bin/sh\necho '{text}' >&2\n")
    path.chmod(0o755)


def test_its_own_provider_gets_an_address_for_this_run(tmp_path: Path) -> None:
    start = start_of(tmp_path)
    found = setup(start)
    assert found.arguments[:2] == ["-c", f'openai_base_url="{BASE}/openai"']
    assert start.upstreams == {"openai": "https://api.openai.com/v1"}


def test_requests_stay_uncompressed_so_that_they_can_be_read(tmp_path: Path) -> None:
    arguments = setup(start_of(tmp_path)).arguments
    assert arguments[2:] == ["-c", "features.enable_request_compression=false"]


def test_a_provider_of_the_user_keeps_its_destination(tmp_path: Path) -> None:
    start = start_of(tmp_path, CUSTOM)
    assert setup(start).arguments[1] == f'model_providers.lab.base_url="{BASE}/openai"'
    assert start.upstreams == {"openai": "https://llm.example/v1"}


def test_an_address_of_the_built_in_provider_is_kept(tmp_path: Path) -> None:
    start = start_of(tmp_path, 'openai_base_url = "https://eu.example/v1"')
    setup(start)
    assert start.upstreams == {"openai": "https://eu.example/v1"}


def test_calls_of_a_user_signed_in_with_chatgpt_go_to_chatgpt(tmp_path: Path) -> None:
    codex_that_prints(tmp_path, "Logged in using ChatGPT")
    start = start_of(tmp_path)
    setup(start)
    assert start.upstreams == {"openai-codex": "https://chatgpt.com/backend-api/codex"}


def test_a_key_is_no_chatgpt_login(tmp_path: Path) -> None:
    codex_that_prints(tmp_path, "API key configured - ***")
    assert not signed_in_with_chatgpt(start_of(tmp_path).environment)


def test_without_codex_nobody_is_signed_in(tmp_path: Path) -> None:
    assert not signed_in_with_chatgpt(start_of(tmp_path).environment)


def test_a_provider_without_its_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrapRefused, match="its provider"):
        setup(start_of(tmp_path, 'model_provider = "lab"'))
