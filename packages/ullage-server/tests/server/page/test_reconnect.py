"""The connection breaks, the server goes and comes back: the page goes on where it was."""

from __future__ import annotations

import socket
from pathlib import Path

from playwright.sync_api import expect

from tests.server.page.cable import Cable
from tests.server.page.screen import Open
from tests.server.served import process, script
from ullage_simulators import running

ANSWERS = (
    {
        "when": {"contains": "at length"},
        "text": "The cask was filled in spring, and then it stood. " * 200,
    },
    {"text": "A hand's breadth of air stands over the wine."},
)


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_page_goes_on_after_a_server_s_kill(tmp_path: Path, open_page: Open) -> None:
    port, store = free_port(), tmp_path / "sessions.db"
    with running(script(*ANSWERS, delay_s=0.03)) as provider:
        with (
            process(provider.url("anthropic"), store, port=port) as first,
            first.api() as api,
        ):
            screen = open_page(first.url, api.session("restarted"))
            screen.say("Hello.")
            expect(screen.answers()).to_have_count(1)
            screen.say("Tell me at length.")
            told = screen.find(
                "article.assistant .prose"
            ).last  # a busy page draws it late
            expect(told).to_contain_text("The cask was filled in spring")
            first.kill()
        expect(screen.find("#connection")).to_have_text("connection lost, trying again")
        screen.say("Are you there?")
        expect(screen.find("#queue .unsent")).to_contain_text("Are you there?")
        with (
            process(provider.url("anthropic"), store, port=port) as second,
            second.api() as api,
        ):
            expect(screen.find("#connection")).to_have_text("live")
            expect(screen.find("article.user", has_text="Are you there?")).to_have_count(
                1
            )
            api.until("restarted")
            screen.is_at_rest()
            expect(screen.find("#waiting")).to_be_hidden()
            in_view = api.messages("restarted")
            said = [
                one
                for one in in_view
                if one["role"] == "user" and one.get("origin", "said") == "said"
            ]
            assert len(said) == 3
            expect(screen.find("article.user")).to_have_count(3)
            expect(screen.answers()).to_have_count(
                sum(one["role"] == "assistant" for one in in_view)
            )
            reading = api.get("/v1/sessions/restarted/context").json()
            expect(screen.find(".meter")).to_have_attribute(
                "data-snapshot", reading["snapshot_id"]
            )


def test_a_page_sees_another_server_finish(tmp_path: Path, open_page: Open) -> None:
    store = tmp_path / "sessions.db"
    with running(script(*ANSWERS, delay_s=0.03)) as provider:
        url = provider.url("anthropic")
        first = process(url, store, ULLAGE_MACHINE="a", ULLAGE_LEASE_TTL_S="1")
        other = process(url, store, ULLAGE_MACHINE="b", ULLAGE_LEASE_TTL_S="1")
        with first as killed, other as survivor:
            with killed.api() as api:
                session = api.session("moved")
                screen = open_page(survivor.url, session)
                expect(screen.find("#connection")).to_have_text("live")
                api.say(session, "Tell me at length.")
            told = screen.find("article.assistant .prose")
            expect(told).to_contain_text("The cask was filled in spring")
            killed.kill()
            with survivor.api() as api:
                assert api.until(session)["ended"] == "finished"
                said = [one["role"] for one in api.messages(session)]
            screen.is_at_rest()
            expect(screen.find("#connection")).to_have_text("live")
            expect(screen.answers()).to_have_count(said.count("assistant"))
            expect(screen.find("article.user").first).to_contain_text("at length")


def test_a_breaking_stream_shows_nothing_twice(tmp_path: Path, open_page: Open) -> None:
    with (
        running(script(*ANSWERS, delay_s=0.03)) as provider,
        process(provider.url("anthropic"), tmp_path / "sessions.db") as server,
        server.api() as api,
        Cable(server.url) as cable,
    ):
        screen = open_page(cable.url, api.session("broken"))
        screen.say("Tell me at length.")
        told = screen.find("article.assistant .prose")  # whole, where four cuts take long
        for _ in range(4):
            expect(told).to_contain_text("The cask was filled in spring")
            cable.cut()
            expect(screen.find("#connection")).not_to_have_text("live")
            cable.mend()
            expect(screen.find("#connection")).to_have_text("live")
        api.until("broken")
        expect(screen.answers()).to_have_count(1)
        (answer,) = [
            message
            for message in api.messages("broken")
            if message["role"] == "assistant"
        ]
        found = screen.answers().locator(".prose").inner_text().strip()
        assert found == answer["parts"][0]["text"].strip()
