"""The site's search finds what to do for an error message, pasted as a user sees it: with values, paths and signs."""

import os
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from scripts.house.messages import messages
from scripts.house.pages import ROOT
from scripts.house.source import of_ullage
from scripts.message_pages import made_pages

SEEN = {
    "ullage: anthropic needs a key: set ANTHROPIC_API_KEY in the environment.": "messages/wire",
    "api.openai.com can't be reached: [Errno -2] Name or service not known. Check the network.": "messages/wire",
    "No provider is named anthropc. Did you mean 'anthropic'?": "troubleshooting",
    "The rate limit of anthropic is used up: this call would wait for 4000 s": "messages/agent",
    "A model is a name ('openai:gpt-5') or an object of ullage.Provider, and not dict.": "messages/agent",
    "ullage: The session cellar is not open: it was closed": "messages/agent",
    "ULLAGE_CONFIG names ~/x.toml, which is no file. Correct it, or unset it.": "messages/agent",
    "keep=3 is not between 0 and 1: give a share such as 0.3.": "messages/meter",
    "The disk is full: nothing more can be stored in /home/ann/sessions.db.": "messages/store",
    "Other users may read /srv/x/sessions.db. It was not opened": "messages/store",
    'The database of postgresql://me@db/ullage does not exist (database "x" does not exist).': "messages/store",
    "Between this program and db.example.org:5432 is a pooler in transaction mode": "messages/store",
    "Commands of shell are not confined, so each one needs approval: no bubblewrap.": "troubleshooting",
    "There is no built-in tool reed. There are edit, list, read, search, shell, write.": "messages/tools",
    "timeout_s must be above 0 and at most 600.": "messages/tools",
    "The image in the clipboard has more than 20,000,000 bytes, the most a message can hold.": "messages/chat",
    "There is no PostgreSQL on this machine. Install one (`pip install x`)": "messages/http",
    "--restate-key abc is no public key of Restate. Give the one in its log": "messages/http",
    "The token ci lacks the scope write, which this request needs.": "messages/http",
    "Copilot CLI takes another address only for a provider of your own": "messages/clients",
    "Europe/Pariss is no time zone that this machine knows.": "messages/clients",
}


def test_no_message_of_the_source_is_missing() -> None:
    shown = sum(len(texts) for _, texts in made_pages().values())
    assert shown == len({" ".join(told.text.split()) for told in messages(of_ullage())})


@pytest.mark.program
def test_a_pasted_message_leads_to_its_page(tmp_path: Path, browser: Browser) -> None:
    command = "uv run --isolated --only-group docs mkdocs build --strict --quiet -d"
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([*command.split(), tmp_path], cwd=ROOT, env=environment, check=True)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        found = {}
        for message in SEEN:
            page.goto(f"http://127.0.0.1:{server.server_port}/?q={quote(message)}")
            hits = page.locator(".md-search-result__item > a").evaluate_all
            page.wait_for_selector(".md-search-result__item > a")
            found[message] = hits("links => links.slice(0, 3).map(link => link.pathname)")
        server.shutdown()
    lost = {
        message: found[message]
        for message, place in SEEN.items()
        if f"/{place}/" not in found[message]
    }
    assert lost == {}
