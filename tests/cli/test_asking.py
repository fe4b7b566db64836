import pytest

from ullage.cli.asking import Reply, ask_person, reply_of
from ullage.runtime.approvals import Question


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        ("y\n", Reply(True)),
        ("YES", Reply(True)),
        ("", Reply(False)),
        ("\n", Reply(False)),
        ("n", Reply(False)),
        ("n not in this directory\n", Reply(False, "not in this directory")),
        ("no, use rg", Reply(False, "use rg")),
        ("a", Reply(True, always="session")),
        ("p", Reply(True, always="project")),
        ("y rm", None),
        ("yep", None),
        ("use rg instead", None),
        ("a b", None),
    ],
)
def test_a_line_is_an_answer_or_it_is_asked_for_again(typed: str, reply: Reply | None) -> None:
    assert reply_of(typed, can_always=True) == reply


@pytest.mark.parametrize("typed", ["a", "always", "p"])
def test_always_is_no_answer_where_nothing_is_offered(typed: str) -> None:
    assert reply_of(typed, can_always=False) is None


async def test_without_a_terminal_nobody_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    question = Question(call_id="t", name="shell", digest="d", lines=(), offer=None)
    assert await ask_person(question) == Reply(False, by_nobody=True)
    assert "nobody can be asked: shell" in capsys.readouterr().err
