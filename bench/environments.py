"""The peers, their versions, and an environment of its own for each: their pins clash.

The environments are made with uv under ``bench/out/``, once per version, from the configured package index.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[1]
OUT = Path(__file__).parent / "out"
PEERS_FOLDER = Path(__file__).parent / "peers"
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"}
"""litellm otherwise fetches a price list over the network while it is imported."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A package to compare with: what is installed, what counts a history in it, what a program imports."""

    name: str
    requirement: str
    counter: str
    script: str
    module: str
    also: tuple[str, ...] = ()
    """What is installed beside it."""
    has_ullage: bool = False
    """Whether this checkout is installed beside it, editable."""
    overrides: tuple[str, ...] = ()
    """Requirements in the place of those that its packages state: for one that the index doesn't have."""


PEERS = (
    Peer("litellm", "litellm==1.106.2", "token_counter", "litellm_count.py", "litellm"),
    Peer(
        "langchain-core",
        "langchain-core==1.7.2",
        "count_tokens_approximately",
        "langchain_count.py",
        "langchain_core.messages",
    ),
    Peer(
        "pydantic-ai-harness",
        "pydantic-ai-harness==0.62.0",
        "estimate_context_tokens",
        "harness_count.py",
        "pydantic_ai",
    ),
)


PYDANTIC_AI_AGENT = Peer(
    "pydantic-ai",
    "pydantic-ai-slim[openai,anthropic]==2.68.0",
    "",
    "loop_pydantic_ai.py",
    "",
)
OPENAI_AGENTS = Peer(
    "openai-agents", "openai-agents==0.24.0", "", "loop_openai_agents.py", ""
)
HARNESS_COMPACTION = Peer(
    "pydantic-ai-harness",
    "pydantic-ai-harness==0.62.0",
    "",
    "compaction_harness.py",
    "",
    also=("pydantic-ai-slim[openai]",),
)
LANGCHAIN_COMPACTION = Peer(
    "langchain", "langchain[openai]==1.4.7", "", "compaction_langchain.py", ""
)


class NotInstalled(Exception):
    """A peer's environment can't be made here; says why."""


class ClientFailed(Exception):
    """A client did not get through; holds its last words."""


def measured_by(
    peer: Peer | None, script: str, *arguments: str, timeout_s: float = 1_800
) -> dict[str, Any]:
    """What a script of ``peers/`` prints last, as JSON; without a peer it runs in this environment.

    Raises ``ClientFailed`` and ``NotInstalled``.
    """
    done = subprocess.run(
        [str(python_of(peer)), str(PEERS_FOLDER / script), *arguments],
        capture_output=True,
        text=True,
        env=os.environ | QUIET,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode:
        raise ClientFailed((done.stderr.strip().splitlines() or ["no output"])[-1][:300])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def python_of(peer: Peer | None, *, out: Path = OUT, uv: str = "uv") -> Path:
    """The Python of the peer's environment, which is made if it isn't there; this one without a peer.

    Raises ``NotInstalled``.
    """
    if peer is None:
        return Path(sys.executable)
    ours = ["--editable", str(CHECKOUT)] if peer.has_ullage else []
    beside = ["ullage"] if peer.has_ullage else []
    name = "+".join([peer.requirement, *peer.also, *beside])
    place = out / "environments" / name.replace("==", "-")
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    complete = place / "complete"
    if complete.exists():
        return python
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"making an environment for {peer.requirement} …", file=sys.stderr, flush=True)
    _run([uv, "venv", "--quiet", "--clear", "--python", version, str(place)])
    replaced: list[str] = []
    if peer.overrides:
        file = place / "overrides.txt"
        file.write_text("\n".join(peer.overrides))
        replaced = ["--override", str(file)]
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode"]
    target = ["--python", str(python), *replaced]
    _run([*install, *target, peer.requirement, *peer.also, *ours])
    complete.touch()
    return python


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=600
        )
    except OSError as error:
        raise NotInstalled(f"{command[0]} can't be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"{command[1]} took longer than 600 s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no output"]
        raise NotInstalled(lines[-1].strip())
