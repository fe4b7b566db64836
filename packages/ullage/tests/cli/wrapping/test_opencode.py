import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.wrapping.starts import start_in, write
from ullage.cli.wrapping.setup import BASE, Start, WrapRefused
from ullage_programs.opencode.client import setup, used_address

CONTENT = "OPENCODE_CONFIG_CONTENT"


def start_of(home: Path, **environment: str) -> Start:
    return start_in(home, XDG_CONFIG_HOME=str(home / "config"), **environment)


def providers_of(start: Start) -> dict[str, Any]:
    content = json.loads(setup(start).environment[CONTENT])
    providers: dict[str, Any] = content["provider"]
    return providers


def test_each_provider_with_a_key_alone_gets_another_address(tmp_path: Path) -> None:
    start = start_of(tmp_path, ANTHROPIC_API_KEY="k", GOOGLE_GENERATIVE_AI_API_KEY="k")
    assert providers_of(start) == {
        "anthropic": {"options": {"baseURL": f"{BASE}/anthropic"}},
        "google": {"options": {"baseURL": f"{BASE}/gemini"}},
    }
    assert start.upstreams["anthropic"] == "https://api.anthropic.com/v1"


def test_a_provider_that_was_signed_in_to_counts(tmp_path: Path) -> None:
    signed_in = tmp_path / ".local" / "share" / "opencode" / "auth.json"
    write(signed_in, {"deepseek": {"type": "api", "key": "k"}})
    start = start_of(tmp_path)
    assert list(providers_of(start)) == ["deepseek"]


def test_an_address_of_the_settings_is_where_calls_go_on_to(tmp_path: Path) -> None:
    lab = {"provider": {"lab": {"options": {"baseURL": "https://llm.example/v1"}}}}
    write(tmp_path / "config" / "opencode" / "opencode.json", lab)
    start = start_of(tmp_path)
    assert list(providers_of(start)) == ["lab"]
    assert start.upstreams == {"lab": "https://llm.example/v1"}


def test_a_projects_settings_come_before_the_users(tmp_path: Path) -> None:
    for place, url in (("config/opencode", "https://a"), ("project", "https://b")):
        entry = {"anthropic": {"options": {"baseURL": f"{url}.example"}}}
        write(tmp_path / place / "opencode.json", {"provider": entry})
    used = used_address(start_of(tmp_path))
    assert (used.url, used.place) == ("https://b.example", tmp_path / "project")


def test_the_users_own_content_is_kept(tmp_path: Path) -> None:
    own = {"model": "m", "provider": {"anthropic": {"options": {"timeout": 5}}}}
    start = start_of(tmp_path, ANTHROPIC_API_KEY="k", **{CONTENT: json.dumps(own)})
    content = json.loads(setup(start).environment[CONTENT])
    assert content["model"] == "m"
    options = content["provider"]["anthropic"]["options"]
    assert options == {"timeout": 5, "baseURL": f"{BASE}/anthropic"}


@pytest.mark.parametrize(
    "odd", [3, {"lab": 3}, {"lab": {"options": 3}}, {"lab": {"options": {"baseURL": 3}}}]
)
def test_settings_of_other_types_are_passed_over(tmp_path: Path, odd: object) -> None:
    write(tmp_path / "config" / "opencode" / "opencode.json", {"provider": odd})
    start = start_of(tmp_path, ANTHROPIC_API_KEY="k")
    assert list(providers_of(start)) == ["anthropic"]


@pytest.mark.parametrize(
    "own", ["{", '{"provider": 3}', '{"provider": {"anthropic": 3}}']
)
def test_content_that_takes_no_address_is_refused(tmp_path: Path, own: str) -> None:
    with pytest.raises(WrapRefused, match=CONTENT):
        setup(start_of(tmp_path, ANTHROPIC_API_KEY="k", **{CONTENT: own}))


def test_without_a_provider_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(WrapRefused, match="opencode auth login"):
        setup(start_of(tmp_path))
