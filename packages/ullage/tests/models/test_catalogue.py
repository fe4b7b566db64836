import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.processes import run_python
from ullage.errors import UnreadableInput
from ullage.meter.limits import lookup
from ullage.models.catalogue import (
    BUILT_IN,
    REFRESHED,
    CatalogueRow,
    built_in,
    checked,
    choose,
    differences,
    encode,
    read_refreshed,
)

MODELS = """
anthropic claude-2.1 claude-3-5-haiku-20241022 claude-3-5-sonnet-20240620 claude-3-7-sonnet-20250219
anthropic claude-3-haiku-20240307 claude-haiku-4-5 claude-opus-4-1-20250805 claude-opus-4-5 claude-opus-4-6
anthropic claude-opus-4-7 claude-opus-4-8 claude-sonnet-4-0 claude-sonnet-4-20250514 claude-sonnet-4-5 claude-sonnet-4-6
anthropic claude-sonnet-5
azure gpt-4o gpt-4o-2024-11-20 gpt-5-mini gpt-5-nano-2025-08-07 gpt-5.2-chat gpt-5.6-luna o4-mini
bedrock amazon.nova-lite-v1:0 anthropic.claude-3-haiku-20240307-v1:0 anthropic.claude-v2 meta.llama3-2-1b-instruct-v1:0
bedrock us.amazon.nova-micro-v1:0 us.amazon.nova-pro-v1:0 us.anthropic.claude-haiku-4-5-20251001-v1:0
bedrock us.anthropic.claude-opus-4-6-v1 us.deepseek.r1-v1:0 us.meta.llama4-maverick-17b-instruct-v1:0
bedrock us.mistral.pixtral-large-2502-v1:0 qwen.qwen3-32b-v1:0 openai.gpt-oss-120b-1:0
cerebras gpt-oss-120b llama-3.3-70b zai-glm-4.7
cohere command-a-03-2025 command-a-plus-05-2026 command-r-08-2024 command-r7b-12-2024
deepseek deepseek-v4-flash
google gemini-2.0-flash gemini-2.5-flash gemini-2.5-flash-lite gemini-2.5-pro gemini-3-flash-preview
google gemini-3-pro-preview gemini-3.1-flash-lite gemini-3.1-pro-preview gemini-3.5-flash gemini-flash-latest
groq llama-3.3-70b-versatile meta-llama/llama-4-maverick-17b-128e-instruct moonshotai/kimi-k2-instruct-0905
groq openai/gpt-oss-120b qwen/qwen3-32b deepseek-r1-distill-llama-70b
mistral mistral-medium-latest
openai gpt-3.5-turbo gpt-4 gpt-4-vision-preview gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4o gpt-4o-audio-preview
openai gpt-4o-mini gpt-4o-search-preview gpt-5 gpt-5-mini gpt-5-nano gpt-5.2 gpt-5.4 gpt-5.4-mini gpt-5.5 gpt-5.6
openai gpt-5.6-sol o1-mini o3 o3-mini o4-mini
openrouter anthropic/claude-haiku-4.5 google/gemini-2.5-flash moonshotai/kimi-k2.5 openai/gpt-5-mini z-ai/glm-5-turbo
perplexity sonar sonar-reasoning-pro
vercel-gateway anthropic/claude-sonnet-4 google/gemini-3-pro-preview openai/gpt-5
vertex claude-3-7-sonnet@20250219 gemini-2.5-flash gemini-3-flash-preview
xai grok-3-mini grok-4-1-fast-non-reasoning grok-4-fast grok-4.3 grok-code-fast-1
zai glm-4.7
"""


def test_the_models_met_in_real_traffic_have_a_window() -> None:
    for line in MODELS.split("\n"):
        provider, *models = line.split() or [""]
        for model in models:
            found = lookup(provider, model)
            assert found is not None, (provider, model)
            assert found.window, (provider, model)


def changed(**fields: Any) -> bytes:
    """The built-in catalogue with other fields."""
    return json.dumps({**json.loads(BUILT_IN.read_bytes()), **fields}).encode()


def with_row(*row: object) -> bytes:
    return changed(providers={"anthropic": [row]})


def test_the_built_in_catalogue_passes_the_checks_of_a_refreshed_one() -> None:
    data = BUILT_IN.read_bytes()
    assert checked(data) == built_in()
    assert encode(built_in()) == data


def test_the_catalogue_names_its_source_its_day_and_its_licence() -> None:
    assert built_in().source.startswith("genai-prices ")
    assert built_in().date >= "2026-11-20"
    assert "MIT License: Copyright (c) Pydantic Services Inc." in built_in().licence


@pytest.mark.slow
def test_the_catalogue_is_read_only_when_a_model_is_looked_up() -> None:
    code = (
        "import sys, ullage.meter.limits; print('ullage.models.catalogue' in sys.modules)"
    )
    done = run_python("-c", code, check=True)
    assert done.stdout.strip() == "False"


def test_the_data_stays_small() -> None:
    assert BUILT_IN.stat().st_size < 200_000


TIER = [0, 1, 1, None, None]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "malformed"),
        (BUILT_IN.read_bytes()[:5_000], "truncated"),
        (b"[]", "Expected `object`"),
        (b"[" * 100_000, "nested too deep"),
        (b" " * 5_000_000, "larger than 4 MiB"),
        (changed(format=2), "its format is 2"),
        (changed(version="newest"), "regex"),
        (changed(providers={}), "lists 0 models"),
        (changed(providers={"a": [["=m", 1, []]] * 20_001}), "lists 20,001 models"),
        (with_row("=m", 0, []), ">= 1"),
        (with_row("=m", -5, []), ">= 1"),
        (with_row("=m", "big", []), "Expected `int"),
        (with_row("=m", None, [[0, -1, 1, None, None]]), ">= 0"),
        (with_row("=m", None, [[5, 1, 1, None, None]]), "do not rise from 0"),
        (with_row("=m", None, [TIER, TIER]), "do not rise from 0"),
        (with_row("m", 5, []), "length >= 2"),
        (with_row("?m", 5, []), "no pattern"),
        (with_row("=m =", 5, []), "no pattern"),
        (with_row("~(", 5, []), "no regular expression"),
        (with_row("~^(a+)+$", 5, []), "could take too long"),
        (with_row("~^(a|a)*$", 5, []), "could take too long"),
        (with_row("~^.*.*.*.*x$", 5, []), "could take too long"),
        (with_row("~" + "a" * 300, 5, []), "could take too long"),
    ],
)
def test_a_damaged_or_hostile_catalogue_is_refused_with_the_reason(
    data: bytes, why: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=why):
        checked(data)
    (tmp_path / REFRESHED).write_bytes(data)
    with pytest.raises(UnreadableInput, match="The built-in one is used instead"):
        read_refreshed(tmp_path)


def test_without_a_refreshed_catalogue_there_is_none_and_a_directory_in_its_place_is_refused(
    tmp_path: Path,
) -> None:
    assert read_refreshed(tmp_path) is None
    (tmp_path / REFRESHED).mkdir()
    with pytest.raises(UnreadableInput, match="can't be used"):
        read_refreshed(tmp_path)


def test_the_newer_of_the_two_catalogues_is_used() -> None:
    newer, older = checked(changed(version="99.1")), checked(changed(version="0.0.1"))
    same = checked(BUILT_IN.read_bytes())
    assert choose(newer) is newer
    assert choose(same) is same
    assert choose(older) is built_in()
    assert choose(None) is built_in()


def test_a_row_matches_by_any_of_its_patterns() -> None:
    row = CatalogueRow(r"=one ^two- $-three *four ~^five-\d{8}", 5, ())
    for name in ("one", "two-b", "a-three", "xfourx", "five-20260101"):
        assert row.matches(name), name
    for name in ("ones", "a-two-b", "three-", "five-2026", "five-20260101" + "0" * 300):
        assert not row.matches(name), name
    assert row.names == ["one", "two-"]


def test_the_differences_of_two_catalogues_are_counted() -> None:
    old = checked(changed(providers={"a": [["=x", 5, []], ["=y", 5, []]]}))
    new = checked(changed(providers={"a": [["=x", 6, []]], "b": [["=y", 5, []]]}))
    assert differences(old, new) == {"new": 1, "changed": 1, "gone": 1}


LOOKS_UP = (
    "import logging; logging.basicConfig(); "
    "from ullage.meter.limits import lookup; print(lookup('anthropic', 'claude-new-9'))"
)


def looked_up() -> subprocess.CompletedProcess[str]:
    return run_python("-c", LOOKS_UP, check=True)


@pytest.mark.slow
def test_a_look_up_reads_the_refreshed_catalogue_and_logs_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path))
    assert looked_up().stdout.strip() == "None"
    rows = {"anthropic": [["=claude-new-9", 777_000, []]]}
    (tmp_path / REFRESHED).write_bytes(changed(version="99.0", providers=rows))
    assert "window=777000" in looked_up().stdout
    assert "source='genai-prices 99.0'" in looked_up().stdout
    (tmp_path / REFRESHED).write_bytes(b"{}")
    done = looked_up()
    assert done.stdout.strip() == "None"
    assert "can't be used" in done.stderr
