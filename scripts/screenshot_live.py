"""The pictures of running sessions in docs/images: uv run python -m scripts.screenshot_live

Invented sessions of three programs as the proxy's ledger keeps them; everything else as it is. The times of day in them
are those of the run.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from playwright.async_api import Browser

from scripts import page_pictures
from scripts.invented_session import InventedSession
from ullage.directories import data_directory
from ullage.events import (
    CompactionCommitted,
    Event,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.importers import find_sessions
from ullage.importers.ullage import PROXY_CHILD
from ullage.messages import (
    Message,
    SystemBlock,
    TextPart,
    Tool,
)
from ullage.store.sqlite.store import SqliteStore
from ullage.watching.running import RunningList
from ullage_agent.runtime.agent import Agent
from ullage_programs.settings import PROXY_FILE
from ullage_server.live import LiveSessions

SHOP: Final = ("cart", "checkout", "prices", "orders", "stock", "mail", "search", "users")
TOOLS: Final = ("Read", "Edit", "Bash", "Grep", "Glob", "Task", "WebFetch")
ISSUES: Final = (
    "list_issues",
    "get_issue",
    "create_issue",
    "search_issues",
    "add_comment",
)
PAUSE_AT: Final = 60
"""The call before which the person had lunch: the cache is gone then."""


class ProgramSession(InventedSession):
    """A session of a program that reads, edits and tests."""

    def __init__(
        self, program: str, model: str, provider: str, cwd: str, calls: int
    ) -> None:
        super().__init__(at=time.time() - 40 * calls - 1_500)
        self.drawn = random.Random(program)
        wire = "messages" if provider == "anthropic" else "responses"
        asked = SessionStarted(model=model, wire=wire, provider=provider)
        self.put(replace(asked, program=program, cwd=cwd))
        rules = SystemBlock(
            text=self.prose(600), kind="instructions", name=f"{cwd}/AGENTS.md"
        )
        self.put(SystemChanged(system=(SystemBlock(text=self.prose(900)), rules)))
        tools = [Tool(name=name, description=self.prose(220)) for name in TOOLS]
        for name in ISSUES:
            full = f"mcp__issues__{name}"
            tools.append(Tool(name=full, description=self.prose(160), server="issues"))
        self.put(ToolsChanged(tools=tuple(tools)))

    def prose(self, words: int) -> str:
        known = ("read", "the", "order", "before", "it", "is", "changed", "and", "keep")
        return " ".join(self.drawn.choice(known) for _ in range(words))

    def code(self, name: str, lines: int) -> str:
        """So many lines of a file."""
        drawn: list[str] = []
        for number in range(lines):
            drawn.append(f"    {name}_{number} = load({self.drawn.randrange(10_000)})")
        return "\n".join(drawn)

    def work(self, steps: int) -> None:
        """Reads, edits and tests, with a lunch break."""
        for _ in range(steps):
            name = self.drawn.choice(SHOP)
            kind = self.drawn.randrange(10)
            pause_s = 1_540 if self.calls + 1 == PAUSE_AT else 40
            path = f'{{"file_path": "src/{name}.py"}}'
            if kind < 5:
                text = self.code(name, self.drawn.randrange(20, 190))
                self.tool("Read", path, text, pause_s)
            elif kind < 8:
                text = self.code(name, self.drawn.randrange(3, 20))
                self.tool("Edit", path, text, pause_s)
            else:
                text = self.code("passed", self.drawn.randrange(10, 260))
                self.tool("Bash", f'{{"command": "pytest tests/{name}"}}', text, pause_s)

    def compact(self) -> None:
        """Everything so far becomes a summary."""
        part = TextPart(id="s.0", text="Summary. " + self.prose(700))
        gone = tuple(message.id for message in self.meter.messages)
        summary = Message(id="s", role="user", parts=(part,), origin="summary")
        self.cached = 0
        self.put(CompactionCommitted(compaction="s", summary=summary, summarised=gone))


def invented() -> dict[str, list[Event]]:
    """The events of three sessions and of the subagents of one, by id."""
    claude, sonnet = "claude-code 2.1.330", ("claude-sonnet-4-5", "anthropic")
    haiku = ("claude-haiku-4-5", "anthropic")
    shop = ProgramSession(claude, *sonnet, "/home/ada/shop", 120)
    shop.ask("The checkout is slow since Monday. Find out why, and fix it.")
    shop.work(52)
    shop.compact()
    shop.work(66)
    gateway = ProgramSession(
        "codex 0.169.0", "gpt-5-codex", "openai", "/home/ada/gateway", 24
    )
    gateway.ask("Add a retry to the gateway's client, with tests.")
    gateway.work(24)
    notes = ProgramSession("opencode 1.18.33", *haiku, "/home/ada/notes", 9)
    notes.ask("Which of these notes have no date?")
    notes.work(9)
    queries = ProgramSession(claude, *haiku, "/home/ada/shop", 14)
    queries.ask("Which queries of the checkout scan a whole table?")
    queries.work(14)
    carts = ProgramSession(claude, *haiku, "/home/ada/shop", 6)
    carts.ask("Where is a cart loaded more than once?")
    carts.work(6)
    return {
        "notes": notes.events,
        "gateway": gateway.events,
        f"shop{PROXY_CHILD}1": queries.events,
        f"shop{PROXY_CHILD}2": carts.events,
        "shop": shop.events,
    }


@asynccontextmanager
async def metered(place: Path) -> AsyncIterator[str]:
    """A server beside a proxy's ledger with the sessions; gives its address."""
    data = data_directory({"HOME": str(place)})
    data.mkdir(parents=True)
    ledger = SqliteStore(data / PROXY_FILE)
    try:
        for name, events in invented().items():
            stamped: list[Event] = []
            for event in events:
                stamped.append(replace(event, session=name))
            parent, child, _ = name.partition(PROXY_CHILD)
            await ledger.create(name, stamped, origin=parent if child else "")
    finally:
        await ledger.close()
    running = RunningList(find=lambda: find_sessions({}, place))
    agent = Agent(
        "anthropic:claude-haiku-4-5",
        store=place / "own.db",
        environment={"ANTHROPIC_API_KEY": "any"},
        config=False,
    )
    async with page_pictures.served(agent, LiveSessions(running=running)) as url:
        yield url


async def take(to: Path, sizes: page_pictures.ScreenSizes) -> None:
    """A picture for each size and scheme."""
    with tempfile.TemporaryDirectory(prefix="ullage-live-") as place:
        async with metered(Path(place)) as url, page_pictures.chromium() as browser:
            for name, size in sizes.items():
                for scheme in page_pictures.SCHEMES:
                    await picture(browser, url, to, name, size, scheme)


async def picture(
    browser: Browser,
    url: str,
    to: Path,
    name: str,
    size: tuple[int, int],
    scheme: page_pictures.ColorScheme,
) -> None:
    """The page as it looks once the session is shown."""
    width, height = size
    page = await browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=scheme
    )
    await page.goto(url)
    line = page.locator(".live-session", has_text="checkout")
    await line.wait_for(state="attached")
    await line.evaluate("(node) => node.click()")
    await page.locator("#looked .item").first.wait_for()
    await page.wait_for_timeout(600)
    live = to / f"page-live{name}-{scheme}.png"
    await page.screenshot(path=live, animations="disabled")
    if width < 800:
        await page.locator("#tabs [data-tab=sessions]").click()
        await page.screenshot(
            path=live.with_stem(f"{live.stem}-list"), animations="disabled"
        )
    await page.close()


if __name__ == "__main__":
    page_pictures.run(take, __doc__)
