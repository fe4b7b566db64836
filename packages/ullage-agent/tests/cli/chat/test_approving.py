from __future__ import annotations

import json

import pytest

from ullage.display.text import plain
from ullage_agent.chat.approving import Approving
from ullage_agent.runtime.approvals import Question
from ullage_agent.tools.call_text import call_lines

WIDTH, HEIGHT = 78, 14
LONG = "\n".join([*(f"echo {number}" for number in range(199)), "touch hidden"])


def question(
    name: str = "shell",
    call_id: str = "t",
    offer: tuple[str, ...] | None = None,
    **arguments: object,
) -> Question:
    said = json.dumps(arguments)
    return Question(
        call_id=call_id,
        name=name,
        digest=f"{name}{said}",
        lines=call_lines(name, said),
        offer=offer,
    )


def words(
    approving: Approving,
    width: int = WIDTH,
    height: int = HEIGHT,
    *,
    is_typing: bool = False,
) -> str:
    return "\n".join(
        plain(line) for line in approving.lines(width, height, is_typing=is_typing)
    )


def asking(*asked: Question) -> Approving:
    approving = Approving()
    approving.take(asked)
    return approving


def test_a_call_that_fits_is_shown_whole_and_a_yes_counts() -> None:
    command = "git status --short && git log --oneline -5 && git diff --stat HEAD~1 -- src; touch hidden-here"
    approving = asking(question(command=command))
    text = words(approving)
    assert text.startswith("Allow? shell")
    assert command in text.replace("\n    ", "")
    assert "y yes · n no · Esc cancels the turn" in text
    assert approving.act("y") == "approve"


def test_a_yes_to_a_long_call_counts_only_once_its_end_was_on_the_screen() -> None:
    approving = asking(question(command=LONG, offer=None))
    first = words(approving)
    assert "touch hidden" not in first
    assert "not read yet: Page Down reads on" in first
    assert approving.act("y") == ""
    assert "read the call to its end first" in words(approving)
    assert approving.act("n") == "refuse"
    for _ in range(60):
        approving.scroll("pagedown")
    last = words(approving)
    assert "touch hidden" in last
    assert "all read" in last
    assert "read the call to its end first" not in last
    assert approving.act("y") == "approve"


@pytest.mark.parametrize(
    "keys", [["pagedown"] * 60, ["down"] * 300, ["end", *["pagedown"] * 60]]
)
def test_every_line_was_on_the_screen_when_a_yes_counts(keys: list[str]) -> None:
    approving = asking(question(command=LONG))
    seen = words(approving)
    for key in keys:
        if approving.is_read:
            break
        approving.scroll(key)
        seen += words(approving)
    assert approving.is_read
    assert all(f"| echo {number}" in seen for number in range(199))


def test_another_width_is_read_anew() -> None:
    approving = asking(question(command="x" * 2_000))
    words(approving)
    for _ in range(60):
        approving.scroll("pagedown")
    assert approving.is_read
    words(approving, width=40)
    assert not approving.is_read


def test_another_call_under_the_same_id_is_another_question() -> None:
    approving = asking(question(command=LONG))
    words(approving)
    for _ in range(60):
        approving.scroll("pagedown")
    assert approving.is_read
    assert approving.take([question(command=LONG + "; rm -rf .")])
    words(approving)
    assert not approving.is_read
    assert not approving.take([question(command=LONG + "; rm -rf .")])


def test_questions_are_counted_and_always_is_offered_where_it_can_be() -> None:
    assert "Allow (1 of 2)?" in words(asking(question(), question(call_id="u")))
    text = words(asking(question(command="git status --short", offer=("git", "status"))))
    assert 'a always "git status …" in this session' in text
    assert "p always in this project" in text
    assert "a always" not in words(asking(question(command="a | b")))
    assert asking(question(command="a | b")).act("a") == ""
    granting = asking(question("write", offer=(), path="a", content="b"))
    assert 'a always "every write call" in this session' in words(granting)
    assert (granting.act("a"), granting.act("p")) == ("session", "project")


def test_a_no_asks_for_a_reason() -> None:
    approving = asking(question())
    approving.is_refusing = True
    assert "Why not? Type a reason" in words(approving)
    approving.take([question(call_id="other")])
    assert not approving.is_refusing


@pytest.mark.parametrize(("width", "height"), [(20, 3), (28, 6), (78, 14), (198, 38)])
def test_the_question_keeps_to_its_place(width: int, height: int) -> None:
    asked = question("sh\x1b[2J" * 30, command=LONG, offer=("git", "status"))
    lines = words(asking(asked), width, height).splitlines()
    assert len(lines) <= max(height, 11)
    assert all(line.isprintable() for line in lines)
