"""How far the first call's estimate is off on the simulators, without and with the provider's count.

    uv run python -m bench.first_count

Each wire's simulator draws its own token costs, which the estimators do not know. The request has a system prompt, four
tools and an image where the wire takes one. ``reported`` is what the call's own usage says.
"""

from __future__ import annotations

import asyncio
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any, Final

from ullage_simulators import Scenario, Server, running

from bench.results import Table
from ullage.events import CallStarted
from ullage.runtime.agent import Agent
from ullage.tools.builtin import builtin_tools

WIRES: Final = {
    "Messages": ("anthropic:claude-haiku-4-5", "anthropic", ""),
    "Responses": ("openai:gpt-5-mini", "openai", ""),
    "generateContent": ("google:gemini-3-flash-preview", "gemini", ""),
    "Chat, llama.cpp": ("llama.cpp:qwen3", "llamacpp", "chat"),
    "Chat, vLLM": ("vllm:qwen3", "vllm", "chat"),
}
KEYS: Final = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "k"
)
COLUMNS: Final = ("wire", "request", "reported", "estimated", "error", "counted", "error")
SEEDS: Final = (1, 2, 3)


def picture(width: int, height: int) -> bytes:
    """A PNG of one colour."""
    rows = (b"\0" + b"\x40\x80\xc0" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"\x89PNG\r\n\x1a\n"
    for name, data in chunks:
        checked = name + data
        body += (
            struct.pack(">I", len(data))
            + checked
            + struct.pack(">I", zlib.crc32(checked))
        )
    return body


async def first_call(
    server: Server, wire: str, count: str, *, image: bool
) -> tuple[int, int]:
    """The estimate of a first call, and what it reported."""
    model, serves, spoken = WIRES[wire]
    settings: dict[str, Any] = {
        "count": count,
        "window": 100_000,
        "base_url": server.url(serves),
    }
    if spoken:
        settings["wire"] = spoken
    with tempfile.TemporaryDirectory() as directory:
        agent = Agent(
            model,
            system="You look after the files of a small museum. Read before you answer.",
            tools=builtin_tools(("read", "list", "search", "shell")),
            store=Path(directory) / "s.db",
            environment={**KEYS, "ULLAGE_DATA": directory},
            config=False,
            **settings,
        )
        pieces: list[Any] = ["Which amphorae are in the second room?"]
        if image:
            pieces.append(picture(640, 480))
        async with agent.session("s") as session:
            await session.ask(*pieces)
            events = list(await session.history())
    started = next(event for event in events if isinstance(event, CallStarted))
    assert started.estimate is not None
    return started.estimate.tokens, server.truth().bills[0].input


def main() -> None:
    rows: list[tuple[str, ...]] = []
    for wire in WIRES:
        for image in (False, True):
            for seed in SEEDS:
                rows.append(compared(wire, seed, image=image))
    print(Table("First calls on the simulators", COLUMNS, tuple(rows)).text())


def compared(wire: str, seed: int, *, image: bool) -> tuple[str, ...]:
    """One row: the estimate without and with a count beside what was reported."""
    estimates: list[int] = []
    reported = 0
    for count in ("never", "auto"):
        with running(Scenario(), seed=seed) as server:
            call = first_call(server, wire, count, image=image)
            estimate, reported = asyncio.run(call)
        estimates.append(estimate)
    cells = [wire, "tools, image" if image else "tools", f"{reported:,}"]
    for estimate in estimates:
        off = 100 * (estimate - reported) / reported
        cells += [f"{estimate:,}", f"{off:+.2f} %"]
    return tuple(cells)


if __name__ == "__main__":
    main()
