"""The pictures of the page in docs/images, taken of a real session: uv run python scripts/screenshot_page.py

The session is the demonstration's: a scripted model behind a strict double of a provider, and everything else real. The
double's port is not in the pictures; times of day are, so that two runs differ in them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal

from playwright.async_api import Browser, Page, async_playwright

from ullage.cli.demo_script import MODEL, REQUEST, SECOND, STEER, STORY, WINDOW, answers, tools_of
from ullage.events import ToolStarted
from ullage.runtime.agent import Agent
from ullage.runtime.session import Session
from ullage.server.app import application
from ullage.server.guard import LOOPBACK
from ullage.server.serving import Server, listener, url_of
from ullage.simulators import running
from ullage.simulators.scenario import read

IMAGES: Final = Path(__file__).parent.parent / "docs" / "images"
CHROMIUM: Final = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
ColorScheme = Literal["light", "dark"]

SIZES: Final = {"": (1440, 900), "-small": (1024, 768), "-phone": (390, 844)}
SCHEMES: Final[tuple[ColorScheme, ...]] = ("light", "dark")
STEER_AT: Final = 9  # the tool call during which the second message is sent


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=IMAGES, help="the directory they go to")
    parser.add_argument("--all", action="store_true", help="small screens too")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(options.to, SIZES if options.all else {"": SIZES[""]}))


async def take(to: Path, sizes: dict[str, tuple[int, int]]) -> None:
    """One picture for each size and scheme."""
    with tempfile.TemporaryDirectory(prefix="ullage-page-") as place:
        async with served(Path(place)) as url, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
            for name, (width, height) in sizes.items():
                for scheme in SCHEMES:
                    await picture(browser, url, to / f"page{name}-{scheme}.png", width, height, scheme)
            await browser.close()


@asynccontextmanager
async def served(place: Path) -> AsyncIterator[str]:
    """The demonstration's session, played, behind a server; gives its address."""
    models = [{"name": MODEL, "like": "claude-opus-4-6", "window": WINDOW, "max_output": 2_000}]
    scenario = read({"models": models, "answers": answers()})
    with running(scenario, seed=7) as provider, listener("127.0.0.1", 0) as listening:
        agent = Agent(
            f"anthropic:{MODEL}",
            tools=tools_of(pause_s=0.02),
            system="You look after the logs of a wine cellar. Read before you answer, and keep to what the logs say.",
            store=place / "sessions.db",
            environment={"ANTHROPIC_API_KEY": "any"},
            base_url=provider.url("anthropic"),
            config=False,
            window=WINDOW,
            root=place,
        )
        for name in ("cellar-summer", "cellar-autumn", "cellar"):
            async with agent.session(name) as session:
                await play(session, whole=name == "cellar")
        server = Server(application(agent, names=LOOPBACK))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield url_of(listening)
        finally:
            server.should_exit = True
            await serving


async def play(session: Session, *, whole: bool) -> None:
    """What happens in the demonstration: a request, a message while its tools run, a question after it."""
    if not whole:
        await session.ask(STORY)
        return
    await session.send(REQUEST)
    started = 0
    async for event in session.events(after=0, until_rest=True):
        started += isinstance(event, ToolStarted)
        if isinstance(event, ToolStarted) and started == STEER_AT:
            await session.send(STEER)
    await session.ask(SECOND)


async def picture(browser: Browser, url: str, file: Path, width: int, height: int, scheme: ColorScheme) -> None:
    """The page as it looks once it has loaded."""
    page = await browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.on("console", lambda said: print(f"{file.name}: {said.text}"))
    await page.goto(f"{url}/#/s/cellar")
    await page.locator("#window:not(.empty)").wait_for(state="attached")
    await page.locator("article.assistant").last.wait_for(state="attached")
    await open_rows(page)
    await page.wait_for_timeout(600)
    await page.screenshot(path=file, animations="disabled")
    await page.close()


async def open_rows(page: Page) -> None:
    """The breakdown, opened down to single messages."""
    for path in ("Messages", "Messages/Tool results"):
        row = page.locator(f'[data-path="{path}"]')
        if await row.is_visible():
            await row.click()


if __name__ == "__main__":
    main()
