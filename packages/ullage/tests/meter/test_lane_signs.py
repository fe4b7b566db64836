"""Short texts and digests by which a request is found to belong to a conversation."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.body_pieces import BodyPiece
from ullage.meter.lane_signs import (
    LaneMark,
    is_tail_kept,
    read_mark,
    rolled,
    sign_of,
    tasks_in,
)


@given(st.lists(st.text(max_size=3), max_size=8), st.lists(st.text(max_size=3)))
def test_a_longer_history_has_the_digests_of_the_shorter_one(
    shorter: list[str], more: list[str]
) -> None:
    assert rolled([*shorter, *more])[: len(shorter)] == rolled(shorter)


def test_another_order_has_other_digests() -> None:
    assert rolled(["a", "b"])[-1] != rolled(["b", "a"])[-1]


def test_a_mark_is_read_back_from_its_text() -> None:
    mark = LaneMark(12, "ab12", "cd34", "ef56", "agent.with.dots")
    assert read_mark(mark.text) == mark
    assert read_mark("12.ab12") is None
    assert read_mark("twelve.a.b.c.d") is None


def test_the_sign_of_an_answer_is_its_longest_line_without_tags() -> None:
    answer = (
        "<summary>All of the files were read.</summary>\nAll of them, one by one.\nOk."
    )
    assert sign_of(answer) == "All of the files were read."
    assert sign_of("Done.") == ""
    assert len(sign_of("x" * 1_000)) == 160


def test_the_task_of_a_subagent_is_an_argument_of_several_words() -> None:
    calls = [
        BodyPiece("call", 'task {"prompt": "Look for\\n the cause.", "kind": "general"}'),
        BodyPiece("call", 'read {"path": "/src/a-long-path/file.py"}'),
        BodyPiece("call", "broken {"),
        BodyPiece("assistant", 'task {"prompt": "This is only said."}'),
    ]
    assert list(tasks_in(calls)) == ["Look for the cause."]


def test_a_tail_is_kept_if_most_long_pieces_were_there_before() -> None:
    pieces = [
        BodyPiece("user", f"A message with the number {number}.") for number in range(4)
    ]
    digests = [piece.digest for piece in pieces]
    assert is_tail_kept(pieces, digests, set(digests[1:]))
    assert not is_tail_kept(pieces, digests, set(digests[:2]))
    assert not is_tail_kept(pieces[:2], digests[:2], set(digests))
    short = [BodyPiece("user", "Go on.")] * 5
    assert not is_tail_kept(short, [each.digest for each in short], {short[0].digest})
