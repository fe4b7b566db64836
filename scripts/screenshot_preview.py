"""The pictures of a preview, of parts that can be dropped, of a rewind with files and of a cause in docs/images.

    uv run python -m scripts.screenshot_preview

A scripted model behind a strict simulator of a provider, everything else as it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Page

from scripts.page_pictures import SCHEMES, ScreenSizes, chromium, run, served
from scripts.screenshot_page import read_log
from ullage_agent.runtime.agent import Agent
from ullage_simulators import running
from ullage_simulators.scenario import read

MODEL: Final = "claude-opus-4-6"
ASKED: Final = (
    "Read the gateway's logs of days 7 to 10: ticket SHOP-4711 says that checkouts are slow.",
    "Set pool_size back to 50 in gateway.toml, and note it in docs/changes.md.",
    "What is left to do?",
)
BEFORE: Final = '[database]\npool_size = 5\ntimeout_s = 10\nhost = "db-3.shop.example"\n'
FOUND: Final = "Slow since the 9th: since change 8d41f02c the pool of db-3.shop.example has 5 connections, not 50."
SUMMARY: Final = """## Goal
Find out why checkouts are slow, and mend it.
## State
- Since the 9th the pool has 5 connections; it is set back to 50 in `gateway.toml`.
- Noted in `docs/changes.md`.
## Next
Run the load test, then deploy."""
TOML: Final = BEFORE.replace("= 5\n", "= 50\n")
NOTE: Final = "# Changes\n\n- `pool_size` is 50 again (SHOP-4711).\n"


def answers() -> list[dict[str, Any]]:
    """What the model says, in order."""
    days = [{"name": "read_log", "arguments": {"day": day}} for day in range(7, 11)]
    writes = [
        {"name": "write", "arguments": {"path": "gateway.toml", "content": TOML}},
        {"name": "write", "arguments": {"path": "docs/changes.md", "content": NOTE}},
    ]
    return [
        {"when": {"contains": "summar"}, "text": SUMMARY},
        {"when": {"contains": ASKED[0], "after": "user"}, "calls": days, "times": 1},
        {"text": FOUND, "times": 1},
        {"when": {"contains": ASKED[1], "after": "user"}, "calls": writes, "times": 1},
        {"text": "Both are written.", "times": 1},
        {
            "text": "The load test of https://ci.shop.example/jobs/58213, then the deployment."
        },
    ]


@asynccontextmanager
async def told(place: Path) -> AsyncIterator[str]:
    """A server with a session that has read much and changed two files; gives its address."""
    root = place / "shop"
    root.mkdir()
    (root / "gateway.toml").write_text(BEFORE)
    with running(read({"answers": answers()}), seed=7) as provider:
        agent = Agent(
            f"anthropic:{MODEL}",
            tools=[read_log, "write"],
            store=place / "sessions.db",
            environment={"ANTHROPIC_API_KEY": "any", "HOME": str(place)},
            base_url=provider.url("anthropic"),
            config=False,
            window=24_000,
            keep=0.02,
            root=root,
        )
        async with agent.session("slow") as session:
            for said in ASKED:
                if said == ASKED[-1]:
                    await session.set(
                        system="You look after a web shop. Today is Monday."
                    )
                await session.ask(said)
            await session.rename("Slow checkout")
        async with served(agent) as url:
            yield url


async def take(to: Path, sizes: ScreenSizes) -> None:
    """For each size and scheme: the preview above the droppable parts, and the files of a rewind."""
    with tempfile.TemporaryDirectory(prefix="ullage-preview-") as place:
        async with told(Path(place)) as url, chromium() as browser:
            for name, (width, height) in sizes.items():
                for scheme in SCHEMES:
                    page = await browser.new_page(
                        viewport={"width": width, "height": height}, color_scheme=scheme
                    )
                    await page.goto(f"{url}/#session=slow")
                    await page.locator("#window:not(.empty)").wait_for(state="attached")
                    await pictures(page, to, name, scheme)
                    await page.close()


async def pictures(page: Page, to: Path, size: str, scheme: str) -> None:
    """What is asked before something is done: the dialogs alone, on small screens all that is seen."""
    name = f"{size}-{scheme}"
    dialog = page if size else page.locator("#dialog")
    if await page.locator("#tabs").is_visible():
        await page.locator("#tabs [data-tab=window]").click()
    await page.locator("#drop-fold summary").click()
    await page.locator(".droppable li").first.wait_for()
    await page.locator("#drop-fold").scroll_into_view_if_needed()
    parts = page if size else page.locator("#drop-fold")
    await parts.screenshot(path=to / f"drop{name}.png", animations="disabled")
    await page.locator("#preview").click()
    await page.locator("#preview-summary").wait_for()
    await page.wait_for_timeout(300)
    await dialog.screenshot(path=to / f"preview{name}.png", animations="disabled")
    await page.keyboard.press("Escape")
    calls = page.locator("section", has=page.locator("#growth-title")).last
    await calls.locator("summary").click()
    await calls.screenshot(path=to / f"cause{name}.png", animations="disabled")
    if await page.locator("#tabs").is_visible():
        await page.locator("#tabs [data-tab=conversation]").click()
    message = page.locator("article.user", has_text="Set pool_size")
    await message.scroll_into_view_if_needed()
    await message.hover()
    await message.get_by_role("button", name="Rewind …").click()
    files = page.locator(".changed-files summary")
    await files.last.click()
    await page.wait_for_timeout(300)
    await dialog.screenshot(path=to / f"rewind{name}.png", animations="disabled")


if __name__ == "__main__":
    run(take, __doc__)
