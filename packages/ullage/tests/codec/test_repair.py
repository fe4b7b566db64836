"""The validator as a whole: what goes out is accepted, what is stored is untouched, and the same stays the same."""

import copy
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.codec.histories import TARGETS, broken_request, objections
from tests.codec.test_repair_simulators import TARGETS as SIMULATED
from tests.codec.test_repair_simulators import refusal_of
from tests.tiers import examples
from ullage.codec.repair import Repairing, repair
from ullage.codec.wires import target_of
from ullage.messages import (
    Message,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)

CASES = examples(3_000, thorough=50_000)
CLAUDE = ("messages", "anthropic", "claude-opus-4-5")


def user(name: str, text: str = "hello") -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.t", text=text),))


def call(name: str, call_id: str, arguments: str = "{}") -> ToolCallPart:
    return ToolCallPart(id=name, call_id=call_id, name="read", arguments=arguments)


def result(name: str, call_id: str, text: str = "done") -> ToolResultPart:
    part = TextPart(id=f"{name}.t", text=text)
    return ToolResultPart(id=name, call_id=call_id, name="read", content=(part,))


def request(*messages: Message, target: tuple[str, str, str] = CLAUDE) -> Request:
    return Request(wire=target[0], provider=target[1], model=target[2], messages=messages)


def loop(steps: int) -> list[Message]:
    """A tool loop in good order."""
    messages = [user("u0")]
    for step in range(steps):
        first, second = f"c{step}a", f"c{step}b"
        parts = (call(f"p{first}", first), call(second, second))
        messages.append(Message(id=f"a{step}", role="assistant", parts=parts))
        messages.append(
            Message(id=f"t{step}a", role="tool", parts=(result(f"r{first}", first),))
        )
        messages.append(
            Message(id=f"t{step}b", role="tool", parts=(result(f"r{second}", second),))
        )
    return messages


def test_a_tool_loop_in_good_order_comes_back_itself() -> None:
    given_ = request(*loop(5))
    repaired = repair(given_)
    assert repaired.request is given_
    assert repaired.repairs == ()


@pytest.mark.slow
def test_no_broken_history_is_refused_after_repair() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(CASES):
        broken = broken_request(seed)
        repaired = repair(broken)
        assert list(objections(repaired.request)) == [], f"seed {seed}: {broken.wire}"
        kinds.update(one.kind for one in repaired.repairs)
    assert len(kinds) >= 17, f"the histories break too little: {kinds}"


def test_a_repaired_request_needs_no_repair() -> None:
    for seed in range(CASES // 3):
        once = repair(broken_request(seed))
        again = repair(once.request)
        assert again.request == once.request, f"seed {seed}"
        assert again.repairs == (), f"seed {seed}"


def test_the_request_given_is_not_altered() -> None:
    for seed in range(CASES // 10):
        broken = broken_request(seed)
        before = copy.deepcopy(broken)
        repair(broken)
        assert broken == before


def is_closed(messages: tuple[Message, ...], at: int) -> bool:
    """Whether the history up to ``at`` could have been sent: calls are answered in it or nowhere, a user has spoken.

    Ids that are used twice are no way to tell which result is whose, so such histories are not looked at.
    """
    ids = [part.call_id for message in messages for part in message.of_type(ToolCallPart)]
    before = {
        part.call_id
        for message in messages[:at]
        for part in message.of_type(ToolCallPart)
    }
    after = {
        part.call_id
        for message in messages[at:]
        for part in message.of_type(ToolResultPart)
    }
    unique = len(ids) == len(set(ids)) and "" not in ids
    return unique and not before & after and at > 0 and messages[at - 1].role == "user"


@pytest.mark.slow
def test_what_was_sent_for_a_prefix_is_sent_again_for_the_whole() -> None:
    compared = 0
    for seed in range(CASES):
        whole = broken_request(seed)
        sent = repair(whole).request.messages
        for at in range(1, len(whole.messages)):
            if not is_closed(whole.messages, at):
                continue
            prefix = repair(replace(whole, messages=whole.messages[:at])).request.messages
            if prefix[-1].origin == "injected" or prefix[-1].role == "assistant":
                continue  # what the user said last was nothing that can be sent
            assert sent[: len(prefix)] == prefix, f"seed {seed}, {at} messages"
            compared += 1
    assert compared > CASES // 20


texts = st.text(st.characters(codec=None), max_size=20)


@given(st.binary(max_size=200), st.sampled_from(SIMULATED))
def test_any_bytes_as_text_arguments_and_result_are_accepted(
    raw: bytes, simulated: tuple[str, str, str, str]
) -> None:
    *target, simulator = simulated
    text = raw.decode("utf-8", "surrogateescape")
    history = (
        user("u", text),
        Message(id="a", role="assistant", parts=(call("c", text, text),)),
        Message(id="t", role="tool", parts=(result("r", text, text),)),
    )
    repaired = repair(request(*history, target=(target[0], target[1], target[2]))).request
    assert refusal_of(repaired, simulator) == ""
    said = [message.role for message in repaired.messages if message.origin == "said"]
    assert said[-2:] == ["assistant", "tool"]


@given(st.lists(texts, min_size=2, max_size=6, unique=True), st.sampled_from(TARGETS))
def test_different_ids_stay_different(
    ids: list[str], target: tuple[str, str, str]
) -> None:
    calls = tuple(call(f"c{at}", one) for at, one in enumerate(ids))
    results = tuple(result(f"r{at}", one) for at, one in enumerate(ids))
    history = (
        user("u"),
        Message(id="a", role="assistant", parts=calls),
        Message(id="t", role="tool", parts=results),
    )
    repaired = repair(request(*history, target=target)).request
    sent = [
        part.call_id
        for message in repaired.messages
        for part in message.of_type(ToolCallPart)
    ]
    assert len(set(sent)) == len(ids)
    assert [
        part.call_id
        for message in repaired.messages
        for part in message.of_type(ToolResultPart)
    ] == sent


def test_system_text_tools_and_parameters_are_made_legal_too() -> None:
    given_ = Request(
        wire="messages",
        provider="anthropic",
        model="claude-opus-4-5",
        system=(SystemBlock(text=""), SystemBlock(text="be \ud800 kind")),
        tools=(Tool(name="my.tool", description="nul \0"), Tool(name="my.tool")),
        messages=(user("u"),),
        params={"stop_sequences": ["\udfff"]},
    )
    repaired = repair(given_)
    assert [block.text for block in repaired.request.system] == ["be \ufffd kind"]
    (tool,) = repaired.request.tools
    assert repaired.names == {tool.name: "my.tool"}
    assert tool.description == "nul \ufffd"
    assert msgspec.json.decode(tool.schema) == {"type": "object", "properties": {}}
    assert repaired.request.params == {"stop_sequences": ["\ufffd"]}


def test_a_result_that_comes_later_is_refused() -> None:
    growing = Repairing(target_of(request()))
    message = Message(id="a", role="assistant", parts=(call("c", "x"),))
    assert growing.add([user("u"), message]) is not None
    assert growing.add([Message(id="t", role="tool", parts=(result("r", "x"),))]) is None


@pytest.mark.parametrize(
    ("model", "text", "is_closed"),
    [
        ("claude-fable-5-1", "so", True),
        ("claude-sonnet-4-5", "so", False),
        ("claude-sonnet-4-5", "so ", True),
    ],
)
def test_an_end_that_is_altered_as_only_an_end_is_says_so(
    model: str, text: str, is_closed: bool
) -> None:
    growing = Repairing(target_of(request(target=("messages", "anthropic", model))))
    growing.add([user("u")])
    assert not growing.is_closed
    growing.add(
        [Message(id="a", role="assistant", parts=(TextPart(id="a.t", text=text),))]
    )
    assert growing.is_closed is is_closed
