from pathlib import Path

from tests.cli.wrapping.starts import start_in
from ullage.cli.wrapping.other import setup
from ullage.cli.wrapping.setup import BASE


def test_a_program_gets_the_variables_of_the_providers_libraries(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    assert setup(start).environment == {
        "ANTHROPIC_BASE_URL": f"{BASE}/anthropic",
        "OPENAI_BASE_URL": f"{BASE}/openai",
        "OPENAI_API_BASE": f"{BASE}/openai",
        "GOOGLE_GEMINI_BASE_URL": f"{BASE}/gemini",
    }
    assert start.upstreams["openai"] == "https://api.openai.com/v1"


def test_what_the_user_had_set_is_where_calls_go_on_to(tmp_path: Path) -> None:
    start = start_in(tmp_path, OPENAI_BASE_URL="http://localhost:8000/v1")
    assert setup(start).environment["OPENAI_BASE_URL"] == f"{BASE}/openai"
    assert start.upstreams["openai"] == "http://localhost:8000/v1"
