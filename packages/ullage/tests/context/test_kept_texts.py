import pytest

from tests.context.sessions import fold_of
from tests.context.test_attached_files import read
from tests.meter.session import said
from ullage.context.kept_texts import copies, copies_room, lost_lines
from ullage.context.situation import Situation
from ullage.context.summary_message import summary_message
from ullage.messages import TextPart
from ullage.usage import Usage

OLD = """## Goal
The cellar is checked.
## Facts
- The north gauge belongs to Ann.
- Port = 48213
- Retries: 7
## Next
Call the carpenter about stairs."""


def lost(old: str, new: str, most: float = 100) -> str:
    return lost_lines(Situation(fold=fold_of()), old, new, most=most)


def test_lines_that_a_new_summary_lost_are_put_back() -> None:
    assert lost(OLD, "## Goal\nThe cellar is checked.") == (
        "- The north gauge belongs to Ann.\n- Port = 48213\n- Retries: 7"
    )


def test_what_it_says_in_other_words_or_with_another_value_is_not() -> None:
    new = "The cellar is checked. Ann owns the north gauge; it belongs to her.\nPort = 51000\nRetries: 9"
    assert lost(OLD, new) == ""


def test_the_newest_lost_lines_have_room_first() -> None:
    old = "\n".join(f"fact{n} value{n}" for n in range(100))
    made = lost(old, "", 50).split("\n")
    assert made[-1] == "fact99 value99"
    assert 3 < len(made) < 20


def test_lines_put_back_are_carried_on_and_the_reported_length_holds() -> None:
    situation = Situation(fold=fold_of())
    first = summary_message(situation, OLD, (), window=16_000, longest=500).message
    text = "## Goal\nThe cellar."
    usage = Usage(input=900, output=8)
    message, tokens = summary_message(
        situation, text, (first,), window=16_000, longest=500, usage=usage
    )
    others = [part.text for part in message.of_type(TextPart)][:-1]
    assert tokens == round(8 + sum(map(situation.count, others)))
    again = summary_message(
        situation, "## Goal\nThe cellar.", (message,), window=16_000, longest=500
    ).message
    assert [part.id for part in again.parts] == [part.id for part in message.parts]
    assert "belongs to Ann" in again.text


def test_each_kind_stands_in_a_part_of_its_own() -> None:
    rule = "Casks must never be moved."
    messages = [
        said("u", "Fix it. It is at /srv/cellar."),
        *read("1", "a.py", f"{rule}\nsee b.py"),
    ]
    parts = copies(Situation(fold=fold_of()), messages, "m", window=16_000)
    ids = [part.id for part in parts]
    assert ids == ["m.said", "m.quoted", "m.trail", "m.values"]
    assert sum(map(Situation(fold=fold_of()).count, (part.text for part in parts))) < 200


def test_all_of_it_takes_a_share_of_a_small_window() -> None:
    assert copies_room(16_000) == pytest.approx(0.1 * 16_000)
    assert copies_room(1_000_000) == 9_800 == copies_room(None)


@pytest.mark.parametrize("piece", ["a", "a.", "a:", "0", "- "])
def test_lines_of_a_hostile_summary_are_compared_in_a_bounded_time(piece: str) -> None:
    assert (
        lost("port = 1\ncask 7 is full", f"{piece * 20_000} end")
        == "port = 1\ncask 7 is full"
    )
