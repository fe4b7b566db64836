"""The validator by the piece: as much is noted and made as in one pass, and what can't be kept is said."""

from __future__ import annotations

from tests.codec.test_repair import call, loop, request, result, user
from ullage.codec.growing_repair import GrowingRepair, repaired_head
from ullage.codec.repair import repair
from ullage.codec.repair_targets import target_of
from ullage.messages import Message, Request, SystemBlock, TextPart, Tool

NO_PREFILL = ("messages", "anthropic", "claude-fable-5-1")


def growing_for(given: Request) -> GrowingRepair:
    return GrowingRepair(target_of(given))


def broken() -> list[Message]:
    return [
        user("u", "nul \0"),
        Message(id="a", role="assistant", parts=(call("c", "a b", "{broken"), call("d", "y"))),
        Message(id="t", role="tool", parts=(result("r", "nobody"), result("s", "y"))),
        user("v"),
        Message(id="b", role="assistant", parts=(call("e", "a b"),)),
        Message(id="x", role="tool", parts=(result("q", "a b"),)),
    ]


def test_pieces_give_the_notes_of_the_whole_in_its_order() -> None:
    whole = request(*broken())
    growing = growing_for(whole)
    for piece in (broken()[:4], broken()[4:]):
        assert growing.add(piece, None) is not None
    assert growing.repaired(whole, repaired_head(whole, target_of(whole))) == repair(whole)


def test_a_history_in_order_is_the_request_given() -> None:
    whole = request(*loop(4))
    growing = growing_for(whole)
    for piece in (whole.messages[:4], whole.messages[4:]):
        growing.add(piece, None)
    assert growing.repaired(whole, repaired_head(whole, target_of(whole))).request is whole


def test_a_result_that_comes_later_is_refused() -> None:
    growing = growing_for(request())
    assert growing.add([user("u"), Message(id="a", role="assistant", parts=(call("c", "x"),))], None) is not None
    assert growing.add([Message(id="t", role="tool", parts=(result("r", "x"),))], None) is None


def test_a_request_may_not_end_where_only_the_end_asks_for_a_word() -> None:
    given = request(user("u"), target=NO_PREFILL)
    growing = growing_for(given)
    assert not growing.may_end
    growing.add(given.messages, None)
    assert growing.may_end
    growing.add([Message(id="a", role="assistant", parts=(TextPart(id="a.t", text="so"),))], None)
    assert not growing.may_end


def test_the_head_is_repaired_as_in_one_piece() -> None:
    given = Request(
        wire="chat",
        model="gpt-4.1",
        system=(SystemBlock(text=""), SystemBlock(text="nul \0")),
        tools=(Tool(name="a b"),),
        messages=(user("u"),),
    )
    head, whole = repaired_head(given, target_of(given)), repair(given)
    assert (head.system, head.tools) == (whole.request.system, whole.request.tools)
    assert (head.names, head.repairs) == (whole.names, whole.repairs)
