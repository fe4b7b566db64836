"""What a hostile provider says steers no terminal: `ullage run` prints no control and no direction of writing."""

import asyncio
import os
import sys
import unicodedata
from pathlib import Path

import pytest

from tests.hostile.behaviours import ROLES
from tests.hostile.provider import hostile_provider
from tests.hostile.speech import WIRES_BY_NAME

LONGEST_S = 120.0
STEERING = (
    "escape-sequences",
    "unseen-characters",
    "strange-tool-name",
    "control-call-id",
    "error-escapes",
)


@pytest.mark.parametrize("name", STEERING)
async def test_no_character_that_steers_a_terminal_is_printed(
    name: str, tmp_path: Path
) -> None:
    wire = WIRES_BY_NAME["messages"]
    kept = {
        each: value
        for each, value in os.environ.items()
        if each in ("PATH", "LANG", "PYTHONPATH")
    }
    environment = {
        **kept,
        "HOME": str(tmp_path),
        "ULLAGE_DATA": str(tmp_path),
        "ANTHROPIC_API_KEY": "sk-hostile",
    }
    async with hostile_provider(ROLES) as provider:
        address = provider.address(name, wire, "shown", 0.01)
        asked = [
            "run",
            "hello",
            "--model",
            wire.model,
            "--base-url",
            address,
            "--tools",
            "read",
        ]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ullage", *asked),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
            cwd=tmp_path,
        )
        async with asyncio.timeout(LONGEST_S):
            printed, _ = await process.communicate()
    text = printed.decode()
    assert text.strip()
    assert not {
        ascii(letter)
        for letter in text
        if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf")
    }
