"""The peers, their versions, and an environment of its own for each: their pins clash.

The environments are made with uv under ``bench/out/``, once per version, from the configured package index.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[1]
OUT = Path(__file__).parent / "out"
PEERS_FOLDER = Path(__file__).parent / "peers"
OURS = ("ullage", "ullage-agent", "ullage-proxy", "ullage-simulators")
"""The distributions that a peer's environment has beside the peer."""
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_COLOR": "1"}
"""litellm otherwise fetches a price list over the network while it is imported."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A package to compare with; ``also`` is installed beside it.

    ``has_ullage``: this checkout is, too, editable. ``overrides`` are requirements in the place of those that its
    packages state: for one that the index doesn't have.
    """

    name: str
    requirement: str
    also: tuple[str, ...] = ()
    has_ullage: bool = False
    overrides: tuple[str, ...] = ()


LITELLM = Peer("litellm", "litellm==1.106.2")
LANGCHAIN_CORE = Peer("langchain-core", "langchain-core==1.7.2")
HARNESS = Peer("pydantic-ai-harness", "pydantic-ai-harness==0.62.0")
COUNTERS = {
    LITELLM: ("litellm_count.py", "litellm"),
    LANGCHAIN_CORE: ("langchain_count.py", "langchain_core.messages"),
    HARNESS: ("harness_count.py", "pydantic_ai"),
}
"""Packages that count a history: the script that does it, and the module that a program imports."""

PYDANTIC_AI = Peer("pydantic-ai", "pydantic-ai-slim[openai,anthropic]==2.68.0")
OPENAI_AGENTS = Peer("openai-agents", "openai-agents==0.24.0")
HARNESS_COMPACTION = Peer(
    HARNESS.name, HARNESS.requirement, also=("pydantic-ai-slim[openai]",)
)
LANGCHAIN_COMPACTION = Peer("langchain", "langchain[openai]==1.4.7")


class NotInstalled(Exception):
    """A peer's environment can't be made here; says why."""


class ClientFailed(Exception):
    """A client did not get through; holds its last words."""


def measured_by(
    peer: Peer | None,
    script: str,
    *arguments: str,
    timeout_s: float = 1_800,
    path: Sequence[Path] = (),
) -> dict[str, Any]:
    """What a script of ``peers/`` prints last, as JSON; without a peer it runs in this environment.

    Python looks in ``path`` first.

    Raises ``ClientFailed`` and ``NotInstalled``.
    """
    done = subprocess.run(
        [str(python_of(peer)), str(PEERS_FOLDER / script), *arguments],
        capture_output=True,
        text=True,
        env=os.environ | QUIET | found_first(path),
        timeout=timeout_s,
        check=False,
    )
    if done.returncode:
        raise ClientFailed((done.stderr.strip().splitlines() or ["no output"])[-1][:300])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def found_first(path: Sequence[Path]) -> dict[str, str]:
    """The variable that has Python look in these folders first."""
    return {"PYTHONPATH": os.pathsep.join(map(str, path))} if path else {}


def attempted(title: str, work: Callable[[], str]) -> tuple[str, int]:
    """A line for what ``work`` says, and a status: 0, 1 if it fails, 2 if a package can't be installed."""
    try:
        return f"pass: {title}: {work()}", 0
    except NotInstalled as why:
        return f"NOT RUN: {title}: it can't be installed here: {why}", 2
    except (ClientFailed, subprocess.TimeoutExpired) as why:
        return f"FAIL: {title}: {why}", 1


def python_of(peer: Peer | None, *, out: Path = OUT, uv: str = "uv") -> Path:
    """The Python of the peer's environment, which is made if it isn't there; this one without a peer.

    Raises ``NotInstalled``.
    """
    if peer is None:
        return Path(sys.executable)
    ours = [f"--editable={CHECKOUT / 'packages' / name}" for name in OURS]
    ours = ours if peer.has_ullage else []
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
