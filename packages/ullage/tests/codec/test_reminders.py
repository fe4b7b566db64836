"""What a program writes into its user's messages has rows of its own."""

import pytest

from ullage.codec.bodies import read_body
from ullage.codec.reminders import reminder_name, words_of_person
from ullage.messages import TextPart
from ullage.meter.meter import Meter

SKILLS = "<system-reminder>\nThe following skills are available for use.\n- x: a skill\n</system-reminder>"
CODEX = "<environment_context>\n  <cwd>/home/ada</cwd>\n</environment_context>"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (SKILLS, "skill listing"),
        (
            "<system-reminder>\nCodebase and user instructions are shown below.\n",
            "instructions",
        ),
        ("<system-reminder>\nRemember the milk.\n</system-reminder>", "reminder"),
        (CODEX, "environment"),
        ("<session_context>\nThis is the Gemini CLI.", "environment"),
        ("# AGENTS.md instructions for /home/ada", "instructions"),
        ("Write a <system-reminder> for me.", ""),
        ("# A heading of my own", ""),
        ("", ""),
    ],
)
def test_a_reminder_is_told_by_how_its_text_begins(text: str, name: str) -> None:
    assert reminder_name(text) == name


def test_what_the_program_writes_in_the_middle_of_a_conversation_needs_no_tag() -> None:
    assert reminder_name("Available agent types:\n- a", is_note=True) == "agent listing"
    assert reminder_name("Be brief.", is_note=True) == "reminder"


def test_reminders_and_what_the_user_wrote_have_rows_of_their_own() -> None:
    content = [
        {"type": "text", "text": SKILLS},
        {"type": "text", "text": "Hello, are you there?"},
    ]
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": content}],
    }
    messages = Meter("claude-haiku-4-5").before(body).rows[-1]
    found = {
        row.name: [child.name for child in row.children] for row in messages.children
    }
    assert found["Reminders"] == ["skill listing"]
    assert found["You"] == []


def test_an_answer_has_no_reminders() -> None:
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "Show me one."},
            {"role": "assistant", "content": SKILLS},
        ],
    }
    answer = read_body(body).messages[1]
    assert [part.name for part in answer.of_type(TextPart)] == [""]


def test_the_time_that_a_program_puts_before_a_prompt_is_none_of_its_words() -> None:
    dated = "<current_datetime>2026-11-23T10:00:00Z</current_datetime>\n\nList the casks."
    assert words_of_person(dated) == "List the casks."
    for whole in ("List.", "<current_datetime>", "", "See <current_datetime>x"):
        assert words_of_person(whole) == whole
