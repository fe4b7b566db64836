import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.dialects import DIALECTS
from ullage.codec.wires import WIRES
from ullage.errors import SettingError
from ullage.models.catalogue import built_in
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import (
    NO_PROVIDER,
    canonical,
    check_wire,
    known_providers,
    provider_at,
    provider_named,
    read_name,
    vendors_of,
)

NAMES = [(name, row) for row in known_providers() for name in (row.name, *row.aliases)]
OWN = read_endpoints({"lab": {"base_url": "http://127.0.0.1:9/v1"}}, WIRES)


def test_a_name_or_alias_means_one_row() -> None:
    names = [name for name, _ in NAMES]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and ":" not in name for name in names)


def test_what_a_row_points_at_exists() -> None:
    vendors = built_in().providers
    for row in known_providers():
        assert {*row.dialects.values()} <= DIALECTS.keys()
        assert not row.base_url or row.wire in WIRES
        assert not row.catalogue or row.catalogue in vendors
        assert not row.resells or row.resells in vendors
        assert row.hosting != "own server" or not row.needs_key
        re.compile(row.models)
    for wire in WIRES.values():
        assert not wire.maker or provider_named(wire.maker).wire == wire.name


@given(st.sampled_from(NAMES), st.data())
def test_every_name_and_alias_in_any_case_leads_to_its_row(
    named: tuple[str, object], data: st.DataObject
) -> None:
    name, row = named
    written = "".join(
        data.draw(st.sampled_from([letter, letter.upper()])) for letter in name
    )
    assert read_name(f"{written}:some:model", OWN) == (row, "some:model")
    assert provider_named(written) is row
    assert canonical(written) == provider_named(name).name


@pytest.mark.parametrize(
    "name",
    [
        "llama3.2:3b",
        "qwq:32b",
        "mixtral:8x7b",
        "command-r-plus:latest",
        "gemma3n:e4b",
        "ft:gpt-4o:org::id",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1:012345678901:inference-profile/us.anthropic.claude-sonnet-4-6",
        "deepseek/deepseek-r1:free",
        "x/y:free",
        "claude-haiku-4-5",
        "",
    ],
)
def test_a_colon_of_the_models_own_stays(name: str) -> None:
    assert read_name(name) == (NO_PROVIDER, name)
    assert read_name(f"ollama:{name or 'm'}").model == (name or "m")
    assert read_name(name, provider="openrouter") == (provider_named("openrouter"), name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("antropic:claude-haiku-4-5", "anthropic:claude-haiku-4-5"),
        ("Goggle:gemini-3-pro", "google:gemini-3-pro"),
        ("opnai:gpt-5", "openai:gpt-5"),
        ("labb:qwen", "lab:qwen"),
        ("mixtral:instruct", "mistral:instruct"),
    ],
)
def test_an_unknown_provider_is_refused_with_the_one_that_was_meant(
    name: str, meant: str
) -> None:
    with pytest.raises(SettingError, match=f"Did you mean '{re.escape(meant)}'"):
        read_name(name, OWN)


def test_an_unknown_provider_lists_the_known_ones_and_the_ways_out() -> None:
    with pytest.raises(SettingError) as caught:
        read_name("whatever:model", OWN)
    for part in (
        "No provider is named 'whatever'",
        "lab, ",
        "anthropic",
        "[endpoints.NAME]",
        "'ollama:whatever:model'",
    ):
        assert part in str(caught.value)
    with pytest.raises(SettingError, match="names no model"):
        read_name("anthropic:")


def test_a_provider_that_the_table_lacks_knows_nothing() -> None:
    assert provider_named("Somebody").name == "Somebody"
    assert provider_named("Somebody").wire == ""
    assert canonical("Somebody") == "Somebody"
    assert provider_named("") == NO_PROVIDER


def test_a_vendor_is_told_from_the_models_name() -> None:
    told = {
        "claude-haiku-4-5": "anthropic",
        "gpt-5-mini": "openai",
        "ft:gpt-4o:org::id": "openai",
        "gemini-3-pro": "google",
        "kimi-k2": "moonshot",
        "us.anthropic.claude-sonnet-4-6": "bedrock",
        "claude-haiku-4-5@20251001": "vertex",
    }
    assert {model: next(vendors_of(model)).name for model in told} == told
    assert list(vendors_of("my-model")) == []


def test_an_unknown_wire_is_refused_with_the_one_that_was_meant() -> None:
    assert check_wire("chat", WIRES) == "chat"
    with pytest.raises(
        SettingError, match=r"There is no wire 'caht'\. Did you mean 'chat'"
    ):
        check_wire("caht", WIRES)


def test_a_provider_is_known_by_the_host_of_its_address() -> None:
    for row in known_providers():
        if not row.base_url or row.is_own_server:
            continue
        host = row.base_url.partition("://")[2].partition("/")[0]
        found = provider_at(host)
        assert found is not None
        assert host in found.base_url
    assert provider_at("127.0.0.1") is None
    assert provider_at("") is None
