"""What a thinking block of the newest Claude models is bound to, and what a compaction on demand may stand for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.simulators.asking import Ask, Body, Talk, said
from ullage_simulators import running
from ullage_simulators.scenario import read

MODEL = "claude-fable-5-2"
BETAS: dict[str, str | None] = {
    "anthropic-beta": "thinking-binding-controls-2026-08-01,compact-2026-09-04,"
    "inline-tools-2026-09-15"
}
LOOK: Body = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
LATER: Body = {**LOOK, "name": "later", "defer_loading": True}
SCRIPT = read({"answers": [{"reasoning": "Think of the casks. " * 9, "text": "Full."}]})


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with running(SCRIPT, seed=5) as server:
        yield Talk(server)


def user(content: Any) -> Body:
    return {"role": "user", "content": content}


def system(content: Any) -> Body:
    return {"role": "system", "content": content}


class Conversation:
    """A session of one model: its requests, each of which thinks."""

    def __init__(self, talk: Talk, *, model: str = MODEL, **body: Any) -> None:
        self.talk = talk
        self.body: Body = {"model": model, "max_tokens": 2_000, **body}
        self.messages: list[Body] = []

    def ask(self, *said: Body) -> None:
        """One turn more."""
        self.messages += said
        answer = self.talk.ok("anthropic", self.request())
        assert answer["content"][0]["type"] == "thinking"
        self.messages.append({"role": "assistant", "content": answer["content"]})

    def request(self, *said: Body, behavior: str = "error", **more: Any) -> Ask:
        binding = {"prefix_mismatch_behavior": behavior}
        thinking = {"type": "adaptive", "block_binding": binding}
        messages = copy.deepcopy([*self.messages, *said])
        body = {**self.body, "thinking": thinking, "messages": messages, **more}
        return Ask("/v1/messages", body, BETAS)

    def compact(self, upto: int, **more: Any) -> None:
        """Has the messages in front of ``upto`` summarised, and sends the block in place of them."""
        asked = self.request(compaction={"type": "summarize"}, **more)
        asked.body["messages"] = asked.body["messages"][:upto]
        answer = self.talk.ok("anthropic", asked)
        block = {"role": "assistant", "content": answer["content"]}
        self.messages = [block, *self.messages[upto:]]

    def dropped(self, **more: Any) -> list[str]:
        """The blocks that are dropped of the next request."""
        ask = self.request(user("And now?"), behavior="drop_block", **more)
        given = self.talk.ok("anthropic", ask)["input_transformations"]
        assert {each["reason"] for each in given} <= {"prefix_binding_mismatch"}
        return [each["path"] for each in given]


def three_turns(talk: Talk, **body: Any) -> Conversation:
    conversation = Conversation(talk, tools=[LOOK, LATER], system="Be brief.", **body)
    for number in range(3):
        conversation.ask(user(f"Cask {number}?"))
    return conversation


SHIFTED = ["messages.4.content.0", "messages.6.content.0"]
"""The later two, one message further back."""
ALL = ["messages.1.content.0", "messages.3.content.0", "messages.5.content.0"]


def put_in(messages: list[Body], message: Body) -> None:
    messages.insert(3, message)


def marked(text: str) -> Body:
    block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    return user([block])


def without_thinking(message: Body) -> Body:
    content = [each for each in message["content"] if each["type"] != "thinking"]
    return {**message, "content": content}


EDITS: dict[str, tuple[Callable[[list[Body]], Any], list[str]]] = {
    "the first message": (lambda m: m.__setitem__(0, user("Cask?")), ALL),
    "a message in between": (lambda m: m.__setitem__(2, user("Cask?")), ALL[1:]),
    "a message is taken out": (lambda m: m.__delitem__(slice(2, 4)), ALL[1:2]),
    "a message more": (lambda m: put_in(m, user("Also.")), SHIFTED),
    "a system message": (lambda m: put_in(m, system("Be kind.")), SHIFTED),
    "a mark": (lambda m: m.__setitem__(0, marked("Cask 0?")), []),
    "no oldest thinking": (lambda m: m.__setitem__(1, without_thinking(m[1])), []),
    "no newest thinking": (lambda m: m.__setitem__(5, without_thinking(m[5])), []),
    "a gap": (lambda m: m.__setitem__(3, without_thinking(m[3])), ALL[2:]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_the_blocks_behind_an_edit_alone_are_dropped(talk: Talk, edit: str) -> None:
    conversation = three_turns(talk)
    change, expected = EDITS[edit]
    change(conversation.messages)
    assert conversation.dropped() == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"system": "Be kind."}, ALL),
        ({"system": [{"type": "text", "text": "Be brief."}]}, []),
        ({"tools": [{**LOOK, "description": "Looks well."}, LATER]}, ALL),
        ({"tools": [LOOK]}, []),
        ({"tools": [LOOK, LATER, {**LATER, "name": "latest"}]}, []),
        ({"tools": [LOOK, {**LOOK, "name": "later"}]}, ALL),
        ({"max_tokens": 3_000, "output_config": {"effort": "low"}}, []),
    ],
)
def test_prefix_has_system_and_tools(talk: Talk, more: Body, expected: list[str]) -> None:
    assert three_turns(talk).dropped(**more) == expected


def test_a_deferred_tool_is_bound_from_the_block_on_that_names_it(talk: Talk) -> None:
    conversation = three_turns(talk)
    reference = {"type": "tool_reference", "name": "later"}
    offered = system([{"type": "tool_addition", "tool": reference}])
    conversation.ask(user("Now?"), offered)
    changed = [LOOK, {**LATER, "description": "Other."}]
    assert conversation.dropped() == []
    assert conversation.dropped(tools=changed) == ["messages.8.content.0"]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"system": "Be kind."}, " The `system` prompt differs from when"),
        ({"tools": []}, " The `tools` list differs from when the block was created."),
        ({"messages": [user("Cask?")]}, '"drop_block".'),
    ],
)
def test_the_refusal_names_what_changed(talk: Talk, more: Body, named: str) -> None:
    conversation = three_turns(talk)
    sent = conversation.request(user("Now?"), **more)
    if "messages" in more:
        sent.body["messages"] = [*more["messages"], *conversation.messages[1:]]
        sent.body["messages"].append(user("Now?"))
    refused = talk.send("anthropic", sent)
    assert refused.status_code == 400
    assert said(refused.json()).startswith(f"{ALL[0]}: Invalid `signature`")
    assert named in said(refused.json())


def test_the_count_endpoint_refuses_a_changed_prefix_too(talk: Talk) -> None:
    sent = three_turns(talk).request(user("Now?"), system="Be kind.")
    sent.body.pop("max_tokens")
    counted = sent._replace(path="/v1/messages/count_tokens")
    assert talk.status("anthropic", counted) == 400


def test_a_conversation_goes_on_behind_dropped_blocks(talk: Talk) -> None:
    """What is thought from then on is valid, whether the dropped blocks are still sent or not."""
    conversation = three_turns(talk)
    conversation.messages[0] = user("Cask?")
    sent = conversation.request(user("Now?"), behavior="drop_block")
    answer = talk.ok("anthropic", sent)
    thought = {"role": "assistant", "content": answer["content"]}
    conversation.messages += [user("Now?"), thought]
    assert conversation.dropped() == ALL
    kept = [without_thinking(each) for each in conversation.messages[1:6:2]]
    conversation.messages[1:6:2] = kept
    assert conversation.dropped() == []


def test_thinking_that_another_model_could_not_read_is_read_again(talk: Talk) -> None:
    conversation = three_turns(talk)
    conversation.body["model"] = "claude-opus-5"
    conversation.ask(user("Another?"))
    conversation.body["model"] = MODEL
    assert conversation.dropped() == []


# -- compaction on demand --


def test_the_thinking_of_kept_turns_outlives_a_compaction(talk: Talk) -> None:
    conversation = three_turns(talk)
    conversation.compact(3)
    assert len(conversation.messages) == 4
    assert conversation.dropped() == []


def test_the_thinking_of_kept_turns_outlives_several_compactions(talk: Talk) -> None:
    """That of before the first and that of in between."""
    conversation = three_turns(talk)
    conversation.compact(1)
    conversation.ask(user("A fourth?"))
    conversation.compact(3)
    conversation.ask(user("A fifth?"))
    conversation.compact(2)
    thoughts = [each for each in conversation.messages if each["role"] == "assistant"]
    assert len(thoughts) == 4
    assert conversation.dropped() == []


def test_what_was_thought_while_a_summary_was_written_is_kept(talk: Talk) -> None:
    """Compaction in the background: the conversation goes on meanwhile."""
    conversation = three_turns(talk)
    meanwhile = Conversation(talk, **conversation.body)
    meanwhile.messages = list(conversation.messages)
    meanwhile.compact(6)
    conversation.ask(user("Meanwhile?"))
    conversation.messages = [*meanwhile.messages, *conversation.messages[6:]]
    assert conversation.dropped() == []


def test_thinking_from_behind_a_summary_is_bound_to_it(talk: Talk) -> None:
    conversation = three_turns(talk)
    before = list(conversation.messages)
    conversation.compact(3)
    conversation.ask(user("A fourth?"))
    conversation.messages = [*before, *conversation.messages[-2:]]
    assert conversation.dropped() == ["messages.7.content.0"]


BROKEN: dict[str, Callable[[Conversation], Any]] = {
    "a message left out": lambda c: c.messages.__delitem__(1),
    "a message more": lambda c: c.messages.__setitem__(slice(1, 1), [user("Also.")]),
    "a message changed": lambda c: c.messages.__setitem__(2, user("Cask?")),
    "another system prompt": lambda c: c.body.update(system="Be kind."),
    "another tool": lambda c: c.body.update(tools=[LOOK, {**LOOK, "name": "see"}]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_kept_turns_that_changed_lose_their_thinking(talk: Talk, case: str) -> None:
    conversation = three_turns(talk)
    conversation.compact(3)
    BROKEN[case](conversation)
    assert conversation.dropped()
    assert talk.status("anthropic", conversation.request(user("Now?"))) == 400


@pytest.mark.parametrize(
    "more",
    [
        {"model": "claude-opus-5"},
        {"system": "Be kind.", "behavior": "drop_block"},
        {"tools": [], "behavior": "drop_block"},
    ],
)
def test_a_summary_by_another_model_keeps_no_thinking(talk: Talk, more: Body) -> None:
    conversation = three_turns(talk)
    conversation.compact(3, **more)
    assert conversation.dropped() == ["messages.1.content.0", "messages.3.content.0"]
    conversation.messages = [conversation.messages[0]]
    conversation.ask(user("A fourth?"))
    conversation.compact(2)
    assert conversation.dropped() == []


def test_kept_turns_begin_with_another_role_than_the_last_summarised(talk: Talk) -> None:
    """Messages of one role in a row are one message, of which a half can't be summarised."""
    conversation = Conversation(talk)
    conversation.ask(user("One."), user("Two."))
    conversation.compact(1)
    assert conversation.dropped() == ["messages.2.content.0"]


def test_a_system_message_belongs_to_the_message_in_front_of_it(talk: Talk) -> None:
    conversation = Conversation(talk)
    conversation.ask(user("One."), system("Be kind."))
    conversation.compact(2)
    assert conversation.dropped() == []


# -- the server's own compaction --


def test_nothing_in_front_of_the_servers_own_compaction_is_read() -> None:
    """What is thought behind its block is bound to the block, and stays valid whatever happens in front of it."""
    block = {"type": "compaction", "content": "All casks are full."}
    script = read(
        {
            "answers": [
                {
                    "when": {"contains": "And now?"},
                    "times": 1,
                    "extra": [block],
                    "text": "Full.",
                },
                {"reasoning": "Think of the casks. " * 9, "text": "Full."},
            ]
        }
    )
    with running(script) as server:
        conversation = Conversation(Talk(server), system="Be brief.")
        conversation.ask(user("A question. " * 900))
        asked = conversation.request(user("And now?"))
        given = conversation.talk.ok("anthropic", asked)
        answer = {"role": "assistant", "content": given["content"]}
        conversation.messages += [user("And now?"), answer]
        conversation.ask(user("And then?"))
        conversation.messages[0] = user("Another question.")
        assert conversation.dropped() == []
        assert server.truth().bills[-1].input < 500
        conversation.messages[3]["content"][0]["content"] = "Some are full."
        assert conversation.dropped() == ["messages.5.content.0"]
