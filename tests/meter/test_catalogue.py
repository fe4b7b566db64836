from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ullage.meter import catalogue
from ullage.meter.limits import lookup

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


def test_every_row_is_well_formed() -> None:
    for rows in catalogue.PROVIDERS.values():
        for patterns, window, prices in rows:
            for pattern in patterns.split(" "):
                assert pattern[0] in "=^$*~"
                assert len(pattern) > 1
                if pattern[0] == "~":
                    re.compile(pattern[1:])
            assert window is None or window > 0
            assert window or prices
            starts = [tier[0] for tier in prices]
            assert starts == sorted(set(starts))
            assert not starts or starts[0] == 0
            assert all(price is None or price >= 0 for tier in prices for price in tier[1:])


def test_the_catalogue_names_its_source_version_and_licence() -> None:
    assert catalogue.__doc__ is not None
    assert re.fullmatch(r"genai-prices \d+\.\d+\.\d+", catalogue.SOURCE)
    assert catalogue.SOURCE.split()[1] in catalogue.__doc__
    assert "MIT License" in catalogue.__doc__


@pytest.mark.slow
def test_the_catalogue_is_read_only_when_a_model_is_looked_up() -> None:
    code = "import sys, ullage.meter.limits; print('ullage.meter.catalogue' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_module_stays_small() -> None:
    assert catalogue.__file__ is not None
    assert Path(catalogue.__file__).stat().st_size < 200_000
