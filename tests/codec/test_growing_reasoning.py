"""The choice of reasoning by the piece is the choice of the whole, or it is said that it is another one."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from ullage.codec.growing_reasoning import GrowingSelection, Sent
from ullage.messages import Message, Part, ProviderData, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from ullage.reasoning import Maker, ReasoningPolicy, select

POLICIES = (
    ReasoningPolicy(strip="all"),
    ReasoningPolicy(strip="all_but_last"),
    ReasoningPolicy(include_in_context=False),
)
NEEDED = Maker("messages", "anthropic", "claude-opus-4-5")
FREE = Maker("chat", "zai", "glm-5")
GPT = Maker("responses", "openai", "gpt-5")
OTHER = Maker("messages", "minimax", "minimax-m2")


def made_by(maker: Maker) -> ProviderData:
    return ProviderData(data=msgspec.Raw(b"{}"), wire=maker.wire, provider=maker.provider, model=maker.model)


def history(seed: int, asked: Maker) -> list[Message]:
    """Turns and loops, each message with or without reasoning and calls; some of the reasoning is of another model."""
    random = Random(seed)
    made: list[Message] = []
    for at in range(random.randrange(1, 14)):
        role = random.choice(("user", "assistant", "assistant", "tool", "tool"))
        parts: list[Part] = []
        if role == "assistant":
            parts += [
                ReasoningPart(id=f"th{at}.{n}", text="hm", provider=made_by(random.choice((asked, asked, OTHER))))
                for n in range(random.choice((0, 1, 1, 2)))
            ]
            calls = random.random() < 0.7
            parts.append(ToolCallPart(id=f"c{at}", call_id="x", name="f") if calls else TextPart(id=f"t{at}", text="a"))
        elif role == "tool" or random.random() < 0.2:
            parts.append(ToolResultPart(id=f"r{at}", call_id="x"))
        else:
            parts.append(TextPart(id=f"t{at}", text="hello"))
        made.append(Message(id=f"m{at}", role=role, parts=tuple(parts)))  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize("asked", [NEEDED, FREE, GPT])
@pytest.mark.parametrize("policy", POLICIES)
def test_pieces_give_the_choice_of_the_whole_or_say_that_it_changed(policy: ReasoningPolicy, asked: Maker) -> None:
    grew = 0
    for seed in range(400):
        messages, random = history(seed, asked), Random(seed)
        selection = GrowingSelection(policy, asked)
        at, chosen = 0, frozenset[str]()
        while at < len(messages):
            end = min(at + random.choice((1, 2, 3)), len(messages))
            sent = selection.add(messages[at:end])
            whole = select(messages[:end], policy, wire=asked.wire, provider=asked.provider, model=asked.model).sent
            if sent is None:
                selection = GrowingSelection(policy, asked)
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
    selection = GrowingSelection(ReasoningPolicy(), NEEDED)
    assert selection.add(history(1, NEEDED)) == Sent(None)


def test_nothing_new_changes_nothing() -> None:
    selection = GrowingSelection(POLICIES[0], NEEDED)
    assert selection.add([]) == Sent(frozenset())


def test_an_id_that_is_used_twice_tells_nothing_apart() -> None:
    thought = Message(id="a", role="assistant", parts=(ReasoningPart(id="th", text="hm"),))
    selection = GrowingSelection(POLICIES[0], FREE)
    assert selection.add([thought]) is not None
    assert selection.add([thought]) is None


def test_reasoning_that_moves_with_each_answer_is_told_from_what_a_loop_needs() -> None:
    for asked, always in ((FREE, True), (NEEDED, False)):
        selection = GrowingSelection(ReasoningPolicy(strip="all_but_last"), asked)
        for at in range(2):
            thought = ReasoningPart(id=f"th{at}", text="hm")
            selection.add([Message(id=f"a{at}", role="assistant", parts=(thought,))])
        assert selection.always_moves is always
