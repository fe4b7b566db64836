"""Any other program: the variables that the providers' own libraries read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress

VARIABLES: Final[Mapping[str, tuple[str, str]]] = {
    "ANTHROPIC_BASE_URL": ("anthropic", "https://api.anthropic.com"),
    "OPENAI_BASE_URL": ("openai", "https://api.openai.com/v1"),
    "OPENAI_API_BASE": ("openai", "https://api.openai.com/v1"),
    "GOOGLE_GEMINI_BASE_URL": ("gemini", "https://generativelanguage.googleapis.com"),
}
"""Each variable, whose library reads it, and the address that it has without it.

https://github.com/anthropics/anthropic-sdk-python, https://github.com/openai/openai-python (``OPENAI_API_BASE``:
LiteLLM and older versions), https://github.com/googleapis/python-genai.
"""


def setup(start: Start) -> ClientSetup:
    """All of them, each with what the user had set as its destination."""
    values = {}
    for variable, (provider, usual) in VARIABLES.items():
        url = start.environment.get(variable) or usual
        values[variable] = start.through(UsedAddress(url, variable, provider))
    said = [f"set are {', '.join(values)}"]
    return ClientSetup(values, said=said)
