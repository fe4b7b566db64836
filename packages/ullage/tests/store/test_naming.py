"""The title of a session in a list."""

from __future__ import annotations

import pytest

from ullage.events import CallStarted, Event, MessageAdded, Renamed, SessionStarted
from ullage.messages import Message, Role, TextPart
from ullage.store.naming import naming


def said(role: Role, text: str) -> MessageAdded:
    part = TextPart(id="p", text=text)
    return MessageAdded(message=Message(id=text, role=role, parts=(part,)))


TITLE = "Rename the function."
CALL = CallStarted(call="c1")
EXAMPLES = (said("user", "Add two numbers."), said("assistant", "Like this."))
TASK = said("user", TITLE)


@pytest.mark.parametrize(
    ("events", "title"),
    [
        ((TASK, CALL), TITLE),
        ((TASK, CALL, said("assistant", "Done."), said("user", "Thanks.")), TITLE),
        ((*EXAMPLES, TASK, CALL, said("assistant", "Done."), EXAMPLES[0], CALL), TITLE),
        ((*EXAMPLES, TASK), "Add two numbers."),
        ((SessionStarted(title="Mine"), *EXAMPLES, TASK, CALL), "Mine"),
        ((*EXAMPLES, TASK, CALL, Renamed(title="Mine")), "Mine"),
    ],
)
def test_a_title_is_what_a_person_said_behind_the_examples(
    events: tuple[Event, ...], title: str
) -> None:
    assert naming("", "", events) == (title, "")
