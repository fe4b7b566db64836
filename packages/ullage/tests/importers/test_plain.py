from tests.importers.folding import FIXTURES, Folded
from ullage.events import ParamsChanged, SessionStarted, SystemChanged, ToolsChanged
from ullage.importers import ImportedSession, read
from ullage.importers.plain import PlainReader
from ullage.messages import ImagePart, ReasoningPart


def imported(name: str) -> ImportedSession:
    return read(FIXTURES / "plain" / name)


def started(session: ImportedSession) -> tuple[str, str]:
    first = session.events[0]
    assert isinstance(first, SessionStarted)
    return first.model, first.wire


def test_an_anthropic_body_with_its_answer_is_one_call() -> None:
    session = imported("anthropic_body.json")
    assert started(session) == ("claude-haiku-4-5", "messages")
    folded = Folded(session.events)
    assert folded.inputs() == [700]
    assert folded.main[0].stop == "end_turn"
    assert [said.split(" ")[0] for said in folded.said()] == [
        "user:",
        "assistant:",
        "tool:",
        "assistant:",
    ]
    image = next(folded.messages[folded.view[0]].of_type(ImagePart))
    assert (image.width, image.height) == (320, 240)
    assert (
        next(event for event in session.events if isinstance(event, SystemChanged))
        .system[0]
        .text
        == "Be brief."
    )
    assert (
        next(event for event in session.events if isinstance(event, ToolsChanged))
        .tools[0]
        .name
        == "look"
    )
    assert next(
        event for event in session.events if isinstance(event, ParamsChanged)
    ).params == {"max_tokens": 1000}


def test_a_list_of_chat_messages_is_a_conversation_without_calls() -> None:
    session = imported("chat_list.json")
    folded = Folded(session.events)
    assert started(session)[1] == "chat"
    assert folded.calls == []
    assert len(folded.view) == 4
    assert (
        next(event for event in session.events if isinstance(event, SystemChanged))
        .system[0]
        .text
        == "Be brief."
    )


def test_lines_of_messages_with_usage_are_calls_even_when_they_repeat() -> None:
    session = imported("chat_messages.jsonl")
    folded = Folded(session.events)
    assert started(session) == ("gpt-5.1", "chat")
    assert folded.inputs() == [9, 21]
    assert folded.said() == [
        "user: hello",
        "assistant: Hi.",
        "user: hello",
        "assistant: Hi.",
    ]
    assert dict(session.reasons) == {"neither a request, an answer nor a message": 1}


def test_exchanges_are_one_conversation_that_goes_on() -> None:
    session = imported("exchanges.jsonl")
    folded = Folded(session.events)
    assert folded.inputs() == [8, 17]
    assert [call.outcome for call in folded.calls] == ["finished", "failed", "finished"]
    assert folded.said() == ["user: one", "assistant: 1", "user: three", "assistant: 3"]
    assert folded.main[0].model == "gpt-5.1-2025"
    assert session.skipped_lines == 1


def test_a_responses_body_is_read() -> None:
    session = imported("responses_body.json")
    assert started(session) == ("gpt-5.2", "responses")
    folded = Folded(session.events)
    reasoning = next(
        part
        for name in folded.view
        for part in folded.messages[name].of_type(ReasoningPart)
    )
    assert reasoning.opaque_size == 4


def test_a_gemini_body_with_its_answer_is_one_call() -> None:
    session = imported("gemini_body.json")
    assert started(session) == ("gemini-3-pro-preview", "generateContent")
    assert Folded(session.events).inputs() == [5]


def test_an_answer_alone_is_nothing_to_go_by() -> None:
    reader = PlainReader()
    reader.feed(
        [b'{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":3}}']
    )
    reader.settle()
    assert dict(reader.skips.reasons) == {"an answer without a request before it": 1}
