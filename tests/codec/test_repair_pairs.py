"""Calls and results: one each, in order, in place."""

from collections.abc import Sequence

from tests.codec.test_repair import call, loop, request, result, user
from ullage.codec.repair_notes import Notes
from ullage.codec.repair_pairs import NO_RESULT, NOT_RUN, Pairing
from ullage.messages import Message, TextPart, ToolResultPart


def answer(name: str, *ids: str, interrupted: str | None = None) -> Message:
    parts = tuple(call(f"{name}.{one}", one) for one in ids)
    return Message(id=name, role="assistant", parts=parts, interrupted=interrupted)


def tool(name: str, *ids: str) -> Message:
    return Message(id=name, role="tool", parts=tuple(result(f"{name}.{one}", one, one) for one in ids))


def paired(messages: Sequence[Message], notes: Notes) -> list[Message]:
    return Pairing().add(messages, notes, notes) or []


def shape(messages: list[Message]) -> list[tuple[str, list[str]]]:
    return [(one.role, [part.text for part in one.of_type(ToolResultPart)]) for one in messages]


def test_messages_in_order_are_the_same_objects() -> None:
    given = loop(3)
    assert all(a is b for a, b in zip(paired(given, Notes()), given, strict=True))


def test_a_missing_result_is_filled_in_its_place() -> None:
    notes = Notes()
    made = paired([user("u"), answer("a", "x", "y"), tool("t", "y")], notes)
    assert shape(made)[2] == ("tool", [NO_RESULT, "y"])
    assert [one.kind for one in notes.repairs] == ["missing_result"]
    assert next(made[2].of_type(ToolResultPart)).is_error


def test_an_interrupted_answer_says_so_in_the_result() -> None:
    made = paired([answer("a", "x", interrupted="cancelled")], Notes())
    assert shape(made)[1] == ("tool", [NOT_RUN])


def test_results_in_the_wrong_order_or_place_are_moved_before_any_text() -> None:
    notes = Notes()
    late = Message(id="u2", role="user", parts=(TextPart(id="w", text="wait"), result("r", "x", "x")))
    made = paired([answer("a", "x", "y"), tool("t", "y"), late, user("u3")], notes)
    assert shape(made) == [("assistant", []), ("tool", ["x", "y"]), ("user", []), ("user", [])]
    assert [one.kind for one in notes.repairs] == ["moved_result"]


def test_a_result_just_before_its_call_is_taken() -> None:
    made = paired([user("u"), tool("t", "x"), answer("a", "x")], Notes())
    assert shape(made) == [("user", []), ("assistant", []), ("tool", ["x"])]


def test_the_first_of_two_results_counts() -> None:
    notes = Notes()
    second = Message(id="t2", role="tool", parts=(result("again", "x", "again"),))
    made = paired([answer("a", "x"), tool("t", "x"), second], notes)
    assert shape(made) == [("assistant", []), ("tool", ["x"])]
    assert [one.kind for one in notes.repairs] == ["extra_result"]


def test_a_result_whose_call_is_gone_is_left_out() -> None:
    assert shape(paired([user("u"), tool("t", "gone"), user("v")], Notes())) == [("user", []), ("user", [])]


def test_an_id_used_in_every_turn_finds_the_newest_call() -> None:
    made = paired([answer("a", "call_0"), tool("t", "call_0"), answer("b", "call_0"), tool("s", "call_0")], Notes())
    assert [message.id for message in made] == ["a", "t", "b", "s"]


def test_calls_without_ids_are_paired_by_name_and_order() -> None:
    made = paired([answer("a", "", ""), tool("t", "read", "read")], Notes())
    assert shape(made) == [("assistant", []), ("tool", ["read", "read"])]


def test_what_else_a_tool_message_holds_follows_as_the_users() -> None:
    mixed = Message(id="t", role="tool", parts=(TextPart(id="n", text="note"), result("r", "x", "x")))
    made = paired([answer("a", "x"), mixed], Notes())
    assert [(one.role, len(one.parts)) for one in made] == [("assistant", 1), ("tool", 1), ("user", 1)]


def test_the_request_of_a_repaired_loop_names_what_was_done() -> None:
    notes = Notes()
    paired(request(answer("a", "x")).messages, notes)
    assert notes.repairs[0].message == "a"
    assert notes.repairs[0].part == "a.x"


def test_a_history_in_pieces_is_paired_as_in_one_with_the_same_notes() -> None:
    first = [user("u"), tool("s", "early"), answer("a", "x", "y"), tool("t", "y", "nobody", "x"), user("v")]
    second = [tool("w", "x"), answer("b", "x"), tool("z", "x")]
    pairing, extra, moved, whole = Pairing(), Notes(), Notes(), Notes()
    made = [one for piece in (first, second) for one in pairing.add(piece, extra, moved) or []]
    assert made == paired([*first, *second], whole)
    assert [*extra.repairs, *moved.repairs] == whole.repairs


def test_a_result_for_a_call_of_an_earlier_piece_alters_it() -> None:
    pairing = Pairing()
    assert pairing.add([answer("a", "x")], Notes(), Notes()) is not None
    assert pairing.add([tool("t", "x")], Notes(), Notes()) is None


def test_a_call_for_a_result_of_an_earlier_piece_alters_it() -> None:
    pairing = Pairing()
    assert pairing.add([tool("t", "x")], Notes(), Notes()) == []
    assert pairing.add([answer("a", "x")], Notes(), Notes()) is None
