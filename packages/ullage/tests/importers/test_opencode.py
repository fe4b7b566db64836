from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.importers.folding import Folded
from tests.importers.opencode_database import make_database
from ullage.events import CompactionCommitted, ModelChanged, Pruned, SessionStarted
from ullage.importers import ImportedSession, read
from ullage.messages import ImagePart, ReasoningPart, ToolResultPart
from ullage_programs.opencode.log_messages import OpenCodeReader, steps_of, wire_of


def imported() -> ImportedSession:
    with TemporaryDirectory() as place:
        return read(make_database(Path(place) / "opencode.db"))


def test_the_session_says_who_wrote_it_where_and_about_what() -> None:
    session = imported()
    assert (session.format, session.session, session.cwd) == (
        "opencode",
        "ses_0001",
        "/home/ann/shop",
    )
    assert (session.title, session.program) == ("Price test", "opencode 1.1.4")
    started = session.events[0]
    assert isinstance(started, SessionStarted)
    assert (started.model, started.wire, started.provider) == (
        "claude-sonnet-4-5",
        "messages",
        "anthropic",
    )


def test_each_step_of_a_message_is_a_call_of_its_own() -> None:
    session = Folded(imported().events)
    assert session.inputs() == [9005, 9034, 9064, 9024, 700]
    assert [call.usage.output for call in session.main[:2] if call.usage] == [60, 20]


def test_answers_that_failed_are_calls_without_usage() -> None:
    failed = [
        call for call in Folded(imported().events).calls if call.outcome == "failed"
    ]
    assert [(call.usage, call.error) for call in failed] == [(None, "overloaded")]


def test_files_of_text_are_sent_as_the_text_parts_beside_them() -> None:
    first = Folded(imported().events).messages["msg_0001"]
    assert [type(part).__name__ for part in first.parts] == [
        "TextPart",
        "TextPart",
        "ImagePart",
    ]
    image = next(first.of_type(ImagePart))
    assert (image.width, image.height) == (320, 240)


def test_a_result_that_was_cleared_later_was_sent_whole_until_then() -> None:
    events = imported().events
    session = Folded(events)
    result = next(session.messages["msg_0002.results"].of_type(ToolResultPart))
    assert result.text == "class Price"
    pruned = next(event for event in events if isinstance(event, Pruned))
    assert pruned.parts == (result.id,)
    at = events.index(pruned)
    assert any(getattr(event, "call", "") == "msg_0005" for event in events[at:])


def test_an_unfinished_tool_is_reported_as_interrupted() -> None:
    result = next(
        Folded(imported().events).messages["msg_0007.results"].of_type(ToolResultPart)
    )
    assert (result.text, result.is_error) == ("[Tool execution was interrupted]", True)


def test_a_compaction_keeps_its_tail_and_its_call_is_spend() -> None:
    events = imported().events
    session = Folded(events)
    assert session.said()[0] == "assistant: Price was read."
    assert session.view[1:] == [
        "msg_0006",
        "msg_0007",
        "msg_0007.results",
        "msg_0010",
        "msg_0011",
    ]
    committed = next(event for event in events if isinstance(event, CompactionCommitted))
    assert committed.summary_tokens == 200
    assert [
        call.usage.input
        for call in session.calls
        if call.purpose == "summary" and call.usage
    ] == [9100]


def test_subagents_are_spend_and_not_context() -> None:
    children = [
        call for call in Folded(imported().events).calls if call.purpose == "child"
    ]
    assert [(call.usage.input, call.model) for call in children if call.usage] == [
        (3000, "claude-sonnet-4-5")
    ]


def test_signatures_are_kept_with_their_thinking() -> None:
    thinking = next(Folded(imported().events).messages["msg_0002"].of_type(ReasoningPart))
    assert thinking.provider is not None
    assert (
        bytes(thinking.provider.data)
        == b'{"metadata":{"anthropic":{"signature":"c2ln"}}}'
    )
    assert thinking.opaque_size == 4


@pytest.mark.parametrize(
    ("provider", "model", "wire"),
    [
        ("anthropic", "claude-sonnet-4-5", "messages"),
        ("openai", "gpt-5.2", "responses"),
        ("google", "gemini-3-pro-preview", "generateContent"),
        ("google-vertex", "claude-opus-4-6", "messages"),
        ("amazon-bedrock", "anthropic.claude-opus-4-6", "converse"),
        ("opencode", "claude-haiku-4-5", "messages"),
        ("opencode", "kimi-k2", "chat"),
        ("github-copilot", "gpt-5.1", "responses"),
        ("openrouter", "anthropic/claude-opus-4-6", "chat"),
        ("zai", "glm-5", "chat"),
    ],
)
def test_the_wire_follows_the_provider_and_behind_gateways_the_model(
    provider: str, model: str, wire: str
) -> None:
    assert wire_of(provider, model) == wire


def test_a_message_without_finished_steps_is_one_step() -> None:
    text = {"type": "text", "text": "a"}
    assert [(step.parts, step.finish) for step in steps_of([text])] == [((text,), None)]
    assert len(steps_of([])) == 1


def test_what_follows_the_last_finished_step_is_an_unfinished_one() -> None:
    finish = {"type": "step-finish", "tokens": {}}
    text = {"type": "text", "text": "a"}
    steps = steps_of([{"type": "step-start"}, text, finish, {"type": "step-start"}, text])
    assert [step.finish for step in steps] == [finish, None]


def test_a_summary_that_another_model_writes_does_not_change_the_sessions_model() -> None:
    reader = OpenCodeReader()
    tokens = {"input": 50, "output": 4, "cache": {"read": 0, "write": 0}}

    def answer(name: str, model: str, provider: str, **more: object) -> None:
        text = {"type": "text", "text": name}
        done = {"type": "step-finish", "reason": "stop", "tokens": tokens}
        info = {"id": name, "role": "assistant", "modelID": model, "providerID": provider}
        reader.message(info | more, [text, done])

    answer("one", "gpt-5", "openai")
    ask = {"id": "ask", "role": "user"}
    reader.message(ask, [{"type": "compaction", "auto": False}])
    answer("two", "claude-sonnet-4-5", "anthropic", summary=True)
    answer("three", "gpt-5", "openai")
    events = reader.settle()
    assert not any(isinstance(event, ModelChanged) for event in events)
    summary = Folded(events).calls[1]
    assert (summary.purpose, summary.model, summary.provider) == (
        "summary",
        "claude-sonnet-4-5",
        "anthropic",
    )
