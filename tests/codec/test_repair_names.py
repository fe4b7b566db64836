"""Ids and names on the wire."""

import re

import pytest

from tests.codec.test_repair import call, request, result, user
from ullage.codec.repair import repair
from ullage.codec.repair_names import LegalMessages, digest, legal_id, legal_name, own_name
from ullage.codec.repair_notes import Notes
from ullage.codec.rules import LENIENT_IDS, OPENAI_NAMES
from ullage.codec.wires import target_of
from ullage.codec.wires.chat.rules import MISTRAL_IDS, OPENAI_CHAT_IDS
from ullage.codec.wires.gemini.rules import GEMINI_NAMES
from ullage.codec.wires.responses.rules import RESPONSES_IDS
from ullage.messages import Message, ToolCallPart


def test_a_legal_id_stays_and_an_illegal_one_always_becomes_the_same() -> None:
    assert legal_id("call_1", 1, RESPONSES_IDS) == "call_1"
    long = "x" * 94
    assert legal_id(long, 1, RESPONSES_IDS) == legal_id(long, 1, RESPONSES_IDS)
    assert len(legal_id(long, 1, OPENAI_CHAT_IDS)) <= 40


def test_an_id_used_again_gets_another_one() -> None:
    assert legal_id("call_0", 2, RESPONSES_IDS) not in ("call_0", legal_id("call_0", 3, RESPONSES_IDS))


def test_mistral_gets_nine_letters_and_digits() -> None:
    assert re.fullmatch(r"[a-zA-Z0-9]{9}", legal_id("toolu_01ABCDEF", 1, MISTRAL_IDS))
    assert legal_id("abcdef123", 1, MISTRAL_IDS) == "abcdef123"


def test_kimis_ids_go_back_to_kimi_as_they_came() -> None:
    assert legal_id("functions.read:0", 1, LENIENT_IDS) == "functions.read:0"


@pytest.mark.parametrize("name", ["my.tool", "n" * 80, "7up/now", "", "\ud800", "naïve name", "-dash"])
def test_names_are_made_legal_and_stay_readable(name: str) -> None:
    for legal in (OPENAI_NAMES, GEMINI_NAMES):
        made = legal_name(name, legal)
        assert legal.allows(made)
        assert legal_name(made, legal) == made


def test_a_readable_name_keeps_its_words() -> None:
    assert legal_name("my tool", OPENAI_NAMES).startswith("my_tool_")


def test_names_of_an_answer_lead_back_to_our_own() -> None:
    sent = legal_name("my.tool", OPENAI_NAMES)
    assert own_name(sent, {sent: "my.tool"}) == "my.tool"
    assert own_name("read", {}) == "read"


def test_a_digest_tells_pieces_apart() -> None:
    assert digest(24, "ab", "c") != digest(24, "a", "bc")


def test_calls_without_ids_get_some_where_the_wire_wants_them() -> None:
    messages = (
        user("u"),
        Message(id="a", role="assistant", parts=(call("c1", ""), call("c2", ""))),
        Message(id="t", role="tool", parts=(result("r1", "read"), result("r2", "read"))),
    )
    claude = repair(request(*messages)).request
    ids = [part.call_id for message in claude.messages for part in message.of_type(ToolCallPart)]
    assert len(set(ids)) == 2
    assert "" not in ids
    gemini = repair(request(*messages, target=("generateContent", "google", "gemini-2.5-pro"))).request
    assert [part.call_id for message in gemini.messages for part in message.of_type(ToolCallPart)] == ["", ""]


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
