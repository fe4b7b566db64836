"""The pictures of the page in docs/images, taken of a real session: uv run python -m scripts.screenshot_page

A scripted model behind a strict simulator of a provider, everything else as it is. The times of day in them are those
of the run.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser, Page

from scripts.page_pictures import (
    SCHEMES,
    ColorScheme,
    ScreenSizes,
    chromium,
    run,
    served,
)
from ullage_agent.runtime.agent import Agent
from ullage_simulators import running
from ullage_simulators.scenario import read

MODEL: Final = "small"
WINDOW: Final = 24_000
DAYS: Final = 12
REQUEST: Final = "Read the gateway's logs of the last twelve days: which requests are slow, and since when?"
SECOND: Final = "Which change did that?"
THIRD: Final = "Set it back to 50 and run the load test."
WAITING: Final = "Then write two lines for the team."
SESSIONS: Final = {
    "export": ("Nightly export", "Why does the nightly export take two hours?"),
    "rename": ("colour → color", "Rename the field `colour` everywhere"),
    "retries": ("Retries of payments", "Explain how payments are retried"),
    "slow": ("Slow checkout requests", REQUEST),
}
"""The sessions by id: title, and what was asked first."""

FOUND: Final = """The slow ones are **`POST /checkout`**, and only since the 9th. Nothing else got slower.

| days | median | slowest of 100 |
|---|---|---|
| 1 to 8 | 84 ms | 210 ms |
| 9 to 12 | 91 ms | 4,870 ms |

The median hardly moved: most requests are as fast as before, and a few wait. That is what a pool that is too small \
looks like."""
CHANGED: Final = """The pool of connections became smaller on the 9th:

```diff
 [database]
-pool_size = 50
+pool_size = 5
```

1. It was changed together with the timeout, in the same commit.
2. The commit speaks of the timeout alone, so the pool was most likely **not meant**."""


def answers() -> list[dict[str, Any]]:
    """What the model says, in order."""
    days = [
        {
            "when": {
                "contains": REQUEST if day == 1 else f"day {day - 1} of the gateway"
            },
            "reasoning": "Day by day, so that nothing is missed.",
            "calls": [{"name": "read_log", "arguments": {"day": day}}],
        }
        for day in range(1, DAYS + 1)
    ]
    return [
        *days,
        {"when": {"contains": f"day {DAYS} of the gateway"}, "text": FOUND},
        {
            "when": {"contains": SECOND},
            "reasoning": "Something changed on the 8th or the 9th. The pool is the first suspect: look for it.",
            "calls": [
                {
                    "name": "search",
                    "arguments": {"pattern": "pool_size", "since": "the 8th"},
                }
            ],
        },
        {"when": {"contains": "pool_size ="}, "text": CHANGED},
        {
            "when": {"contains": THIRD},
            "calls": [{"name": "load_test", "arguments": {"requests": 500}}],
        },
        {"text": "Done: it was read, and the answer is above."},
    ]


def read_log(day: int) -> str:
    """Read the gateway's log of a day."""
    drawn = random.Random(day)
    lines = [
        f"{hour:02}:{drawn.randrange(60):02} {drawn.choice(('GET /items', 'POST /checkout', 'GET /cart'))} 200 "
        f"{drawn.randrange(40, 140)} ms pool {drawn.randrange(1, 6)}/{50 if day < 9 else 5}"
        for hour in range(24)
        for _ in range(3)
    ]
    return f"day {day} of the gateway\n" + "\n".join(lines)


def search(pattern: str, since: str) -> str:
    """Search the changes of the configuration."""
    return f"gateway.toml, after {since}\n-{pattern} = 50\n+{pattern} = 5\n-timeout_s = 30\n+timeout_s = 10"


async def load_test(requests: int) -> str:
    """Run the load test."""
    await asyncio.sleep(600)
    return f"{requests} requests, none slow"


async def take(to: Path, sizes: ScreenSizes) -> None:
    """One picture for each size and scheme."""
    with tempfile.TemporaryDirectory(prefix="ullage-page-") as place:
        async with told(Path(place)) as url, chromium() as browser:
            await begin_the_last_turn(browser, url)
            for name, (width, height) in sizes.items():
                for scheme in SCHEMES:
                    file = to / f"page{name}-{scheme}.png"
                    await picture(browser, url, file, width, height, scheme)


@asynccontextmanager
async def told(place: Path) -> AsyncIterator[str]:
    """A server with a session that has come a long way, and some others; gives its address."""
    models = [
        {"name": MODEL, "like": "claude-opus-4-6", "window": WINDOW, "max_output": 2_000}
    ]
    scenario = read({"models": models, "answers": answers()})
    with running(scenario, seed=7) as provider:
        agent = Agent(
            f"anthropic:{MODEL}",
            tools=[read_log, search, load_test],
            system="You look after a web shop. Read before you answer, and keep to what you have read.",
            store=place / "sessions.db",
            environment={"ANTHROPIC_API_KEY": "any"},
            base_url=provider.url("anthropic"),
            config=False,
            window=WINDOW,
            protect_tokens=6_000,
            params={"thinking": {"type": "adaptive"}},
            root=place,
        )
        for name, (title, said) in SESSIONS.items():
            async with agent.session(name) as session:
                await session.ask(said)
                await session.rename(title)
                if name == "slow":
                    await session.ask(SECOND)
        async with served(agent) as url:
            yield url


async def begin_the_last_turn(browser: Browser, url: str) -> None:
    """A turn whose tool is still running, and a message that waits for its end."""
    page = await browser.new_page()
    await page.goto(f"{url}/#session=slow")
    box = page.locator("#say")
    await box.fill(THIRD)
    await box.press("Enter")
    await page.locator(".tag.state-running").wait_for()
    await box.fill(WAITING)
    await box.press("Control+Enter")
    await page.locator("#queue .waiting").wait_for()
    await page.close()


async def picture(
    browser: Browser, url: str, file: Path, width: int, height: int, scheme: ColorScheme
) -> None:
    """The page as it looks once it has loaded."""
    page = await browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=scheme
    )
    await page.goto(f"{url}/#session=slow")
    await page.locator("#window:not(.empty)").wait_for(state="attached")
    await page.locator(".tag.state-running").wait_for(state="attached")
    await open_rows(page)
    await page.wait_for_timeout(600)
    await page.screenshot(path=file, animations="disabled")
    if width < 800:
        await page.locator("#tabs [data-tab=window]").last.click()
        await page.wait_for_timeout(300)
        await page.screenshot(
            path=file.with_stem(f"{file.stem}-window"), animations="disabled"
        )
    await page.close()


async def open_rows(page: Page) -> None:
    """The breakdown, opened a level further."""
    row = page.locator('[data-path="Messages/Tool results"]')
    if await row.is_visible():
        await row.click()
        await page.mouse.move(0, 0)


if __name__ == "__main__":
    run(take, __doc__)
