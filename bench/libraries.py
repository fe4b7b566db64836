"""Libraries that could replace code of ours, beside it: what they read otherwise, and what they cost.

    uv run --with tomlkit --with docstring-parser --with httpx --with httpx-sse --with stamina \
      --with pydantic-settings python -m bench.libraries

The figures stand in docs/why/dependencies.md.
"""

from __future__ import annotations

import asyncio
import codecs
import importlib
import inspect
import logging
import random
import subprocess
import sys
import tempfile
import time
import tomllib
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ullage.errors import LimitExceeded
from ullage.tools.docstrings import read_docstring
from ullage.tools.files import Query, search
from ullage.wire.sse import EventReader

Read = tuple[dict[str, str], str]

GOOGLE = (
    "A forecast.\n\nArgs:\n    city: Its name,\n        in English.\n"
    "    days (int): How many.\n\nReturns:\n    Text."
)
BEHIND = "Do it.\n\nArgs:\n    a: One.\n\nMind the gap."
REST = "A forecast.\n\n:param city: Its name.\n:returns: Text."
EVENT = b'event: delta\ndata: {"delta":{"text":"a word of an answer, with \xc3\xa4"}}\n\n'
SSE_CASES = {
    "byte order mark": b"\xef\xbb\xbfdata: a\n\n",
    "id alone": b"id: 1\n\n",
    "name alone": b"event: x\n\n",
}


def cpu_s(action: Callable[[], object]) -> float:
    """CPU seconds of the fastest of five runs."""
    times = []
    for _ in range(5):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def docstrings() -> None:
    logging.disable(logging.CRITICAL)  # griffe reports each missing type
    parser: Any = importlib.import_module("docstring_parser")
    griffe: Any = importlib.import_module("griffe")

    def with_ours(text: str) -> Read:
        read = read_docstring(text)
        return read.parameters, read.text

    def with_parser(text: str) -> Read:
        read = parser.parse(text)
        said = "\n".join(filter(None, (read.short_description, read.long_description)))
        return {
            one.arg_name: " ".join((one.description or "").split()) for one in read.params
        }, said

    def with_griffe(text: str) -> Read:
        style = griffe.Parser.sphinx if ":param" in text else griffe.Parser.google
        parameters: dict[str, str] = {}
        said = []
        for section in griffe.Docstring(text).parse(style):
            if section.kind.value == "parameters":
                parameters |= {
                    one.name: " ".join(one.description.split()) for one in section.value
                }
            elif section.kind.value == "text":
                said.append(section.value)
        return parameters, "\n\n".join(said)

    readers: dict[str, Callable[[str], Any]] = {
        "ours": with_ours,
        "docstring-parser": with_parser,
        "griffe": with_griffe,
    }
    draw = random.Random(1)
    texts = [
        "".join(draw.choices("aAr:gs-\n \t*().@P", k=draw.randrange(200)))
        for _ in range(3_000)
    ]
    for name, read in readers.items():
        ends = [
            "Text." in read(GOOGLE)[1],
            "Text." in read(REST)[1],
            "Mind the gap." in read(BEHIND)[1],
        ]
        failed = sum(fails(read, text) for text in texts)
        cost = cpu_s(lambda read=read: [read(GOOGLE) for _ in range(200)]) / 200  # type: ignore[misc]
        print(
            f"{name}: keeps returns, reST's returns, text behind: {ends}; {failed} of 3,000 raise; {cost * 1e6:.0f} µs"
        )


def fails(read: Callable[[str], Any], text: str) -> bool:
    try:
        read(text)
    except Exception:  # noqa: BLE001 - whatever a library raises
        return True
    return False


def events() -> None:
    decoders: Any = importlib.import_module("httpx_sse._decoders")

    def theirs(chunks: Iterable[bytes]) -> list[tuple[str, str]]:
        text, lines = (
            codecs.getincrementaldecoder("utf-8")("replace"),
            decoders.SSELineDecoder(),
        )
        decoder, found = decoders.SSEDecoder(), []
        for chunk in chunks:
            for line in lines.decode(text.decode(chunk)):
                event = decoder.decode(line)
                if event is not None:
                    found.append((event.event, event.data))
        return found

    def ours(chunks: Iterable[bytes]) -> list[tuple[str, str]]:
        reader = EventReader()
        return [
            (event.name, event.data.decode())
            for chunk in chunks
            for event in reader.feed(chunk)
        ]

    for name, data in SSE_CASES.items():
        print(f"{name}: ours {ours([data])}, httpx-sse {theirs([data])}")
    stream = [EVENT] * 20_000
    for name, read in {"ours": ours, "httpx-sse": theirs}.items():
        tracemalloc.start()
        try:
            read(b"x" * 65_536 for _ in range(1_024))
            end = "no limit"
        except LimitExceeded:
            end = "refused"
        held = tracemalloc.get_traced_memory()[1] / 1_048_576
        tracemalloc.stop()
        cost = cpu_s(lambda read=read: read(stream)) / len(stream)  # type: ignore[misc]
        print(
            f"{name}: {cost * 1e6:.2f} µs an event; 64 MiB without a line end: {end}, {held:.0f} MiB held"
        )


def toml() -> None:
    tomlkit: Any = importlib.import_module("tomlkit")
    text = "\n".join(
        f'[mcp.server{i}]\nurl = "http://h/{i}"\ntimeout = {i}\nargs = ["a", "b"]'
        for i in range(100)
    )
    item = tomlkit.parse(text)["mcp"]["server3"]["url"]
    places = [name for name in vars(item) if "line" in name or "pos" in name]
    print(f"400 lines: tomllib {cpu_s(lambda: tomllib.loads(text)) * 1e3:.1f} ms, "
          f"tomlkit {cpu_s(lambda: tomlkit.parse(text)) * 1e3:.1f} ms; places kept by tomlkit: {places}")  # fmt: skip


def imports() -> None:
    for module in ("msgspec", "stamina", "pydantic_settings"):
        code = f"import time; start = time.process_time(); import {module}; print(time.process_time() - start)"
        runs = [
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
            for _ in range(5)
        ]
        print(f"import {module}: {min(float(run.stdout) for run in runs) * 1e3:.0f} ms")
    print(
        f"stamina.retry_context{inspect.signature(importlib.import_module('stamina').retry_context)}"
    )


async def searches() -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "a.txt").write_text("a" * 60 + "!\n")
        for name, library in {"RE2": None, "Python's re": ""}.items():
            start = time.monotonic()
            await search(Path(place), ".", Query(pattern="^(a+)+$"), library=library)
            print(f"^(a+)+$ with {name}: {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    docstrings()
    events()
    toml()
    imports()
    asyncio.run(searches())
