"""Draws the film of ``ullage chat`` in docs/film.md: why a call will cost much, a preview, a drop, a rewind with files.

    uv run python -m scripts.screenshot_film [DIRECTORY]

DIRECTORY is ``docs/images`` unless said otherwise. A scripted model behind a strict simulator of a provider; the chat,
its keys and its numbers are as they are.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from textual.pilot import Pilot

from scripts.screenshot_page import read_log
from scripts.screenshot_preview import ASKED, BEFORE, MODEL, answers
from scripts.terminal_pictures import IMAGES
from ullage_agent.chat.app import ChatApp
from ullage_agent.chat.lister import Overlay, PreviewScreen
from ullage_agent.chat.start import environment_for
from ullage_agent.cli.simulated import Simulated
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hosting import Host
from ullage_simulators import running
from ullage_simulators.scenario import read

SIZE: Final = (80, 30)
PATIENCE_S: Final = 10
"""Seconds that a screen is waited for."""


async def film() -> dict[str, str]:
    """The pictures, by name, in order."""
    with (
        running(read({"answers": answers()}), seed=7) as server,
        tempfile.TemporaryDirectory() as place,
    ):
        root = Path(place) / "shop"
        root.mkdir()
        (root / "gateway.toml").write_text(BEFORE)
        os.environ.pop("NO_COLOR", None)
        keys = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": server.url("anthropic")}
        data = {"ULLAGE_DATA": place, "HOME": place}
        environment = environment_for(data, Simulated(f"anthropic:{MODEL}", keys))
        agent = Agent(
            f"anthropic:{MODEL}",
            tools=[read_log, "write"],
            environment=environment,
            store=Path(place) / "sessions.db",
            config=False,
            root=root,
        )
        shared = await agent._enter()
        async with Host(agent) as host:
            settings = {"model": f"anthropic:{MODEL}", "window": 24_000, "keep": 0.02}
            session = await host.begin("slow", settings)
            for said in ASKED:
                await session.ask(said)
            messages = await session.messages()
            request = next(each.id for each in messages if each.text == ASKED[1])
            app = ChatApp(host, shared.store, session, environment)
            async with app.run_test(size=SIZE) as pilot:
                drawn = await _play(app, pilot, request)
        await agent._leave()
    return drawn


async def _play(app: ChatApp, pilot: Pilot[str], request: str) -> dict[str, str]:
    drawn: dict[str, str] = {}

    async def until(is_so: Callable[[], bool]) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > until_s:
                texts = re.findall(r"<text[^>]*>([^<]*)", app.export_screenshot())
                raise SystemExit("\n".join(texts).replace("&#160;", " "))
            await pilot.pause(0.1)

    async def enter(command: str) -> None:
        app.prompt.put(command)
        await pilot.press("enter")

    async def take(name: str) -> None:
        await pilot.pause(0.5)
        picture = app.export_screenshot(title="ullage chat")
        drawn[f"film-{name}"] = re.sub(r"terminal-\d+", f"ullage-film-{name}", picture)

    def shows(words: str) -> Callable[[], bool]:
        return lambda: words in app.export_screenshot().replace("&#160;", " ")

    await pilot.pause(0.5)
    await enter("/model anthropic:claude-sonnet-4-6")
    await until(shows("the next call:"))
    await take("cause")
    await enter(f"/model anthropic:{MODEL}")
    await until(lambda: not shows("the next call:")())
    await enter("/compact --preview")
    await until(lambda: isinstance(app.screen, PreviewScreen))
    await take("preview")
    await pilot.press("escape")
    await enter("/drop")
    await until(lambda: isinstance(app.screen, Overlay))
    await take("drop")
    await pilot.press("enter")
    await until(shows("dropped:"))
    await take("dropped")
    await enter("/uncompact")
    await until(shows("undone:"))
    await enter(f"/rewind {request} --files")
    await until(shows("Send the command again"))
    await take("rewind")
    await pilot.press("enter")
    await until(shows("removed"))
    await take("restored")
    app.prompt.clear_all()
    await enter("/uncompact")
    await until(shows("brought back"))
    await take("undone")
    return drawn


if __name__ == "__main__":
    to = Path(sys.argv[1]) if sys.argv[1:] else IMAGES
    for name, picture in asyncio.run(film()).items():
        (to / f"{name}.svg").write_text(picture, encoding="utf-8")
