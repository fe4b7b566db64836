"""``ullage.attach`` with the SDKs as they were published: the oldest and the newest that it follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from bench.environments import ClientFailed, Peer, attempted, measured_by
from ullage_simulators import running

NAME = "attach"
SCRIPT = "attach_sdks.py"
CALLS = 3
"""In each conversation."""
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class AttachedSdk:
    """One version of an SDK. ``wire`` is its simulator; ``root`` is left out of that one's address."""

    package: str
    version: str
    wire: str
    root: str = ""
    is_quick: bool = False

    @property
    def peer(self) -> Peer:
        """Its environment, which holds this checkout as well."""
        requirement = f"{self.package}=={self.version}"
        return Peer(self.package, requirement, has_ullage=True)


SDKS = (
    AttachedSdk("openai", "2.54.0", "openai"),
    AttachedSdk("openai", "3.52.0", "openai", is_quick=True),
    AttachedSdk("anthropic", "0.70.0", "anthropic", root="/v1"),
    AttachedSdk("anthropic", "2.11.0", "anthropic", root="/v1", is_quick=True),
    AttachedSdk("google-genai", "1.40.0", "gemini"),
    AttachedSdk("google-genai", "3.4.0", "gemini", is_quick=True),
)


@dataclass(slots=True)
class AttachedRun:
    """What an SDK's conversations came to: the inputs of each way's calls, counted and as billed in their order."""

    counted: dict[str, list[int | None]] = field(default_factory=dict)
    billed: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def failures(self) -> list[str]:
        """What was missed, in words."""
        found = list(self.problems)
        if not self.counted:
            found.append("no way was tried")
        counted: list[int | None] = []
        for way, inputs in self.counted.items():
            counted += inputs
            if len(inputs) != CALLS:
                found.append(f"{way}: {len(inputs)} calls counted of {CALLS}")
        if counted != self.billed:
            found.append(f"counted {counted} and billed {self.billed}")
        return found


def run_sdk(sdk: AttachedSdk, *, seed: int = 15) -> AttachedRun:
    """All ways of an SDK. Raises ``ClientFailed``, ``NotInstalled``, ``subprocess.TimeoutExpired``."""
    with running(seed=seed, wires=[sdk.wire]) as server:
        address = server.url(sdk.wire).removesuffix(sdk.root)
        said = measured_by(sdk.peer, SCRIPT, address, sdk.package, timeout_s=TIMEOUT_S)
        billed = [bill.input for bill in server.truth().bills]
    return AttachedRun(said["counted"], billed, said["problems"])


def run_all(*, quick: bool) -> Iterator[tuple[str, int]]:
    """A line for each SDK, and its status, as ``attempted``. With ``quick`` the newest versions alone."""
    for sdk in SDKS:
        if sdk.is_quick or not quick:
            title = f"{NAME}, {sdk.package} {sdk.version}"
            yield attempted(title, partial(_said, sdk))


def _said(sdk: AttachedSdk) -> str:
    found = run_sdk(sdk)
    failures = found.failures()
    if failures:
        raise ClientFailed("; ".join(failures))
    ways, calls, total = len(found.counted), len(found.billed), sum(found.billed)
    return f"{ways} ways, {calls} calls, input {total:,} counted and billed"
