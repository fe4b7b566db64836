from typing import Any

import pytest

from tests.importers.folding import text_of
from ullage.events import SystemChanged, ToolsChanged
from ullage.importers.rows import EventWriter
from ullage_programs.claude_code.log_attachments import Attachments


def read(
    attachment: dict[str, Any], rendered: str = ""
) -> tuple[str | None, EventWriter]:
    rows = EventWriter("s")
    entry: dict[str, Any] = {"attachment": attachment}
    if rendered:
        entry["rendered"] = [{"content": rendered}]
    message = Attachments(rows).read(entry, "m")
    return (None if message is None else f"{message.origin}: {text_of(message)}"), rows


@pytest.mark.parametrize(
    ("attachment", "text"),
    [
        (
            {"type": "edited_text_file", "filename": "a.py", "snippet": "1 x"},
            "injected: a.py\n1 x",
        ),
        (
            {"type": "file", "content": {"type": "text", "file": {"content": "body"}}},
            "injected: body",
        ),
        (
            {"type": "hook_additional_context", "content": ["one", "two"]},
            "injected: one\ntwo",
        ),
        ({"type": "queued_command", "prompt": "hurry"}, "said: hurry"),
        (
            {"type": "queued_command", "prompt": [{"type": "text", "text": "hurry"}]},
            "said: hurry",
        ),
        ({"type": "hook_success", "content": "shown only"}, None),
        ({"type": "hologram", "content": "unknown"}, None),
        ({}, None),
    ],
)
def test_an_older_attachment(attachment: dict[str, Any], text: str | None) -> None:
    assert read(attachment)[0] == text


def test_the_text_as_it_was_sent_goes_before_the_attachments_own() -> None:
    assert read({"type": "hologram"}, "sent")[0] == "injected: sent"
    assert (
        read({"type": "file", "content": {"content": "own"}}, "sent")[0]
        == "injected: sent"
    )


def test_memory_agents_and_instructions_are_rows_of_the_system_prompt() -> None:
    rows = EventWriter("s")
    attachments = Attachments(rows)
    for attachment in (
        {
            "type": "nested_memory",
            "displayPath": "a/CLAUDE.md",
            "content": {"content": "old"},
        },
        {"type": "agent_listing_delta", "addedLines": ["- explorer: looks"]},
        {
            "type": "nested_memory",
            "displayPath": "a/CLAUDE.md",
            "content": {"content": "new"},
        },
    ):
        assert attachments.read({"attachment": attachment}, "m") is None
    assert [(block.kind, block.name, block.text) for block in rows.system] == [
        ("agents", "", "- explorer: looks"),
        ("memory", "a/CLAUDE.md", "new"),
    ]


def test_deferred_tools_come_and_go() -> None:
    rows = EventWriter("s")
    attachments = Attachments(rows)
    attachments.read(
        {
            "attachment": {
                "type": "deferred_tools_delta",
                "addedNames": ["mcp__a__x", "B"],
            }
        },
        "m",
    )
    change = {
        "type": "deferred_tools_delta",
        "addedNames": ["B", "C"],
        "removedNames": ["mcp__a__x"],
    }
    attachments.read({"attachment": change}, "m")
    assert [(tool.name, tool.deferred) for tool in rows.tools] == [
        ("B", True),
        ("C", True),
    ]
    snapshot = {
        "type": "prompt_snapshot",
        "systemPrompt": "p",
        "tools": [{"name": "B", "input_schema": {}}],
    }
    attachments.read({"attachment": snapshot}, "m")
    assert [(tool.name, tool.deferred) for tool in rows.tools] == [
        ("B", False),
        ("C", True),
    ]


def test_what_a_logged_request_sent_wins_over_what_it_was_made_from() -> None:
    """2.1.332 writes the declarations of a request once more, twice as long as they were sent."""
    rows = EventWriter("s")
    attachments = Attachments(rows)
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    sent = {"name": "Read", "description": "Reads.", "input_schema": schema}
    made_from = {"name": "Read", "description": "Reads a file.", "schema": schema}
    snapshot = {"type": "prompt_snapshot", "systemPrompt": ["Be."], "tools": [made_from]}
    attachments.read({"attachment": snapshot}, "m")
    assert rows.tools[0].description == "Reads a file."
    assert b"path" in bytes(rows.tools[0].schema)
    shape = {"system": [{"type": "text", "text": "Be."}], "tools": [sent]}
    attachments.read_shape(shape)
    attachments.read({"attachment": snapshot}, "m")
    assert rows.tools[0].description == "Reads."


def test_a_whole_list_after_a_compaction_takes_the_place_of_the_earlier_one() -> None:
    rows = EventWriter("s")
    attachments = Attachments(rows)
    for text, initial in (("- tidy", True), ("- mend", False), ("- both", True)):
        listing = {"type": "skill_listing", "content": text, "isInitial": initial}
        attachments.read({"attachment": listing}, "m")
    assert [(block.kind, block.text) for block in rows.system] == [("skills", "- both")]


def test_an_attached_file_has_the_number_of_each_line_and_its_path() -> None:
    file = {"filePath": "/cellar/rack.txt", "content": "red\nwhite", "startLine": 8}
    text, _ = read({"type": "file", "content": {"type": "text", "file": file}})
    assert text is not None
    assert '{"file_path":"/cellar/rack.txt"}' in text
    assert "8\tred\n9\twhite" in text


def test_skills_that_a_compaction_attaches_again_count_with_their_texts() -> None:
    skills = [{"name": "tidy", "path": "user:tidy", "content": "Sweep."}, 7]
    text, _ = read({"type": "invoked_skills", "skills": skills})
    assert text == "injected: tidy\nuser:tidy\nSweep."


def test_lists_of_skills_and_names_of_tools_leave_the_prompt_itself_unsaid() -> None:
    rows = EventWriter("s", unlogged=("system", "tools"))
    attachments = Attachments(rows)
    skills = {"type": "skill_listing", "content": "- tidy"}
    names = {"type": "deferred_tools_delta", "addedNames": ["Weigh"]}
    shown = {
        "type": "prompt_snapshot",
        "systemPrompt": "# Rules",
        "tools": [{"name": "B"}],
    }
    for attachment in (skills, names, shown, {**skills, "content": "- mend"}):
        attachments.read({"attachment": attachment}, "m")
    said = [
        (type(event).__name__, event.is_part)
        for event in rows.take(final=True)
        if isinstance(event, SystemChanged | ToolsChanged)
    ]
    assert said == [
        ("SystemChanged", True),
        ("ToolsChanged", True),
        ("SystemChanged", False),
        ("ToolsChanged", False),
        ("SystemChanged", False),
    ]
