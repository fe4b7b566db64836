from itertools import pairwise

from bench.history import chat_messages, declared_tools, events
from ullage.events import CallEnded, MessageAdded
from ullage.messages import ToolCallPart, ToolResultPart


def test_every_tool_call_is_followed_by_its_result() -> None:
    for one, other in pairwise(chat_messages(200)):
        assert [call["id"] for call in one.get("tool_calls", ())] == [
            each["tool_call_id"] for each in [other] if each["role"] == "tool"
        ]


def test_a_longer_history_repeats_texts_but_no_ids() -> None:
    history = chat_messages(10_020)
    assert history[-20]["content"] == history[0]["content"]
    results = [chat["tool_call_id"] for chat in history if chat["role"] == "tool"]
    assert len(set(results)) == len(results)


def test_events_and_chat_messages_say_the_same() -> None:
    history = chat_messages(50)
    made = list(events(history))
    added = [event.message for event in made if isinstance(event, MessageAdded)]
    assert [message.role for message in added] == [chat["role"] for chat in history]
    results = [part for message in added for part in message.of_type(ToolResultPart)]
    assert [part.text for part in results] == [
        chat["content"] for chat in history if chat["role"] == "tool"
    ]
    assert [part.call_id for part in results] == [
        part.call_id for message in added for part in message.of_type(ToolCallPart)
    ]


def test_every_called_tool_is_declared_once() -> None:
    declared = [tool.name for tool in declared_tools()]
    called = {
        call["function"]["name"]
        for chat in chat_messages(1_000)
        for call in chat.get("tool_calls", ())
    }
    assert len(set(declared)) == len(declared)
    assert called <= set(declared)


def test_the_reported_input_grows_with_the_history() -> None:
    reported = [
        event.usage
        for event in events(chat_messages(100))
        if isinstance(event, CallEnded)
    ]
    inputs = [usage.input or 0 for usage in reported if usage is not None]
    assert len(inputs) == 50
    assert all(earlier < later for earlier, later in pairwise(inputs))
