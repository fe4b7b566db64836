from pathlib import Path

import pytest

from tests.cli.wrapping.starts import start_in, write
from ullage.cli.wrapping.setup import BASE, WrapRefused
from ullage_programs.gemini_cli.client import setup, used_address

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


@pytest.mark.parametrize(
    ("variable", "value", "is_used", "is_asked"),
    [
        ("GEMINI_CLI_TRUST_WORKSPACE", "true", True, False),
        ("GEMINI_CLI_TRUST_WORKSPACE", "false", False, False),
        ("GEMINI_RESTRICTED_MODE", "true", False, False),
        ("GEMINI_CLI_TRUST_WORKSPACE", "", True, True),
    ],
)
def test_its_own_variables_answer_for_the_directory(
    tmp_path: Path, variable: str, value: str, is_used: bool, is_asked: bool
) -> None:
    write(tmp_path / "project" / ".env", f"{ADDRESS}=https://project.example")
    used = used_address(start_in(tmp_path, **{variable: value}))
    assert (used.url == "https://project.example") is is_used
    assert (used.place is not None) is is_asked


def test_its_own_option_and_file_answer_for_the_directory(tmp_path: Path) -> None:
    write(tmp_path / "project" / ".env", f"{ADDRESS}=https://project.example")
    assert used_address(start_in(tmp_path, "--skip-trust")).place is None
    write(tmp_path / "rules.json", {str(tmp_path / "project"): "DO_NOT_TRUST"})
    rules = str(tmp_path / "rules.json")
    start = start_in(tmp_path, GEMINI_CLI_TRUSTED_FOLDERS_PATH=rules)
    assert used_address(start).url != "https://project.example"


@pytest.mark.parametrize("way", ["oauth-personal", "vertex-ai", 3])
def test_other_ways_to_sign_in_are_refused(tmp_path: Path, way: object) -> None:
    chosen = {"security": {"auth": {"selectedType": way}}}
    write(tmp_path / ".gemini" / "settings.json", chosen)
    with pytest.raises(WrapRefused, match="choose an API key with /auth"):
        setup(start_in(tmp_path))


def test_an_api_key_is_metered(tmp_path: Path) -> None:
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    write(tmp_path / ".gemini" / "settings.json", chosen)
    assert setup(start_in(tmp_path)).environment
