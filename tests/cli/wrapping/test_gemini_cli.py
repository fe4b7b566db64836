from pathlib import Path

import pytest

from tests.cli.wrapping.starts import start_in, write
from ullage.cli.wrapping.gemini_cli import setup
from ullage.cli.wrapping.setup import BASE, WrapRefused

ADDRESS = "GOOGLE_GEMINI_BASE_URL"


def test_it_gets_one_variable(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    assert setup(start).environment == {ADDRESS: f"{BASE}/gemini"}
    assert start.upstreams == {"gemini": "https://generativelanguage.googleapis.com"}


def test_calls_go_on_to_the_address_of_an_env_file(tmp_path: Path) -> None:
    write(tmp_path / ".gemini" / ".env", f"{ADDRESS}=https://gateway.example")
    start = start_in(tmp_path)
    setup(start)
    assert start.upstreams == {"gemini": "https://gateway.example"}


def test_the_environment_comes_before_an_env_file(tmp_path: Path) -> None:
    write(tmp_path / ".gemini" / ".env", f"{ADDRESS}=https://gateway.example")
    start = start_in(tmp_path, GOOGLE_GEMINI_BASE_URL="https://env.example")
    setup(start)
    assert start.upstreams == {"gemini": "https://env.example"}


@pytest.mark.parametrize("way", ["oauth-personal", "vertex-ai", 3])
def test_a_way_to_sign_in_that_can_not_be_metered_is_refused(
    tmp_path: Path, way: object
) -> None:
    chosen = {"security": {"auth": {"selectedType": way}}}
    write(tmp_path / ".gemini" / "settings.json", chosen)
    with pytest.raises(WrapRefused, match="choose an API key with /auth"):
        setup(start_in(tmp_path))


def test_an_api_key_is_metered(tmp_path: Path) -> None:
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    write(tmp_path / ".gemini" / "settings.json", chosen)
    assert setup(start_in(tmp_path)).environment
