"""What others wrote stays text: HTML, scripts, addresses that run, five megabytes."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open
from tests.server.served import Local, script, serving
from ullage_simulators import running

SCRIPT = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script><b>bold</b>"
LINKS = (
    "[run](javascript:document.title='taken') [data](data:text/html;base64,PHNjcmlwdD4=) "
    "![picture](https://example.com/a.png) [safe](https://example.com/?a=1&b=2) <https://example.com/x>"
)
ANSWERS = (
    {"when": {"contains": "script"}, "text": SCRIPT},
    {"when": {"contains": "links"}, "text": LINKS},
    {
        "when": {"contains": "broken"},
        "text": "**" * 3000 + "`" * 999 + "[" * 3000 + "\n> " * 500 + "|" * 2000,
    },
    {
        "when": {"contains": "tool", "after": "user"},
        "calls": [{"name": "fetch", "arguments": {"page": SCRIPT}}],
    },
    {"text": "Noted."},
)


def fetch(page: str) -> str:
    """Fetch a page."""
    return SCRIPT + page


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with (
        running(script(*ANSWERS)) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path_factory.mktemp("hostile") / "sessions.db",
            tools=[fetch],
        ) as server,
    ):
        yield server


def test_markup_of_anybody_is_shown_as_text(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("markup"))
    screen.say(f"A script: {SCRIPT}")
    expect(screen.find("article.user")).to_contain_text(
        "<script>document.title='taken'</script>"
    )
    expect(screen.answers().first).to_contain_text("<b>bold</b>")
    local.api.until("markup")
    screen.say("Now a tool.")
    expect(screen.answers()).to_have_count(3)
    screen.find(".fold.tool summary").click()
    expect(screen.find(".fold-body")).to_contain_text("onerror")
    assert screen.find("#messages img, #messages script, #messages b").count() == 0
    assert "taken" not in screen.page.title()


def test_links_lead_nowhere_but_to_the_web(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("links"))
    screen.say("links")
    expect(screen.answers()).to_contain_text("run")
    found = (
        screen.answers()
        .locator("a")
        .evaluate_all("links => links.map(link => [link.href, link.rel])")
    )
    assert found == [
        ["https://example.com/a.png", "noopener noreferrer"],
        ["https://example.com/?a=1&b=2", "noopener noreferrer"],
        ["https://example.com/x", "noopener noreferrer"],
    ]
    assert screen.answers().locator("img").count() == 0


def test_broken_markdown_is_shown_all_the_same(local: Local, open_page: Open) -> None:
    screen = open_page(local.url, local.api.session("broken"))
    screen.say("broken")
    expect(screen.answers()).to_contain_text("**")
    screen.is_at_rest()


def test_five_megabytes_are_cut_and_can_be_read_on(local: Local, open_page: Open) -> None:
    name = local.api.session("large")
    text = "<i>wine</i> 🍷 " * 400_000
    local.api.patch(
        f"/v1/sessions/{name}/settings", json={"auto": False, "window": 100_000_000}
    )
    local.api.say(name, text)
    screen = open_page(local.url, name)
    message = screen.find("article.user")
    expect(message).to_contain_text("<i>wine</i>")
    shown = len(message.inner_text())
    assert shown < 10_000
    more = message.get_by_role("button", name="Show more")
    expect(more).to_contain_text("characters are not shown")
    more.click()
    assert len(message.inner_text()) > 10 * shown / 2
    assert "\ufffd" not in message.inner_text()
    assert screen.find("#messages i").count() == 0


def test_a_name_with_markup_is_a_name(local: Local, open_page: Open) -> None:
    log = b'{"role":"user","content":"<img src=x onerror=alert(1)>"}\n{"role":"assistant","content":"no"}\n'
    screen = open_page(local.url)
    screen.page.evaluate(
        """([name, text]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([atob(text)], name));
            const dropped = {dataTransfer: transfer, bubbles: true, cancelable: true};
            document.body.dispatchEvent(new DragEvent("drop", dropped));
        }""",
        ["<img src=x onerror=alert(1)>.jsonl", base64.b64encode(log).decode()],
    )
    expect(screen.find("#looked")).to_contain_text("<img src=x onerror=alert(1)>")
    assert screen.find("#looked img").count() == 0
