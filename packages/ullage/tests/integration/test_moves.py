"""History moves between all dialects in the middle of a tool loop and back, and every simulator accepts it."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.integration import epochs
from tests.integration.conversation import (
    BOUND_CLAUDE,
    FIVE,
    MORE,
    Conversation,
    Dialect,
    Sent,
)
from ullage.encoding import encode
from ullage.messages import ReasoningPart, ToolCallPart
from ullage_simulators import Scenario, Server, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.scenario import ScriptLine, When

ALL = (*FIVE, *MORE)


def thought(dialect: Dialect) -> str:
    """What only this model thinks."""
    return f"only-{dialect.model.replace('/', '-')}-thinks-this"


def script() -> Scenario:
    lines: list[ScriptLine] = []
    for dialect in ALL:
        model, private = dialect.model, thought(dialect)
        begin = ScriptedAnswer(
            f"{private}: two files.",
            "I look.",
            (Call("read", '{"path": "a"}'), Call("list", '{"path": "b"}')),
        )
        lines += [
            ScriptLine(begin, When(contains="begin", model=model)),
            ScriptLine(
                ScriptedAnswer(
                    f"{private}: one more.", "", (Call("read", '{"path":"c"}'),)
                ),
                When(contains="go on", model=model),
            ),
            ScriptLine(
                ScriptedAnswer(f"{private}: enough.", "That is all."), When(model=model)
            ),
        ]
    return Scenario(answers=tuple(lines))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(script(), seed=5) as server:
        yield server


def there_and_back(conversation: Conversation, one: Dialect, other: Dialect) -> None:
    """Begun by one, its calls answered to the other, which goes on, then back; and again in the turn after it."""
    conversation.say("begin")
    conversation.ask(one)
    conversation.give("go on")
    conversation.ask(other)
    conversation.give("go on")
    conversation.ask(other)
    conversation.give("go on")
    conversation.ask(one)
    conversation.give("no more")
    conversation.ask(one)
    conversation.say("begin again")
    conversation.ask(other)
    conversation.give("no more")
    conversation.ask(one)
    conversation.say("thanks")
    conversation.ask(other)


def to(dialect: Dialect, conversation: Conversation) -> list[Sent]:
    return [sent for sent in conversation.sent if sent.dialect == dialect]


MOVES = [
    pytest.param(one, other, id=f"{one.name}-{other.name}")
    for one in FIVE
    for other in FIVE
]
FURTHER = [
    pytest.param(*pair, id=f"{pair[0].name}-{pair[1].name}")
    for one in MORE
    for other in FIVE
    for pair in ((one, other), (other, one))
]


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(("one", "other"), MOVES)
def test_a_tool_loop_moves_to_another_dialect_and_back(
    server: Server, one: Dialect, other: Dialect, streamed: bool
) -> None:
    with Conversation(server, stream=streamed) as conversation:
        there_and_back(conversation, one, other)
        check(conversation, one, other)


@pytest.mark.parametrize(("one", "other"), FURTHER)
def test_it_moves_to_and_from_the_other_providers_too(
    server: Server, one: Dialect, other: Dialect
) -> None:
    with Conversation(server) as conversation:
        there_and_back(conversation, one, other)
        check(conversation, one, other)


def check(conversation: Conversation, one: Dialect, other: Dialect) -> None:
    assert [
        len(list(message.of_type(ToolCallPart)))
        for message in conversation.messages
        if message.role == "assistant"
    ] == [2, 1, 1, 1, 0, 2, 0, 0]
    no_foreign_thought_is_in_any_request(conversation, one, other)
    own_thoughts_come_back_to_their_model(conversation, one)
    requests_to_one_dialect_extend_each_other(conversation, one, other)
    the_messages_are_what_they_were(conversation)


def no_foreign_thought_is_in_any_request(
    conversation: Conversation, one: Dialect, other: Dialect
) -> None:
    if (one.wire, one.provider) == (other.wire, other.provider):
        return  # one provider's models read each other's, or their provider leaves out what they can't
    for sent in conversation.sent:
        foreign = other if sent.dialect == one else one
        assert thought(foreign) not in sent.encoded.content.decode()


def own_thoughts_come_back_to_their_model(
    conversation: Conversation, one: Dialect
) -> None:
    """Within the turn; what of earlier turns is sent is the policy's, which sends all."""
    held = conversation.sent[0].answer.message
    reasoning = list(held.of_type(ReasoningPart))
    assert bool(reasoning) == one.shows_reasoning
    if reasoning:
        back = to(one, conversation)[1]
        assert thought(one) in back.encoded.content.decode()


def requests_to_one_dialect_extend_each_other(
    conversation: Conversation, one: Dialect, other: Dialect
) -> None:
    for dialect in {one.name: one, other.name: other}.values():
        for earlier, later in pairwise(to(dialect, conversation)):
            assert later.encoded.extends(earlier.encoded)
            assert epochs.compare(dialect.wire, earlier.body, later.body) is None
            covered = {message.id for message in earlier.request.messages}
            lasting = [
                repair
                for repair in earlier.repaired.repairs
                if repair.kind != "thinking_off"
            ]
            assert lasting == [
                repair
                for repair in later.repaired.repairs
                if repair.message in covered and repair.kind != "thinking_off"
            ]


def the_messages_are_what_they_were(conversation: Conversation) -> None:
    """Each request was given the history as it stands at the end, up to its place."""
    written = [encode(message) for message in conversation.messages]
    for sent in conversation.sent:
        given = [encode(message) for message in sent.request.messages]
        assert given == written[: len(given)]


@pytest.mark.parametrize(
    "other", [pytest.param(dialect, id=dialect.name) for dialect in FIVE]
)
def test_thinking_that_is_bound_to_what_stands_before_it_stays_valid(
    server: Server, other: Dialect
) -> None:
    with Conversation(server) as conversation:
        there_and_back(conversation, BOUND_CLAUDE, other)
        for sent in to(BOUND_CLAUDE, conversation):
            assert b"prefix_binding_mismatch" not in sent.received
