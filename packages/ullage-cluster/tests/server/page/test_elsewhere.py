"""A page of one server shows and steers what another server drives, on one PostgreSQL, and outlives it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.postgres import new_server
from tests.server.page.screen import Open
from tests.server.served import process, script, serving
from tests.store.losing import lose
from ullage_agent.runtime.dispatch import Embedded
from ullage_simulators import running

STORY = "The cask was filled in spring, and then it stood. "
ANSWERS = (
    {"when": {"contains": "at length", "after": "user"}, "text": STORY * 200},
    {
        "when": {"contains": "Write it", "after": "user"},
        "calls": [
            {"name": "write", "arguments": {"path": "cask.txt", "content": "full"}}
        ],
    },
    {"text": "A hand's breadth of air stands over the wine."},
)


@pytest.fixture
def database() -> Iterator[str]:
    """An empty one on a server of its own: the shared one needs an event loop, and the browser's runs."""
    server = new_server()
    yield server.url(server.new_database())
    server.remove()


def test_a_page_follows_steers_cancels_and_approves_at_another_server_and_outlives_the_driving_one(
    database: str, tmp_path: Path, open_page: Open
) -> None:
    file = tmp_path / "s.db"
    options = ("--tools", "write", "--root", str(tmp_path))
    with running(script(*ANSWERS, delay_s=0.03)) as provider:
        url = provider.url("anthropic")
        first = process(
            url,
            file,
            *options,
            database=database,
            ULLAGE_MACHINE="a",
            ULLAGE_LEASE_TTL_S="5",
        )
        other = process(
            url,
            file,
            *options,
            database=database,
            ULLAGE_MACHINE="b",
            ULLAGE_LEASE_TTL_S="5",
        )
        with first as driving, other as watched:
            with driving.api() as api:
                session = api.session("elsewhere")
                screen = open_page(watched.url, session)
                draft = screen.find("article.draft .prose")

                api.say(session, "Tell me at length.")
                expect(draft).to_contain_text("The cask was filled in spring")
                assert api.state(session)["held_by"].startswith("a-")
                screen.say("In short, please.")
                expect(screen.find("#queue")).to_contain_text("In short, please.")
                screen.find("#cancel").click()
                expect(screen.find("#cancel")).to_be_hidden()
                api.until(session)

                api.say(session, "Write it down.")
                screen.page.get_by_role("button", name="Allow", exact=True).click()
                expect(screen.answers().last).to_contain_text("A hand's breadth")
                assert (tmp_path / "cask.txt").read_text() == "full"
                screen.is_at_rest()

                api.say(session, "Tell me at length, again.", id="last")
                expect(draft).to_contain_text("The cask was filled in spring")
                assert api.state(session)["held_by"].startswith("a-")
            with watched.api() as api:
                driving.kill()
                assert api.until(session)["ended"] == "finished"
                messages = api.messages(session)
            screen.is_at_rest()
            expect(screen.find("#connection")).to_have_text("live")
            roles = [each["role"] for each in messages]
            expect(screen.answers()).to_have_count(roles.count("assistant"))
            assert [each["id"] for each in messages].count("last") == 1
            assert screen.refused == []


def test_a_page_says_while_it_is_open_that_a_worker_is_missing_until_there_is_one(
    tmp_path: Path, open_page: Open
) -> None:
    store = tmp_path / "s.db"
    with running(script(*ANSWERS)) as simulator:
        provider = simulator.url("anthropic")
        with serving(provider, store, dispatch=Embedded("cellar")) as server:
            session = server.api.session("placed", place="attic")
            screen = open_page(server.url, session)
            screen.say("How full is it?")
            missing = "No worker of the place attic has taken it."
            listed = screen.find(f'[data-session="{session}"]')
            expect(screen.marks(missing)).to_be_visible()
            expect(listed).to_contain_text("no worker of the place attic")
            with serving(provider, store, dispatch=Embedded("attic")):
                expect(screen.answers()).to_have_count(1)
                expect(screen.marks(missing)).to_have_count(0)
                expect(listed).to_contain_text("at attic")
                screen.is_at_rest()


def test_a_page_reads_a_session_again_whose_last_events_the_database_has_lost(
    tmp_path: Path, open_page: Open
) -> None:
    store = tmp_path / "s.db"
    with (
        running(script(*ANSWERS)) as provider,
        serving(provider.url("anthropic"), store) as server,
    ):
        session = server.api.session("lost")
        before = server.api.state(session)["seq"]
        server.api.say(session, "This will be lost.")
        server.api.until(session)
        screen = open_page(server.url, session)
        expect(screen.answers()).to_have_count(1)
        lose(str(store), session, last=before)
        server.api.say(session, "This is what remains.")
        expect(screen.find("article.user", has_text="what remains")).to_have_count(1)
        expect(screen.find("article.user")).to_have_count(1)
        expect(screen.answers()).to_have_count(1)
        screen.is_at_rest()
        said = [each["role"] for each in server.api.messages(session)]
        assert said == ["user", "assistant"]
