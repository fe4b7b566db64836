from __future__ import annotations

import msgspec
import pytest

from tests.context.sessions import fold_of, turns
from tests.meter.session import said
from ullage.context.choice import FOR_THINKING, STRATEGIES, ordered
from ullage.context.proof import prove
from ullage.context.server import CompactOnServer
from ullage.context.situation import Situation
from ullage.context.strategy import Ask, Candidate, Declined, Proposal, SummaryAnswer
from ullage.context.summary_message import PREFIX, earlier_text
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    MessageAdded,
    ModelChanged,
)
from ullage.messages import COMPACTION, Message, ProviderData, ProviderItem, TextPart
from ullage.meter.fold import Fold
from ullage.usage import Cleared, Usage

SUMMARY = "Casks were looked at; none leaks."
RULE = "Never move a cask."
WINDOW = 200_000


def session(*first: Message, window: int = 64_000) -> Fold:
    return fold_of(*first, said("rule", RULE), *turns(120, size=200), window=window)


def on_openai(fold: Fold) -> Fold:
    fold.apply(ModelChanged(model="gpt-5.5", wire="responses", provider="openai"))
    return fold


def item(
    name: str, *, text: str = "", kind: str = COMPACTION, raw: bytes = b"{}"
) -> ProviderItem:
    data = ProviderData(data=msgspec.Raw(raw), provider="anthropic", wire="messages")
    return ProviderItem(id=name, kind=kind, text=text, provider=data)


def answered(
    *items: ProviderItem, stop: str = "paused", usage: Usage | None = None
) -> SummaryAnswer:
    message = Message(id="answer", role="assistant", parts=items)
    return SummaryAnswer(message, stop, usage)


def proposed(situation: Situation, *answers: SummaryAnswer) -> Proposal:
    return CompactOnServer().propose(situation, answers)


def refusal(situation: Situation, *answers: SummaryAnswer) -> str:
    """The reason for which nothing is asked or committed."""
    declined = proposed(situation, *answers)
    assert isinstance(declined, Declined)
    return declined.reason


def committed(situation: Situation, answer: SummaryAnswer) -> CompactionCommitted:
    made = proposed(situation, answer)
    assert isinstance(made, Candidate), made
    assert isinstance(made.event, CompactionCommitted)
    return made.event


def test_it_runs_where_it_is_chosen_and_else_only_to_keep_thinking() -> None:
    assert "server" not in [each.name for each in STRATEGIES]
    assert ordered(("server", "hybrid")) == (CompactOnServer(), *STRATEGIES)
    assert ordered(("hybrid", "server")) == (FOR_THINKING, *STRATEGIES)


def test_it_asks_for_the_current_request_up_to_the_last_leaving_message() -> None:
    situation = Situation(fold=session())
    asked = proposed(situation)
    assert isinstance(asked, Ask)
    assert asked.compaction == ""
    assert asked.extends
    ids = [message.id for message in situation.messages]
    assert [message.id for message in asked.messages] == ids[: len(asked.messages)]
    assert asked.messages[-1].id != ids[-1]


def test_what_the_server_clears_of_a_call_is_in_the_request_for_its_compaction() -> None:
    """The two can't be asked for together, so what fits into a call need not fit into a compaction."""
    sizes: list[int] = []
    for share in (0.0, 0.3, 0.6):
        fold = session(window=WINDOW)
        whole = fold.forecast().tokens
        gone = Cleared(tokens=round(share * whole), content="tool_results")
        left = Usage(input=whole - gone.tokens, output=40, cleared=(gone,))
        fold.apply(CallStarted(call="c"))
        fold.apply(CallEnded(call="c", usage=left))
        asked = proposed(Situation(fold=fold))
        assert isinstance(asked, Ask), asked
        sizes.append(asked.tokens)
    assert max(sizes) - min(sizes) < 0.05 * max(sizes)


def test_what_code_keeps_and_the_summary_does_not_hold_stands_behind_it() -> None:
    situation = Situation(fold=session())
    event = committed(situation, answered(item("i", text=SUMMARY)))
    assert event.summary is not None
    compaction, words, *_ = event.summary.parts
    assert isinstance(compaction, ProviderItem)
    assert compaction.text == f"{PREFIX}\n\n{SUMMARY}"
    assert isinstance(words, TextPart)
    assert RULE in words.text
    assert prove(situation, event).is_proved
    held = committed(situation, answered(item("i", text=f"{SUMMARY} {RULE}")))
    assert held.summary is not None
    copied = [part.text for part in held.summary.of_type(TextPart)]
    assert not any(RULE in text for text in copied)
    assert earlier_text([event.summary]) == SUMMARY


def test_an_encrypted_item_has_a_digest_and_its_reported_length() -> None:
    situation = Situation(fold=on_openai(session()))
    retained = item("m", kind="message", text=RULE)
    sealed = item("c", raw=b'{"encrypted_content":"x"}')
    usage = Usage(input=9_000, output=500, dialect="openai-responses")
    event = committed(situation, answered(retained, sealed, usage=usage))
    assert event.summary is not None
    stood_for = event.summary.parts[1]
    assert isinstance(stood_for, ProviderItem)
    assert "Please look at number" in stood_for.text
    assert event.summary_tokens is not None
    copied = [part.text for part in event.summary.of_type(TextPart)]
    around = sum(map(situation.count, copied))
    assert 500 < event.summary_tokens - around < 520


def test_a_reported_length_that_can_not_be_the_texts_is_not_taken() -> None:
    """The pass's output includes what the model thought before it wrote."""
    situation = Situation(fold=session())
    usage = Usage(input=9_000, output=2_000, dialect="anthropic")
    event = committed(situation, answered(item("i", text=SUMMARY), usage=usage))
    assert event.summary_tokens is None


NONE = [
    (SummaryAnswer(None, error="Overloaded"), "failed"),
    (answered(stop="length"), "truncated"),
    (answered(stop="tool_calls"), "tool_call"),
    (answered(stop="refused"), "refused"),
    (answered(stop="stop"), "empty"),
    (answered(item("i", raw=b'{"content":null}')), "empty"),
]


@pytest.mark.parametrize(("answer", "reason"), NONE)
def test_an_answer_without_one_is_declined(answer: SummaryAnswer, reason: str) -> None:
    assert refusal(Situation(fold=session()), answer) == reason


def on_chat(fold: Fold) -> Fold:
    fold.apply(ModelChanged(model="gpt-4.1", wire="chat", provider="openai"))
    return fold


def test_a_wire_or_an_endpoint_that_does_not_offer_it_is_not_asked() -> None:
    assert refusal(Situation(fold=on_chat(session()))) == "not_offered"
    assert refusal(Situation(fold=session(), has_refused=True)) == "not_offered"


def test_openai_is_not_asked_with_wishes_and_anthropic_gets_them() -> None:
    asked = proposed(Situation(fold=session(), instructions="Keep names."))
    assert isinstance(asked, Ask)
    assert asked.compaction is not None
    assert asked.compaction.startswith("Keep names.\nDo not call tools")
    wished = Situation(fold=on_openai(session()), instructions="Keep names.")
    assert refusal(wished) == "not_offered"


def test_where_the_block_could_not_come_first_it_is_not_asked_for() -> None:
    prompt = said("p", "Look after casks.", role="system")
    assert refusal(Situation(fold=session(prompt))) == "not_offered"
    assert isinstance(proposed(Situation(fold=on_openai(session(prompt)))), Ask)
    pinned = Message(
        id="old", role="user", origin="summary", parts=(item("o", text="x"),)
    )
    fold = session()
    fold.apply(MessageAdded(message=pinned))
    assert refusal(Situation(fold=fold, pins=frozenset({"old"})))
