"""The pictures of docs/your-page.md, taken of examples/web: uv run python -m scripts.screenshot_your_page

A scripted model behind a strict simulator of a provider, everything else as it is.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, ViewportSize, sync_playwright

import ullage
from scripts.your_page import served_pages
from tests.programs import needed
from ullage_simulators import running
from ullage_simulators.scenario import read

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
TOKEN: Final = "a-token-of-the-pictures"  # noqa: S105
SIZE: Final = ViewportSize(width=720, height=400)
ANSWERS: Final = [
    {
        "when": {"contains": "ordered"},
        "text": "500 corks are ordered. They come on Tuesday.",
    },
    {
        "when": {"contains": "400 corks"},
        "text": "There are 400 corks left. I would order 500 more.",
        "calls": [{"name": "order", "arguments": {"item": "corks", "pieces": 500}}],
    },
    {
        "text": "I look at the stock.",
        "calls": [{"name": "stock", "arguments": {"item": "corks"}}],
    },
]


def stock(item: str) -> str:
    """How many pieces of an item are in stock."""
    return f"400 {item}"


def order(item: str, pieces: int) -> str:
    """Order an item for the cellar."""
    return f"ordered: {pieces} {item}"


def picture(browser: Browser, address: str, name: str, *, allows: bool) -> None:
    """Ask in the page, allow the call or not, and take the picture."""
    page = browser.new_page(viewport=SIZE, device_scale_factor=2)
    page.goto(address)
    page.fill("input", "How many corks are left?")
    page.press("input", "Enter")
    page.wait_for_selector("text=Don’t allow")
    if allows:
        page.get_by_role("button", name="Allow", exact=True).click()
        page.wait_for_selector("text=Tuesday")
    page.wait_for_selector("text=Send")
    page.screenshot(path=IMAGES / f"{name}.png", full_page=True)


def main() -> None:
    """Write both pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(read({"answers": ANSWERS})) as provider,
    ):
        agent = ullage.Agent(
            "anthropic:claude-haiku-4-5",
            tools=[stock, order],
            approve=["order"],
            store=Path(folder, "s.db"),
            config=False,
            base_url=provider.url("anthropic"),
            environment={"ANTHROPIC_API_KEY": "any"},
        )
        with (
            ullage.http_server(agent, port=0, token=TOKEN) as url,
            served_pages(needed("npm"), str(url), TOKEN) as address,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=needed("chromium"))
            picture(browser, f"{address}/#corks", "use-chat", allows=False)
            picture(browser, f"{address}/ag-ui.html#stock", "ag-ui", allows=True)
            browser.close()


if __name__ == "__main__":
    main()
