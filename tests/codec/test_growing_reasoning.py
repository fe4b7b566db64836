"""The choice of reasoning by the piece is the choice of the whole, or it is said that it is another one."""

from __future__ import annotations

from random import Random

import pytest

from ullage.codec.growing_reasoning import GrowingSelection, Sent
from ullage.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from ullage.reasoning import ReasoningPolicy, select

POLICIES = (
    ReasoningPolicy(strip="all"),
    ReasoningPolicy(strip="all_but_last"),
    ReasoningPolicy(include_in_context=False),
)
NEEDED = ("messages", "claude-opus-4-5")
FREE = ("chat", "glm-5")


def history(seed: int) -> list[Message]:
    """Turns and loops, each message with or without reasoning and calls."""
    random = Random(seed)
    made: list[Message] = []
    for at in range(random.randrange(1, 14)):
        role = random.choice(("user", "assistant", "assistant", "tool", "tool"))
        parts: list[Part] = []
        if role == "assistant":
            parts += [ReasoningPart(id=f"th{at}.{n}", text="hm") for n in range(random.choice((0, 1, 1, 2)))]
            calls = random.random() < 0.7
            parts.append(ToolCallPart(id=f"c{at}", call_id="x", name="f") if calls else TextPart(id=f"t{at}", text="a"))
        elif role == "tool" or random.random() < 0.2:
            parts.append(ToolResultPart(id=f"r{at}", call_id="x"))
        else:
            parts.append(TextPart(id=f"t{at}", text="hello"))
        made.append(Message(id=f"m{at}", role=role, parts=tuple(parts)))  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize("target", [NEEDED, FREE])
@pytest.mark.parametrize("policy", POLICIES)
def test_pieces_give_the_choice_of_the_whole_or_say_that_it_changed(
    policy: ReasoningPolicy, target: tuple[str, str]
) -> None:
    wire, model = target
    grew = 0
    for seed in range(400):
        messages, random = history(seed), Random(seed)
        selection = GrowingSelection(policy, wire=wire, model=model)
        at, chosen = 0, frozenset[str]()
        while at < len(messages):
            end = min(at + random.choice((1, 2, 3)), len(messages))
            sent = selection.add(messages[at:end])
            whole = select(messages[:end], policy, wire=wire, model=model).sent
            if sent is None:
                selection = GrowingSelection(policy, wire=wire, model=model)
                sent, chosen = selection.add(messages[:end]), frozenset()
            elif at:
                grew += 1
            assert sent is not None
            assert sent.ids is not None
            chosen |= sent.ids
            assert chosen == whole, f"seed {seed}, {at} to {end}"
            at = end
    assert grew > 200


def test_all_of_it_needs_no_names() -> None:
    selection = GrowingSelection(ReasoningPolicy(), wire="messages", model="claude-opus-4-5")
    assert selection.add(history(1)) == Sent(None)


def test_nothing_new_changes_nothing() -> None:
    selection = GrowingSelection(POLICIES[0], wire="messages", model="claude-opus-4-5")
    assert selection.add([]) == Sent(frozenset())


def test_an_id_that_is_used_twice_tells_nothing_apart() -> None:
    thought = Message(id="a", role="assistant", parts=(ReasoningPart(id="th", text="hm"),))
    selection = GrowingSelection(POLICIES[0], wire="chat", model="glm-5")
    assert selection.add([thought]) is not None
    assert selection.add([thought]) is None


def test_reasoning_that_moves_with_each_answer_is_told_from_what_a_loop_needs() -> None:
    for (wire, model), always in ((FREE, True), (NEEDED, False)):
        selection = GrowingSelection(ReasoningPolicy(strip="all_but_last"), wire=wire, model=model)
        for at in range(2):
            thought = ReasoningPart(id=f"th{at}", text="hm")
            selection.add([Message(id=f"a{at}", role="assistant", parts=(thought,))])
        assert selection.always_moves is always
