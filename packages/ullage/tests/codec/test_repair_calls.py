"""Calls and results: one each, in order, in place."""

from collections.abc import Sequence

from tests.codec.test_repair import call, request, result, user
from ullage.codec.repair import repair
from ullage.codec.repair_calls import (
    NO_RESULT,
    LegalMessages,
    Pairing,
)
from ullage.codec.repair_parts import Notes
from ullage.codec.wires import target_of
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart


def answer(name: str, *ids: str, interrupted: str | None = None) -> Message:
    parts = tuple(call(f"{name}.{one}", one) for one in ids)
    return Message(id=name, role="assistant", parts=parts, interrupted=interrupted)


def tool(name: str, *ids: str) -> Message:
    parts = tuple(result(f"{name}.{one}", one, one) for one in ids)
    return Message(id=name, role="tool", parts=parts)


def paired(messages: Sequence[Message], notes: Notes) -> list[Message]:
    return Pairing().add(messages, notes, notes) or []


def shape(messages: list[Message]) -> list[tuple[str, list[str]]]:
    return [
        (one.role, [part.text for part in one.of_type(ToolResultPart)])
        for one in messages
    ]


def test_a_missing_result_is_filled_in_its_place() -> None:
    notes = Notes()
    made = paired([user("u"), answer("a", "x", "y"), tool("t", "y")], notes)
    assert shape(made)[2] == ("tool", [NO_RESULT, "y"])
    assert [one.kind for one in notes.repairs] == ["missing_result"]
    assert next(made[2].of_type(ToolResultPart)).is_error


def test_results_in_the_wrong_order_or_place_are_moved_before_any_text() -> None:
    notes = Notes()
    late = Message(
        id="u2", role="user", parts=(TextPart(id="w", text="wait"), result("r", "x", "x"))
    )
    made = paired([answer("a", "x", "y"), tool("t", "y"), late, user("u3")], notes)
    expected = [("assistant", []), ("tool", ["x", "y"]), ("user", []), ("user", [])]
    assert shape(made) == expected
    assert [one.kind for one in notes.repairs] == ["moved_result"]


def test_a_result_for_a_call_of_an_earlier_piece_alters_it() -> None:
    pairing = Pairing()
    assert pairing.add([answer("a", "x")], Notes(), Notes()) is not None
    assert pairing.add([tool("t", "x")], Notes(), Notes()) is None


def test_a_call_for_a_result_of_an_earlier_piece_alters_it() -> None:
    pairing = Pairing()
    assert pairing.add([tool("t", "x")], Notes(), Notes()) == []
    assert pairing.add([answer("a", "x")], Notes(), Notes()) is None


def test_calls_without_ids_get_some_where_the_wire_wants_them() -> None:
    messages = (
        user("u"),
        Message(id="a", role="assistant", parts=(call("c1", ""), call("c2", ""))),
        Message(id="t", role="tool", parts=(result("r1", "read"), result("r2", "read"))),
    )
    claude = repair(request(*messages)).request
    ids = [
        part.call_id
        for message in claude.messages
        for part in message.of_type(ToolCallPart)
    ]
    assert len(set(ids)) == 2
    assert "" not in ids
    gemini = repair(
        request(*messages, target=("generateContent", "google", "gemini-2.5-pro"))
    ).request
    assert [
        part.call_id
        for message in gemini.messages
        for part in message.of_type(ToolCallPart)
    ] == ["", ""]


def test_a_history_in_pieces_gets_the_ids_of_the_whole() -> None:
    history = [
        Message(id="a", role="assistant", parts=(call("c", "x"), call("d", "x"))),
        Message(id="t", role="tool", parts=(result("r", "x"),)),
        Message(id="s", role="tool", parts=(result("q", "x"),)),
        Message(id="b", role="assistant", parts=(call("e", "x"),)),
    ]
    target = target_of(request())
    legal = LegalMessages(target)
    made = [one for message in history for one in legal.add([message], Notes())]
    assert made == LegalMessages(target).add(history, Notes())
