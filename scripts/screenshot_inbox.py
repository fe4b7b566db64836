"""The pictures of a team's sessions in docs/images: uv run python -m scripts.screenshot_inbox

A scripted model behind a strict simulator of a provider, everything else as it is. The times in them are those of the
run.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx2

from scripts.page_pictures import SCHEMES, ScreenSizes, chromium, run, served
from ullage_agent.runtime.agent import Agent
from ullage_simulators import running
from ullage_simulators.scenario import read

MODEL: Final = {
    "name": "small",
    "like": "claude-opus-4-6",
    "window": 64_000,
    "max_output": 2_000,
}
FOUND: Final = "The checkout waits for a connection: its pool became smaller on the 9th. Nothing else got slower."
SESSIONS: Final[tuple[tuple[str, str, str, dict[str, str]], ...]] = (
    ("export", "Nightly export", "Why does the export take two hours?", {}),
    ("checkout", "Slow checkout", "Which requests are slow, and since when?", {}),
    ("crawl", "Crawl the shop", "Please crawl the shop.", {}),
    ("gateway", "Gateway of the shop", "Which cask?", {"model": "anthropic:gone"}),
    ("notes", "Notes for the team", "Please write the notes.", {}),
    ("deploy", "Set the pool back to 50", "Please deploy it.", {}),
)
"""The sessions: id, title, what was asked, and settings."""

SHELL: Final = "sed -i 's/^pool_size = 5$/pool_size = 50/' gateway.toml && ./deploy production --wait"
NOTES: Final = "# Slow checkout\n\nThe pool of connections is too small since the 9th.\nIt is set back to 50 today."


def answers() -> list[dict[str, Any]]:
    """What the model says."""
    asked = {
        "crawl": ("crawl", {"pages": 500}),
        "notes": ("write_file", {"path": "notes/checkout.md", "content": NOTES}),
        "deploy": ("shell", {"command": SHELL}),
    }
    calls: list[dict[str, Any]] = []
    for word, (name, arguments) in asked.items():
        when = {"contains": word, "after": "user"}
        calls.append({"when": when, "calls": [{"name": name, "arguments": arguments}]})
    return [*calls, {"text": FOUND}]


async def crawl(pages: int) -> str:
    """Crawl the shop."""
    await asyncio.sleep(600)
    return f"{pages} pages"


def write_file(path: str, content: str) -> str:
    """Write a file."""
    return f"{path}: {len(content)} characters"


def shell(command: str) -> str:
    """Run a command."""
    return command


@asynccontextmanager
async def asked(place: Path) -> AsyncIterator[str]:
    """A server whose sessions wait for a person, have failed, work and rest; gives its address."""
    with running(read({"models": [MODEL], "answers": answers()}), seed=7) as provider:
        agent = Agent(
            f"anthropic:{MODEL['name']}",
            tools=[crawl, write_file, shell],
            approve=["write_file", "shell"],
            store=place / "sessions.db",
            environment={"ANTHROPIC_API_KEY": "any"},
            base_url=provider.url("anthropic"),
            config=False,
            yields=True,
            root=place,
        )
        async with served(agent) as url, httpx2.AsyncClient(base_url=url) as api:
            for name, title, said, settings in SESSIONS:
                begun = {"id": name, "settings": settings}
                await api.post("/v1/sessions", json=begun)
                await api.post(f"/v1/sessions/{name}/rename", json={"title": title})
                await api.post(f"/v1/sessions/{name}/messages", json={"text": said})
            yield url


async def take(to: Path, sizes: ScreenSizes) -> None:
    """One picture for each size and scheme: the list, and a call that is reviewed."""
    with tempfile.TemporaryDirectory(prefix="ullage-inbox-") as place:
        async with asked(Path(place)) as url, chromium() as browser:
            for name, (width, height) in sizes.items():
                for scheme in SCHEMES:
                    page = await browser.new_page(
                        viewport={"width": width, "height": height}, color_scheme=scheme
                    )
                    await page.goto(f"{url}/#session=checkout")
                    await page.locator("[data-session=gateway] .failed").wait_for(
                        state="attached"
                    )
                    await page.keyboard.press("1")
                    file = to / f"inbox{name}-{scheme}.png"
                    if name:
                        await page.screenshot(path=file, animations="disabled")
                    await page.locator("[data-review=deploy]").click()
                    await page.get_by_role("button", name="Allow", exact=True).wait_for()
                    await page.wait_for_timeout(1_000)
                    reviewed = file.with_stem(f"{file.stem}-review") if name else file
                    await page.screenshot(path=reviewed, animations="disabled")
                    await page.close()


if __name__ == "__main__":
    run(take, __doc__)
