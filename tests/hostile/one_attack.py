"""One behaviour on one wire in a process of its own, so that its memory is its own.

    python -m tests.hostile.one_attack BEHAVIOUR WIRE PROVIDER_URL

Prints the verdict as one line of JSON.
"""

from __future__ import annotations

import asyncio
import gc
import secrets
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.hostile.behaviours import BY_NAME
from tests.hostile.experiment import USUAL, Control, Experiment, Verdict, captured_log
from tests.hostile.measuring import peak_mb, ticking
from tests.hostile.speech import WIRES_BY_NAME


async def order(url: str, path: str) -> dict[str, int]:
    """A control request to the provider. Its answer."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET /control/{path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.decode().rpartition("content-length: ")[2].split("\r\n")[0])
    answer: dict[str, int] = msgspec.json.decode(await reader.readexactly(length))
    writer.close()
    return answer


async def attack(name: str, wire_name: str, url: str) -> Verdict:
    """The whole experiment."""
    behaviour, wire = BY_NAME[name], WIRES_BY_NAME[wire_name]
    run = secrets.token_hex(8)
    before = (await order(url, f"look/-/{run}/-"))["strangers"]

    async def calm() -> None:
        await order(url, f"calm/-/{run}/-")

    async def strangers() -> int:
        return (await order(url, f"look/-/{run}/-"))["strangers"] - before

    control = Control(f"{url}/{name}/1/{wire_name}/{run}/{wire.version}", calm, strangers)
    with (
        tempfile.TemporaryDirectory(prefix="ullage-attack-") as directory,
        captured_log() as log,
    ):
        experiment = Experiment(behaviour, wire, control, Path(directory), USUAL)
        gc.collect()
        async with ticking() as lag:
            await experiment.attack()
        experiment.note_measures(lag, peak_mb())
        from ullage_simulators import running

        with running(wires=[wire.serves]) as simulator:
            await experiment.aftermath(simulator)
        experiment.note_log(log.getvalue())
    return experiment.verdict


def main() -> None:
    name, wire, url = sys.argv[1:]
    verdict = asyncio.run(attack(name, wire, url))
    sys.stdout.write(msgspec.json.encode(verdict).decode() + "\n")


if __name__ == "__main__":
    main()
