"""The picture of a trace in docs/images, as Arize Phoenix shows it.

    uvx --from arize-phoenix phoenix serve          # another terminal; https://pypi.org/project/arize-phoenix/
    uv run python -m scripts.screenshot_traces

A scripted model behind a strict simulator of a provider, everything else as it is: an agent with two tools, one of
which fails and one of which waits for an approval, a subagent, reasoning and a compaction. Phoenix (20.26.1) reads the
attributes of the GenAI conventions itself.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any, Final

import httpx2
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from scripts.page_pictures import IMAGES, chromium
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.subagent import subagent
from ullage_agent.runtime.telemetry import Telemetry
from ullage_simulators import running
from ullage_simulators.scenario import read

PROJECT: Final = "ullage"
MODEL: Final = "anthropic:claude-haiku-4-5"
KEY: Final = {"ANTHROPIC_API_KEY": "a key of the simulator"}
TASK: Final = "Compare the two routes."
REQUEST: Final = (
    "I want to be in Paris on Friday evening. Which train, and what will the sky be like?"
)
TIMETABLE: Final = "Remember this timetable.\n" + "\n".join(
    f"{hour:02}:{minute:02} Lyon to Paris, platform {hour % 7 + 1}, arrives {hour + 2:02}:{minute + 4:02}"
    for hour in range(5, 21)
    for minute in range(0, 55, 5)
)
WINDOW: Final = 7_200
SUMMARY: Final = "The user gave the timetable of the trains from Lyon to Paris: every five minutes from 5:00 to 20:50."
FOUND: Final = "Take the 15:20: it arrives at 18:31. The sky will be clear; there is no seat left in first class."


def answers() -> list[dict[str, Any]]:
    """What the model says, in order."""
    return [
        {
            "when": {"after": "user", "contains": "Remember"},
            "text": "I will remember it.",
        },
        {"when": {"contains": "summary"}, "text": SUMMARY},
        {"when": {"contains": TASK}, "text": "The direct one is 40 minutes faster."},
        {
            "when": {"after": "user", "contains": "Paris"},
            "reasoning": "The weather first, then the routes, then a seat.",
            "calls": [
                {"name": "weather", "arguments": {"city": "Paris", "day": "Friday"}},
                {"name": "route", "arguments": {"task": TASK}},
                {"name": "book", "arguments": {"train": "15:20"}},
            ],
        },
        {"text": FOUND},
    ]


def weather(city: str, day: str) -> dict[str, object]:
    """The weather of a city.

    Args:
        city: Its name.
        day: A day of this week.
    """
    hours = {f"{hour:02}:00": f"{12 + hour // 3} °C, clear" for hour in range(6, 22)}
    return {"city": city, "day": day, "sky": "clear", "hours": hours}


def book(train: str) -> str:
    """Book a seat in first class.

    Args:
        train: When it leaves.
    """
    raise LookupError(f"no seat is left in the {train}")


async def converse(telemetry: Telemetry, url: str, directory: Path) -> None:
    """The conversation of the picture."""
    common: dict[str, Any] = {"config": False, "base_url": url, "environment": KEY}
    router = Agent(MODEL, name="router", system="You know every train.", **common)
    agent = Agent(
        MODEL,
        name="travel",
        description="Plans journeys.",
        system="You plan journeys. Ask for the weather before you book.",
        tools=[
            weather,
            book,
            subagent(router, name="route", description="Compares routes."),
        ],
        approve=["book"],
        effort=1024,
        window=WINDOW,
        strategy="summary",
        hooks=[telemetry],
        store=directory / "sessions.db",
        **common,
    )
    async with agent.session("friday") as session:
        await session.ask(TIMETABLE)
        await session.send(REQUEST)
        await session.wait()
        for question in await session.questions():
            await asyncio.sleep(1.5)  # a person reads the question
            await session.approve(question.call_id, digest=question.digest)
        await session.wait()


async def photograph(address: str, trace: str) -> None:
    """Open the trace in a browser, and write the picture."""
    projects = httpx2.get(f"{address}/v1/projects").json()["data"]
    (project,) = (each["id"] for each in projects if each["name"] == PROJECT)
    async with chromium() as browser:
        page = await browser.new_page(viewport={"width": 1360, "height": 820})
        await page.goto(f"{address}/projects/{project}/traces/{trace}")
        await page.get_by_text("chat claude").first.click()
        await page.get_by_text("You plan journeys").first.wait_for()
        await page.wait_for_timeout(1_000)
        clip: Any = {"x": 341, "y": 47, "width": 1019, "height": 773}
        await page.screenshot(path=IMAGES / "traces.png", clip=clip)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phoenix", default="http://127.0.0.1:6006")
    address = parser.parse_args().phoenix
    named = {"service.name": "travel", "openinference.project.name": PROJECT}
    provider = TracerProvider(resource=Resource.create(named))
    seen = InMemorySpanExporter()
    for exporter in (OTLPSpanExporter(f"{address}/v1/traces"), seen):
        provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(provider, content=True)
    script = read({"answers": answers()})
    with running(script) as simulator, tempfile.TemporaryDirectory() as directory:
        url = simulator.url("anthropic")
        asyncio.run(converse(telemetry, url, Path(directory)))
    last = seen.get_finished_spans()[-1]
    asyncio.run(photograph(address, f"{last.context.trace_id:032x}"))


if __name__ == "__main__":
    main()
