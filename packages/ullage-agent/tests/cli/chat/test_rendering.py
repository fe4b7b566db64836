from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ullage.cli.screenplay import (
    AnswerEntry,
    ChatEntry,
    MessageEntry,
    ReasoningEntry,
    ToolCallEntry,
)
from ullage.display.text import plain
from ullage_agent.chat.rendering import (
    FOLDED_LINES,
    ScreenRow,
    blocks,
    details_of,
    plain_rows,
    rows_of,
)

TEXTS = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from("\x1b\x00\x9b\t\n\r *_`#[]()|>-\u202e漢🙂")
    ),
    max_size=300,
)


def lines(rows: list[ScreenRow]) -> list[str]:
    return ["".join(segment.text for segment in row) for row in rows]


def entries(text: str) -> list[ChatEntry]:
    return [
        MessageEntry(text=text, message="m"),
        AnswerEntry(text=text, part="p"),
        AnswerEntry(text=text, part="p", is_open=True),
        ReasoningEntry(text=text, part="p", is_open=True),
        ReasoningEntry(text=text, part="p"),
        ToolCallEntry(
            name=text[:20], arguments=json.dumps({"path": text}), call_id="c", result=text
        ),
        ToolCallEntry(
            name="edit",
            arguments=json.dumps({"path": "a", "old": text, "new": text}),
            call_id="c",
        ),
        ToolCallEntry(name="x", arguments=text, call_id="c", is_open=True),
    ]


@given(TEXTS, st.integers(12, 120), st.booleans())
def test_whatever_is_said_fills_lines_of_the_width_and_holds_no_control(
    text: str, width: int, unfolded: bool
) -> None:
    for entry in entries(text):
        for line in lines(rows_of(entry, width, unfolded=unfolded)):
            assert all(char.isprintable() or char in "\u200c\u200d" for char in line), (
                repr(line)
            )
            assert cell_len(line) <= width, (entry, line)


@given(st.text(alphabet="ab \n漢", max_size=200), st.integers(4, 40))
def test_a_text_broken_into_lines_loses_only_line_ends(text: str, width: int) -> None:
    assert "".join(lines(plain_rows(text, width, ""))) == text.replace("\n", "")


@given(
    st.lists(
        st.sampled_from(["# head", "", "text " * 30, "```", "code", "- item", "~~~"]),
        max_size=400,
    )
)
def test_blocks_of_markdown_are_the_text_and_no_fence_is_cut(parts: list[str]) -> None:
    text = "\n".join(parts)
    pieces = blocks(text)
    assert "\n".join(pieces) == text or not text


def test_markdown_is_drawn() -> None:
    text = "# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n\n```python\nx = 1\n```\n\n"
    text += "| a | b |\n|---|---|\n| 1 | 2 |"
    rows = rows_of(AnswerEntry(text=text, part="p"), 60)
    shown = "\n".join(lines(rows))
    assert "**" not in shown and "```" not in shown and "|" not in shown
    assert "Title" in shown and "• one" in shown and "x = 1" in shown
    bold = [
        segment.text
        for row in rows
        for segment in row
        if segment.style and segment.style.bold
    ]
    assert "bold" in bold


def test_a_link_shows_its_address_and_is_none_of_the_terminals() -> None:
    rows = rows_of(AnswerEntry(text="[click](https://evil.example)", part="p"), 60)
    assert "https://evil.example" in "".join(lines(rows))
    assert not any(
        segment.style and segment.style.link for row in rows for segment in row
    )


@pytest.mark.parametrize("size", [5_000_000])
def test_five_megabytes_are_cut_with_a_note_that_says_how_much(size: int) -> None:
    for entry in (
        AnswerEntry(text="x" * size, part="p"),
        MessageEntry(text="y\n" * (size // 2), message="m"),
    ):
        rows = rows_of(entry, 80)
        assert len(rows) < 1_000
        assert "more characters" in lines(rows)[-1]
    called = rows_of(
        ToolCallEntry(
            name="shell", arguments="{}", call_id="c", result="z\n" * (size // 2)
        ),
        80,
    )
    assert len(called) < 20


def test_a_long_result_is_folded_and_unfolds() -> None:
    entry = ToolCallEntry(
        name="read",
        arguments='{"path": "a"}',
        call_id="c",
        result="\n".join(map(str, range(50))),
    )
    folded, unfolded = lines(rows_of(entry, 80)), lines(rows_of(entry, 80, unfolded=True))
    assert folded[-1].strip() == f"… {50 - FOLDED_LINES} more lines, Ctrl+O unfolds"
    assert unfolded[-1].strip() == "49"


def test_reasoning_is_one_line_until_it_is_unfolded() -> None:
    entry = ReasoningEntry(text="First this. " * 40, part="p")
    assert len(rows_of(entry, 80)) == 2
    assert len(rows_of(entry, 80, unfolded=True)) > 5
    found = lines(rows_of(ReasoningEntry(text="", part="p", hidden=900), 80))[1]
    assert "not shown by the provider" in found


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        (
            ToolCallEntry(name="a", arguments="{}", call_id="c", asks=True),
            "needs your approval",
        ),
        (
            ToolCallEntry(name="a", arguments="{}", call_id="c", is_running=True),
            "running",
        ),
        (
            ToolCallEntry(name="a", arguments="{", call_id="c", is_open=True),
            "being written",
        ),
        (
            ToolCallEntry(
                name="a", arguments="{}", call_id="c", outcome="unknown", result="?"
            ),
            "outcome unknown",
        ),
        (
            ToolCallEntry(
                name="a", arguments="{}", call_id="c", outcome="denied", result="no"
            ),
            "not allowed",
        ),
    ],
)
def test_a_call_says_how_far_it_is(entry: ToolCallEntry, word: str) -> None:
    assert word in lines(rows_of(entry, 80))[1]


def test_details_are_the_change_that_a_call_would_make() -> None:
    def details(name: str, **arguments: object) -> list[str]:
        return [
            plain(line)
            for line in details_of(
                ToolCallEntry(name=name, arguments=json.dumps(arguments), call_id="c")
            )
        ]

    assert details("edit", path="a", old="x", new="y\nz") == ["- x", "+ y", "+ z"]
    assert details("write", path="a", content="one\ntwo") == ["+ one", "+ two"]
    assert details("shell", command="ls", n=3) == ["command: ls", "n: 3"]
    assert [
        plain(line)
        for line in details_of(ToolCallEntry(name="a", arguments="{torn", call_id="c"))
    ] == ["{torn"]


def test_why_the_sandbox_refused_a_command_is_shown_though_the_result_is_folded() -> None:
    note = (
        "[repositories (.git) are read-only in the sandbox: a person can run that git command, or open it to commands "
        'with sandbox_write = ["/home/me/work/kettle/.git"] in their own ullage.toml]'
    )
    result = note + "\n" + "a file\n" * 50 + "[exit code 128]"
    rows = lines(
        rows_of(
            ToolCallEntry(
                name="shell", arguments="{}", call_id="c", result=result, is_error=True
            ),
            80,
        )
    )
    found = " ".join(line.strip() for line in rows)
    assert 'sandbox_write = ["/home/me/work/kettle/.git"]' in found
