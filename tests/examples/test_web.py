"""The pages of examples/web in a real browser: the packages of npm talk to our server, through Vite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts.your_page import served_pages
from tests.programs import needed
from tests.server.served import script, serving
from ullage_agent.tools.functions import tool
from ullage_simulators import running

TOKEN = "a-token-of-the-pages"
SAID = "The cask was filled in spring, and then it stood. "
ANSWERS = (
    {"when": {"contains": "ordered"}, "text": "They come on Tuesday."},
    {"when": {"contains": "did not allow"}, "text": "Then nothing was ordered."},
    {
        "when": {"contains": "400 corks"},
        "text": "400 are left.",
        "calls": [{"name": "order", "arguments": {"pieces": 500}}],
    },
    {
        "when": {"contains": "corks", "after": "user"},
        "text": "I look.",
        "calls": [{"name": "stock", "arguments": {"item": "corks"}}],
    },
    {"text": SAID * 400},
)
PAGES = pytest.mark.parametrize("path", ["", "ag-ui.html"])


async def stock(item: str) -> str:
    """How many pieces of an item are in stock.

    Args:
        item: which
    """
    return f"400 {item}"


@tool(needs_approval=True)
async def order(pieces: int) -> str:
    """Order corks.

    Args:
        pieces: how many
    """
    return f"{pieces} ordered"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the pages are."""
    store = tmp_path_factory.mktemp("web") / "s.db"
    with (
        running(script(*ANSWERS, delay_s=0.03)) as provider,
        serving(
            provider.url("anthropic"), store, token=TOKEN, tools=[stock, order]
        ) as server,
        served_pages(needed("npm"), server.url, TOKEN) as url,
    ):
        yield url


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that has had no error."""
    opened = browser.new_page()
    opened.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.close()
    assert not errors


def say(page: Page, text: str) -> None:
    """Write to the agent."""
    page.fill("input", text)
    page.press("input", "Enter")


@PAGES
def test_a_call_is_shown_and_answered_after_a_reload(
    address: str, page: Page, path: str
) -> None:
    page.goto(f"{address}/{path}#asks-{len(path)}")
    say(page, "How many corks?")
    allow = page.get_by_role("button", name="Allow", exact=True)
    expect(allow).to_be_visible()
    say(page, "And then?")
    expect(page.locator(".error")).to_contain_text(
        "Allow or deny order first" if not path else "pending interrupt"
    )
    page.reload()
    expect(page.locator(".tool").first).to_contain_text("→ 400 corks")
    expect(page.locator(".gauge")).to_contain_text("of 200,000")
    allow.click()
    expect(page.locator(".tool").last).to_contain_text("→ 500 ordered")
    expect(page.locator(".message").last).to_contain_text("They come on Tuesday.")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.locator(".message.user")).to_have_count(1)
    say(page, "Order more corks")
    page.get_by_role("button", name="Don’t allow").click()
    expect(page.locator(".message").last).to_contain_text("Then nothing was ordered.")


@PAGES
def test_an_answer_goes_on_after_a_reload_until_it_is_stopped(
    address: str, page: Page, path: str
) -> None:
    page.goto(f"{address}/{path}#long-{len(path)}")
    say(page, "Tell me at length")
    answer = page.locator(".message").last
    stop = page.get_by_role("button", name="Stop")
    expect(answer).to_contain_text(SAID.strip())
    page.reload()
    expect(answer).to_contain_text(SAID.strip())
    before = len(answer.inner_text())
    page.wait_for_function(
        f"[...document.querySelectorAll('.message')].at(-1).innerText.length > {before}"
    )
    stop.click()
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    page.reload()
    expect(answer).to_contain_text(SAID.strip())
    shown = answer.inner_text()
    assert before < len(shown) < len(SAID * 400)
    assert shown.count(SAID.strip()) >= shown.count("The cask was filled") - 1
