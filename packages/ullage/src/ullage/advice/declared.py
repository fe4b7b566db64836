"""Tools that are declared in every request and were never called."""

from __future__ import annotations

from typing import Final

from ullage.advice.held import TOOLS
from ullage.advice.lives import ItemLife
from ullage.advice.savings import SavedShare
from ullage.advice.suggestion import (
    AdviceInput,
    Suggestion,
    largest_names,
    name_of,
    plural,
)
from ullage.advice.tool_calls import server_of
from ullage.meter.shares import SYSTEM_ROWS

FEWEST_REQUESTS: Final = 8
"""Requests after which a tool that was never called counts as unused."""

_LISTINGS: Final = {
    "skill listing": frozenset({"Skill"}),
    "agent listing": frozenset({"Agent", "Task"}),
    SYSTEM_ROWS["skills"]: frozenset({"Skill"}),
    SYSTEM_ROWS["agents"]: frozenset({"Agent", "Task"}),
}
"""Lists of what a tool can be called for, by label or row, and the names of that tool (Claude Code)."""


def unused_listings(given: AdviceInput) -> list[Suggestion]:
    """Lists of skills and of agents of which none was used. What of a list can be turned off is not known."""
    called = given.called
    found: list[Suggestion] = []
    for place, item in enumerate(given.history.items):
        names = _LISTINGS.get(item.label) or _LISTINGS.get(item.category)
        if not names or names & called or item.last_call is not None:
            continue
        calls = given.costs.calls_of(item)
        if calls < FEWEST_REQUESTS:
            continue
        shares = (SavedShare(place, low=0.0),)
        what = name_of(item).lower()
        suggestion = Suggestion(
            kind="unused_listing",
            title=f"Nothing of the {what} was used",
            text=f"in each of {plural(calls, 'request')}",
            how=given.remedy("listing"),
            items=shares,
            saving=given.costs.saving(shares),
            number=1,
        )
        found.append(suggestion)
    return found


def unused_tools(given: AdviceInput) -> list[Suggestion]:
    """One suggestion for each MCP server that was never called, and one for all other tools that were not."""
    called = given.called
    servers: dict[str, list[int]] = {}
    used_servers: set[str] = set()
    for place, item in enumerate(given.history.items):
        if item.category != TOOLS or not item.tool or item.last_call is not None:
            continue
        server = item.server or server_of(item.tool)
        if item.tool in called:
            used_servers.add(server)
        elif given.costs.calls_of(item) >= FEWEST_REQUESTS:
            servers.setdefault(server, []).append(place)
    found: list[Suggestion] = []
    others: list[int] = []
    for server, places in servers.items():
        if not server or server in used_servers:
            others += places
        else:
            found.append(_unused_server(given, server, places))
    if others:
        found.append(_unused_others(given, others))
    return found


def _unused_server(
    given: AdviceInput,
    server: str,
    places: list[int],
) -> Suggestion:
    shares = [SavedShare(place) for place in places]
    tools = plural(len(places), "tool")
    calls = _calls(given, places)
    return Suggestion(
        kind="unused_server",
        title=f"MCP server {server} was never called",
        text=f"{tools} in each of {plural(calls, 'request')}",
        how=given.remedy("server", server),
        items=tuple(shares),
        saving=given.costs.saving(shares),
        number=len(places),
    )


def _unused_others(given: AdviceInput, places: list[int]) -> Suggestion:
    shares = [SavedShare(place) for place in places]
    items: list[ItemLife] = []
    for place in places:
        items.append(given.item(place))
    return Suggestion(
        kind="unused_tools",
        title=f"{plural(len(places), 'tool was', 'tools were')} never called",
        text=largest_names(items),
        how=given.remedy("tools"),
        items=tuple(shares),
        saving=given.costs.saving(shares),
        number=len(places),
    )


def _calls(given: AdviceInput, places: list[int]) -> int:
    most = 0
    for place in places:
        most = max(most, given.costs.calls_of(given.item(place)))
    return most
