"""Calls and results: one each, in order, in place."""

import re
from collections.abc import Sequence

import pytest

from tests.codec.test_repair import call, loop, request, result, user
from ullage.codec.repair import repair
from ullage.codec.repair_calls import (
    NO_RESULT,
    NOT_RUN,
    LegalMessages,
    Pairing,
    digest,
    legal_id,
    legal_name,
    legal_tools,
)
from ullage.codec.repair_parts import Notes
from ullage.codec.rules import LENIENT_IDS, OPENAI_NAMES
from ullage.codec.wires import target_of
from ullage.codec.wires.chat.rules import MISTRAL_IDS, OPENAI_CHAT_IDS
from ullage.codec.wires.gemini.rules import GEMINI_NAMES
from ullage.codec.wires.responses.rules import RESPONSES_IDS
from ullage.messages import Message, Request, TextPart, Tool, ToolCallPart, ToolResultPart


def answer(name: str, *ids: str, interrupted: str | None = None) -> Message:
    parts = tuple(call(f"{name}.{one}", one) for one in ids)
    return Message(id=name, role="assistant", parts=parts, interrupted=interrupted)


def tool(name: str, *ids: str) -> Message:
    return Message(
        id=name,
        role="tool",
        parts=tuple(result(f"{name}.{one}", one, one) for one in ids),
    )


def paired(messages: Sequence[Message], notes: Notes) -> list[Message]:
    return Pairing().add(messages, notes, notes) or []


def shape(messages: list[Message]) -> list[tuple[str, list[str]]]:
    return [
        (one.role, [part.text for part in one.of_type(ToolResultPart)])
        for one in messages
    ]


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
    late = Message(
        id="u2", role="user", parts=(TextPart(id="w", text="wait"), result("r", "x", "x"))
    )
    made = paired([answer("a", "x", "y"), tool("t", "y"), late, user("u3")], notes)
    assert shape(made) == [
        ("assistant", []),
        ("tool", ["x", "y"]),
        ("user", []),
        ("user", []),
    ]
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
    assert shape(paired([user("u"), tool("t", "gone"), user("v")], Notes())) == [
        ("user", []),
        ("user", []),
    ]


def test_an_id_used_in_every_turn_finds_the_newest_call() -> None:
    made = paired(
        [
            answer("a", "call_0"),
            tool("t", "call_0"),
            answer("b", "call_0"),
            tool("s", "call_0"),
        ],
        Notes(),
    )
    assert [message.id for message in made] == ["a", "t", "b", "s"]


def test_calls_without_ids_are_paired_by_name_and_order() -> None:
    made = paired([answer("a", "", ""), tool("t", "read", "read")], Notes())
    assert shape(made) == [("assistant", []), ("tool", ["read", "read"])]


def test_what_else_a_tool_message_holds_follows_as_the_users() -> None:
    mixed = Message(
        id="t", role="tool", parts=(TextPart(id="n", text="note"), result("r", "x", "x"))
    )
    made = paired([answer("a", "x"), mixed], Notes())
    assert [(one.role, len(one.parts)) for one in made] == [
        ("assistant", 1),
        ("tool", 1),
        ("user", 1),
    ]


def test_the_request_of_a_repaired_loop_names_what_was_done() -> None:
    notes = Notes()
    paired(request(answer("a", "x")).messages, notes)
    assert notes.repairs[0].message == "a"
    assert notes.repairs[0].part == "a.x"


def test_a_history_in_pieces_is_paired_as_in_one_with_the_same_notes() -> None:
    first = [
        user("u"),
        tool("s", "early"),
        answer("a", "x", "y"),
        tool("t", "y", "nobody", "x"),
        user("v"),
    ]
    second = [tool("w", "x"), answer("b", "x"), tool("z", "x")]
    pairing, extra, moved, whole = Pairing(), Notes(), Notes(), Notes()
    made = [
        one for piece in (first, second) for one in pairing.add(piece, extra, moved) or []
    ]
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


def test_a_legal_id_stays_and_an_illegal_one_always_becomes_the_same() -> None:
    assert legal_id("call_1", 1, RESPONSES_IDS) == "call_1"
    long = "x" * 94
    assert legal_id(long, 1, RESPONSES_IDS) == legal_id(long, 1, RESPONSES_IDS)
    assert len(legal_id(long, 1, OPENAI_CHAT_IDS)) <= 40


def test_an_id_used_again_gets_another_one() -> None:
    assert legal_id("call_0", 2, RESPONSES_IDS) not in (
        "call_0",
        legal_id("call_0", 3, RESPONSES_IDS),
    )


def test_mistral_gets_nine_letters_and_digits() -> None:
    assert re.fullmatch(r"[a-zA-Z0-9]{9}", legal_id("toolu_01ABCDEF", 1, MISTRAL_IDS))
    assert legal_id("abcdef123", 1, MISTRAL_IDS) == "abcdef123"


def test_kimis_ids_go_back_to_kimi_as_they_came() -> None:
    assert legal_id("functions.read:0", 1, LENIENT_IDS) == "functions.read:0"


@pytest.mark.parametrize(
    "name", ["my.tool", "n" * 80, "7up/now", "", "\ud800", "naïve name", "-dash"]
)
def test_names_are_made_legal_and_stay_readable(name: str) -> None:
    for legal in (OPENAI_NAMES, GEMINI_NAMES):
        made = legal_name(name, legal)
        assert legal.allows(made)
        assert legal_name(made, legal) == made


def test_a_readable_name_keeps_its_words() -> None:
    assert legal_name("my tool", OPENAI_NAMES).startswith("my_tool_")


def test_names_of_an_answer_lead_back_to_our_own() -> None:
    sent = legal_name("my.tool", OPENAI_NAMES)
    _, names = legal_tools(
        (Tool(name="my.tool"), Tool(name="read")),
        target_of(Request(wire="messages", model="claude")),
        Notes(),
    )
    assert names == {sent: "my.tool"}


def test_a_digest_tells_pieces_apart() -> None:
    assert digest(24, "ab", "c") != digest(24, "a", "bc")


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
