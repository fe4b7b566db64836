"""A search finds the tool that is meant, and never more than a few."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.context.policy import MOST_FOUND, SEARCHED_CHARACTERS, SEARCHED_PARAMETERS
from ullage.context.tool_search import find, words
from ullage.messages import Tool


def tool(name: str, description: str = "", *parameters: str) -> Tool:
    schema = {"type": "object", "properties": {each: {} for each in parameters}}
    raw = msgspec.Raw(json.dumps(schema).encode())
    return Tool(name=name, description=description, schema=raw)


TOOLS = (
    tool("github__create_issue", "Create a new issue in a repository.", "title", "body"),
    tool("github__list_issues", "List the issues of a repository.", "state", "labels"),
    tool("github__search_code", "Search for code in all repositories.", "query"),
    tool("github__merge_pull_request", "Merge a pull request.", "number"),
    tool("slack__postMessage", "Send a message to a channel.", "channel", "text"),
    tool("slack__listChannels", "List the channels of the workspace."),
    tool("fs__read_file", "The text of a file.", "path", "encoding"),
    tool("fs__write_file", "Give a file a new text.", "path", "content"),
    tool("fs__directory_tree", "All names below a directory, nested.", "path"),
    tool("db__query", "Run SQL on the warehouse and return rows.", "sql", "timezone"),
    tool("weather__forecast", "The weather of the next days.", "city", "days"),
    tool("calendar__create_event", "Add a meeting.", "attendees", "start", "end"),
)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("create an issue", "github__create_issue"),
        ("list open issues", "github__list_issues"),
        ("issue list", "github__list_issues"),
        ("merge PR pull request", "github__merge_pull_request"),
        ("send a message to slack", "slack__postMessage"),
        ("post message", "slack__postMessage"),
        ("channels", "slack__listChannels"),
        ("read files", "fs__read_file"),
        ("write to a file", "fs__write_file"),
        ("directories", "fs__directory_tree"),
        ("dir", "fs__directory_tree"),
        ("SQL", "db__query"),
        ("weather", "weather__forecast"),
        ("temperature city days", "weather__forecast"),
        ("timezone", "db__query"),
        ("meeting with attendees", "calendar__create_event"),
        ("repo code search", "github__search_code"),
        ("db__query", "db__query"),
    ],
)
def test_the_tool_that_is_meant_comes_first(query: str, best: str) -> None:
    assert find(query, TOOLS)[0].name == best


def test_names_find_exactly_the_named_tools() -> None:
    found = find("select:fs__read_file, db__query", TOOLS)
    assert [each.name for each in found] == ["fs__read_file", "db__query"]


def test_a_query_that_matches_nothing_finds_nothing() -> None:
    assert find("zebra", TOOLS) == []
    assert find("", TOOLS) == []
    assert find("?!", TOOLS) == []
    assert find("anything", ()) == []


def test_a_weak_match_is_left_out_beside_a_strong_one() -> None:
    assert [each.name for each in find("weather forecast", TOOLS)] == [
        "weather__forecast"
    ]


@given(st.text(max_size=80), st.lists(st.builds(tool, st.text(), st.text()), max_size=12))
def test_any_query_finds_few_of_the_given_tools(query: str, tools: list[Tool]) -> None:
    found = find(query, tools)
    assert len(found) <= MOST_FOUND
    assert all(each in tools for each in found)
    assert find(query, tools) == found


def test_words_are_taken_out_of_names_and_lose_their_plural() -> None:
    assert words("listOpenIssues") == ["list", "open", "issue"]
    assert words("HTTPServer_status queries boxes") == [
        "http", "server", "status", "query", "box"
    ]  # fmt: skip


def test_of_a_huge_declaration_only_the_beginning_is_searched() -> None:
    parameters = [f"field{number}" for number in range(SEARCHED_PARAMETERS)]
    description = "amphora " + "x " * SEARCHED_CHARACTERS + "cellar"
    huge = tool("huge", description, *parameters, "shelf")
    assert find("amphora", [huge]) == find("field1", [huge]) == [huge]
    assert find("cellar", [huge]) == find("shelf", [huge]) == []
