"""Links to a session, and who said and approved what: several people with tokens of their own, and one with a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from tests.server.page.screen import Open, Screen
from tests.server.page.test_axe import note, violations
from tests.server.served import Local, script, serving
from ullage.store.records import FileRecords
from ullage_server.tokens import LINKS, NamedTokens
from ullage_simulators import running

CALLS = {
    "when": {"contains": "note", "after": "user"},
    "calls": [{"name": "note", "arguments": {"text": "wine"}}],
}


class Team(NamedTuple):
    server: Local
    tokens: dict[str, str]
    links: NamedTokens


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    place = tmp_path_factory.mktemp("team")
    store = NamedTokens(FileRecords(place))
    tokens = {
        name: store.add(name, ("admin",), expires=None, now=0) for name in ("ada", "ben")
    }
    headers = {"authorization": f"Bearer {tokens['ada']}"}
    with (
        running(script(CALLS, {"text": "Done."})) as provider,
        serving(
            provider.url("anthropic"),
            place / "s.db",
            tokens=store,
            headers=headers,
            tools=[note],
            approve=["note"],
        ) as server,
    ):
        server.api.session("other")
        yield Team(server, tokens, NamedTokens(FileRecords(place), LINKS))


def entered(open_page: Open, team: Team, who: str, session: str) -> Screen:
    """The page at a session's link, after this person's token was entered."""
    screen = open_page(f"{team.server.url}/#session={session}")
    screen.find("dialog input").fill(team.tokens[who])
    screen.find("dialog input").press("Enter")
    screen.is_live()
    return screen


def asked(team: Team, name: str) -> str:
    """A session in which Ada has asked for something that needs approval."""
    team.server.api.session(name)
    team.server.api.say(name, "Please note it.")
    team.server.api.until(name, "waiting")
    return name


def shared(screen: Screen) -> str:
    """A read-only link to the session that is shown, made in the menu."""
    screen.find("#menu summary").click()
    screen.find("#share").click()
    screen.find("dialog").get_by_role("button", name="Make a link").click()
    link = screen.find("dialog").get_by_label("The link", exact=True)
    expect(link).to_have_value(re.compile("#session=.*&token=ullage_"))
    expect(screen.find("dialog")).to_contain_text("It works until")
    return link.input_value()


def test_a_message_and_an_approval_have_names(team: Team, open_page: Open) -> None:
    ben = entered(open_page, team, "ben", asked(team, "named"))
    expect(ben.find("#subtitle")).to_contain_text("named")
    expect(ben.find("article.user .who")).to_have_text("ada")
    ben.page.get_by_role("button", name="Allow", exact=True).click()
    expect(ben.answers().last).to_contain_text("Done.")
    tag = ".fold.tool .tag"
    expect(ben.find(tag)).to_have_text("allowed by you")
    ada = entered(open_page, team, "ada", "named")
    expect(ada.find("article.user .who")).to_have_text("You")
    expect(ada.find(tag)).to_have_text("allowed by ben")


def test_a_link_to_a_session_is_copied(team: Team, open_page: Open) -> None:
    screen = entered(open_page, team, "ada", asked(team, "copied"))
    screen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    screen.find("#menu summary").click()
    screen.find("#link").click()
    expect(screen.find("#notices")).to_contain_text("The link is copied.")
    copied = screen.page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{team.server.url}/#session=copied"


def test_who_has_a_read_only_link_sees_one_session_live(
    team: Team, open_page: Open
) -> None:
    owner = entered(open_page, team, "ada", asked(team, "shown"))
    link = shared(owner)
    reader = open_page(link, viewport={"width": 1000, "height": 800})
    reader.is_live()
    assert "token" not in reader.page.url
    expect(reader.find("#shared")).to_contain_text(
        "Read-only: you see this session live until"
    )
    expect(reader.find("#activity")).to_have_text("needs approval")
    expect(reader.find("article.user .who")).to_have_text("ada")
    for gone in ("#sessions", "#composer", "#menu", "#new", "#compact", "dialog"):
        expect(reader.find(gone)).to_be_hidden()
    for button in reader.find(".approval button").all():
        expect(button).to_be_disabled()
    assert violations(reader) == []
    owner.page.keyboard.press("Escape")
    owner.page.get_by_role("button", name="Allow", exact=True).click()
    expect(reader.answers().last).to_contain_text("Done.")
    reader.page.reload()
    reader.is_live()
    expect(reader.find("#sessions")).to_be_hidden()
    reader.page.goto(f"{team.server.url}/#session=other")
    expect(reader.find("#title")).to_have_text("Please note it.")
    assert reader.refused == []


def test_a_link_that_has_ended_says_so(team: Team, open_page: Open) -> None:
    owner = entered(open_page, team, "ada", asked(team, "ended"))
    link = shared(owner)
    reader = open_page(link)
    reader.is_live()
    (record,) = [each for each in team.links.read() or () if each.session == "ended"]
    team.links.revoke(record.name)
    over = (
        "This read-only link works no longer. Ask the person who sent it for a new one."
    )
    expect(reader.find("#shared")).to_have_text(over)
    late = open_page(link)
    expect(late.find("#shared")).to_have_text(over)
    expect(late.find("dialog")).to_be_hidden()
    expect(late.find("#sessions")).to_be_hidden()
    for screen in (reader, late):
        assert set(screen.refused) == {401}
