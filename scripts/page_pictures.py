"""What the scripts that take pictures of the page share: the browser, the server, sizes and arguments."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal

from playwright.async_api import Browser, async_playwright

from tests.server.page.fixtures import ARGUMENTS
from ullage_agent.runtime.agent import Agent
from ullage_server.app import application
from ullage_server.guard import LOOPBACK
from ullage_server.live import LiveSessions
from ullage_server.serving import HttpServer, listener, url_of

IMAGES: Final = Path(__file__).parent.parent / "docs" / "images"
CHROMIUM: Final = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ColorScheme = Literal["light", "dark"]
SCHEMES: Final[tuple[ColorScheme, ...]] = ("light", "dark")
ScreenSizes = Mapping[str, tuple[int, int]]
"""Width and height of the screen, by what is added to a picture's name."""
SIZES: Final[ScreenSizes] = {"": (1440, 900), "-small": (1024, 768), "-phone": (390, 844)}


def run(take: Callable[[Path, ScreenSizes], Awaitable[None]], about: str | None) -> None:
    """Take the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--to", type=Path, default=IMAGES, help="the directory they go to"
    )
    parser.add_argument("--all", action="store_true", help="small screens too")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    sizes = SIZES if options.all else {"": SIZES[""]}

    async def taking() -> None:
        await take(options.to, sizes)

    asyncio.run(taking())


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without a window."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=ARGUMENTS
        )
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def served(agent: Agent, shows: LiveSessions | None = None) -> AsyncIterator[str]:
    """A server with this agent's sessions; gives its address."""
    with listener("127.0.0.1", 0) as bound:
        server = HttpServer(application(agent, names=LOOPBACK, shows=shows))
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        try:
            yield url_of(bound)
        finally:
            server.should_exit = True
            await serving
