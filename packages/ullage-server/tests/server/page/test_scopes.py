"""The page without a token, with one that may only read, and with one that may do everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open, Screen
from tests.server.served import Local, script, serving
from ullage.store.records import FileRecords
from ullage_server.tokens import NamedTokens
from ullage_simulators import running

WRITE = {"name": "write", "arguments": {"path": "a", "content": "b"}}
CALLS = {"when": {"contains": "write", "after": "user"}, "calls": [WRITE]}
WHY = "The token “read” may not send or change anything: it lacks the scope “write”. Take a token that has it."


class Named(NamedTuple):
    """A server with a token for each scope, and a session in which a call waits for a person."""

    server: Local
    store: NamedTokens
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    place = tmp_path_factory.mktemp("named")
    store = NamedTokens(FileRecords(place))
    tokens = {
        scope: store.add(scope, (scope,), expires=None, now=0)  # type: ignore[arg-type]
        for scope in ("read", "write", "approve", "admin")
    }
    headers = {"authorization": f"Bearer {tokens['admin']}"}
    with (
        running(script(CALLS, {"text": "Yes."})) as provider,
        serving(
            provider.url("anthropic"),
            place / "s.db",
            tokens=store,
            headers=headers,
            tools=("write",),
            approve=("write",),
            root=place,
        ) as server,
    ):
        server.api.session("there")
        server.api.say("there", "Please write it down.")
        server.api.until("there", "waiting")
        yield Named(server, store, tokens)


def entered(open_page: Open, named: Named, scope: str) -> Screen:
    """The page after the token of this scope was entered."""
    screen = open_page(f"{named.server.url}/#session=there")
    screen.find("dialog input").fill(named.tokens[scope])
    screen.find("dialog input").press("Enter")
    screen.is_live()
    return screen


def test_with_a_token_that_may_read_what_it_may_not_is_disabled_and_says_why(
    named: Named, open_page: Open
) -> None:
    screen = entered(open_page, named, "read")
    expect(screen.find("#access")).to_have_text("Token “read”: read only")
    for selector in (
        "#say",
        "#send",
        "#follow-up",
        "#new",
        "#compact",
        "#compact-instructions",
    ):
        expect(screen.find(selector)).to_be_disabled()
    expect(screen.find("#say")).to_have_attribute("placeholder", WHY)
    expect(screen.find("#send")).to_have_attribute("title", WHY)
    for button in screen.find(".approval button").all():
        expect(button).to_be_disabled()
        assert "“approve”" in (button.get_attribute("title") or "")
    for button in screen.find(".message-acts button", has_text="Pin").all():
        expect(button).to_be_disabled()
    expect(screen.find(".message-acts button", has_text="Where?").first).to_be_enabled()
    screen.find("#settings-fold summary").click()
    expect(screen.find("#setting-model")).to_be_disabled()
    screen.find("#menu summary").click()
    expect(screen.find("#fork")).to_be_disabled()
    expect(screen.find("#delete")).to_be_disabled()
    expect(screen.find("#export")).to_be_enabled()
    screen.page.keyboard.press("Escape")
    screen.press("n")
    expect(screen.find("#notices")).to_contain_text("lacks the scope “write”")
    assert set(screen.refused) == {401}


def test_a_token_that_approves_can_answer_alone(named: Named, open_page: Open) -> None:
    screen = entered(open_page, named, "approve")
    expect(screen.find("#access")).to_have_text("Token “approve”: read only")
    expect(screen.find("#send")).to_be_disabled()
    expect(screen.find(".approval button").first).to_be_enabled()


def test_another_token_gives_the_controls_back(named: Named, open_page: Open) -> None:
    short = named.store.add("short", ("read",), expires=None, now=0)
    screen = open_page(f"{named.server.url}/#session=there")
    screen.find("dialog input").fill(short)
    screen.find("dialog input").press("Enter")
    screen.is_live()
    expect(screen.find("#send")).to_be_disabled()
    named.store.revoke("short")
    expect(screen.find("dialog")).to_contain_text("does not take this token")
    screen.find("dialog input").fill(named.tokens["write"])
    screen.find("dialog input").press("Enter")
    expect(screen.find("#send")).to_be_enabled()
    expect(screen.find("#say")).to_have_attribute("placeholder", "Message")
    expect(screen.find("#access")).to_have_text("Token “write”: without approve, admin")
    assert (
        short not in screen.page.content()
        and named.tokens["write"] not in screen.page.content()
    )
