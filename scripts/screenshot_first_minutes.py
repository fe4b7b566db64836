"""Pictures of what newcomers see in their first minutes: uv run python -m scripts.screenshot_first_minutes

The README's loop is run in an empty home, and its service: that picture is the page while a call waits.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from scripts.first_minutes import (
    LOOP,
    SERVICE,
    command_of,
    prepare,
    seen,
    without_uv,
)
from scripts.page_pictures import IMAGES, chromium
from scripts.screenshot_demo import drawn, played

WIDTH = 100
SHOWN = 60
SIZE = (1280, 800)
SAID = (
    ("How do the casks do?", "gave 8 lines"),
    ("And which one leaks?", "gave 77 lines"),
    ("write a note", "Allow this call?"),
)
"""What is said on the page, and what is waited for."""


def shown(command: str, home: Path) -> str:
    """What a command of the README shows on a terminal, as an SVG picture."""
    written = played(without_uv(command), WIDTH, HOME=str(home), ULLAGE_DATA="")
    run = re.sub(r"^uv run|--no-dev|--(extra|with) \S+", "", command)
    words = shlex.split(run, comments=True)
    return drawn(written, " ".join(words), WIDTH, SHOWN)


async def waiting_call(address: str, file: Path) -> None:
    """The page while a call waits for approval."""
    async with chromium() as browser:
        width, height = SIZE
        page = await browser.new_page(viewport={"width": width, "height": height})
        await page.goto(address)
        await page.get_by_text("Say something to begin.").wait_for(timeout=60_000)
        for text, answer in SAID:
            await page.locator("#say").fill(text)
            await page.locator("#say").press("Enter")
            await page.get_by_text(answer).last.wait_for(timeout=120_000)
        await page.locator("section.approval").wait_for()
        await page.wait_for_timeout(1000)
        await page.screenshot(path=file, animations="disabled")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        prepare(home)
        sample = shown("ullage context sample --advice", home)
        (IMAGES / "first-advice.svg").write_text(sample, encoding="utf-8")
        loop = shown(command_of(LOOP), home)
        (IMAGES / "first-loop.svg").write_text(loop, encoding="utf-8")
        service = [*without_uv(command_of(SERVICE)), "--port", "0"]
        environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        serving = subprocess.Popen(
            service, env=environment, stdout=subprocess.PIPE, text=True
        )
        try:
            lines = seen(serving.stdout, "no output")
            line = lines.readline() + lines.readline()
            address = seen(re.search(r"http://\S+#link=\S+", line), line)[0]
            asyncio.run(waiting_call(address, IMAGES / "first-service.png"))
        finally:
            serving.terminate()
            serving.wait()


if __name__ == "__main__":
    main()
