"""The site's search finds what to do for an error message, pasted as a user sees it: with values, paths and signs."""

import os
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page

from scripts.house.messages import VALUE, messages, script_sentences, sentences
from scripts.house.pages import ROOT
from scripts.house.source import of_ullage, parsed
from scripts.message_pages import made_pages

SEEN = {
    message: heading
    for heading, _, message in (
        line.partition(" | ")
        for line in (ROOT / "tests/house/pasted_messages.txt")
        .read_text("utf-8")
        .splitlines()
    )
}
"""What a person pastes, and words of the heading that has to be among the first three results."""

PAGES = {"price": "Prices", "install": "Install", "Agent": "Agent", "proxy": "wrap"}
"""Words for which a page is the first result, and no message."""

RESULTS = """() => [...document.querySelectorAll(".md-search-result__item")].slice(0, 3)
    .map((item) => [...item.querySelectorAll(":scope > a")].slice(0, 3).map((link) => link.innerText).join(" "))"""
"""What is seen of the first three results: a page, and its headings that are like the query."""


def test_every_message_of_the_source_is_on_one_page() -> None:
    shown = [text for _, texts in made_pages().values() for text in texts]
    assert len(shown) == len(set(shown))
    assert {" ".join(told.text.split()) for told in messages(of_ullage())} <= set(shown)


def test_messages_that_are_put_together_are_found() -> None:
    source = parsed(
        "a.py",
        '''
"""This describes a module, and is no message."""
detail = f"There is no path {path}.{hint}"
failed = f"compaction failed: {why}"
parser.add_argument("--x", help="What the option is good for.")
raise AttributeError(f"has no attribute {name}")
places = "a b", "update steps set due = 2 where step = ?"
log.warning("The rule of %s for approval failed.", name)
''',
    )
    assert [text.replace(VALUE, "…") for _, text in sentences([source])] == [
        "There is no path ….…",
        "compaction failed: …",
        "has no attribute …",
        "The rule of … for approval failed.",
    ]


def test_messages_of_the_page_are_found() -> None:
    text = (
        'say("The token is wrong."); say(`The server answered ${status}.`); say("a b");'
    )
    assert [found.replace(VALUE, "…") for found in script_sentences(text)] == [
        "The token is wrong.",
        "The server answered ….",
    ]


def first_results(page: Page, text: str) -> list[str]:
    """What the search shows for a text that is typed into it."""
    box = page.locator(".md-search__input")
    box.fill("")
    box.press("End")
    page.locator(".md-search-result__item").first.wait_for(state="detached")
    box.fill(text)
    box.press("End")
    page.locator(".md-search-result__item").first.wait_for()
    found: list[str] = page.evaluate(RESULTS)
    return found


@pytest.mark.program
def test_a_pasted_message_is_found(tmp_path: Path, browser: Browser) -> None:
    command = "uv run --isolated --only-group docs mkdocs build --strict --quiet -d"
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([*command.split(), tmp_path], cwd=ROOT, env=environment, check=True)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.locator(".md-search__input").click()
        found = {message: first_results(page, message) for message in SEEN}
        pages = {word: first_results(page, word)[0] for word in PAGES}
        server.shutdown()
    lost = {
        message: found[message]
        for message, heading in SEEN.items()
        if heading not in " ".join(found[message])
    }
    assert lost == {}
    assert {
        word: title for word, title in pages.items() if PAGES[word] not in title
    } == {}
