from tests.importers.folding import FIXTURES, Folded
from ullage.events import CompactionCommitted, MessageReplaced, SessionStarted
from ullage.importers import ImportedSession, read
from ullage.messages import ToolResultPart
from ullage_programs.gemini_cli.log import GeminiCliReader


def imported(name: str) -> ImportedSession:
    return read(FIXTURES / "gemini_cli" / name)


def lines(name: str) -> list[bytes]:
    return (FIXTURES / "gemini_cli" / name).read_bytes().splitlines()


def test_the_session_says_who_wrote_it_where_and_about_what() -> None:
    session = imported("session.jsonl")
    assert (session.format, session.cwd, session.title) == (
        "gemini-cli",
        "/home/ann/shop",
        "Prices explained",
    )
    started = session.events[0]
    assert isinstance(started, SessionStarted)
    assert (started.model, started.wire) == ("gemini-3-pro-preview", "generateContent")


def test_a_record_that_comes_again_is_one_call_and_its_results_are_read_once() -> None:
    reader = GeminiCliReader()
    session = Folded([*reader.feed(lines("session.jsonl")[:8]), *reader.settle()])
    assert session.inputs() == [8000, 8100]
    first = session.main[0].usage
    assert first is not None
    assert (first.output, first.reasoning) == (75, 45)
    assert session.said()[2:] == [
        "assistant: <ReasoningPart> <ToolCallPart>",
        'tool: [read_file] {"output":"class Price"}',
        "assistant: It holds prices.",
    ]


def test_notices_and_commands_to_the_program_are_not_sent() -> None:
    said = Folded(imported("session.jsonl").events).said()
    assert not any(
        "/stats" in each or "Update" in each or "API Error" in each for each in said
    )


def test_a_rewind_takes_back_its_message_and_all_after_it() -> None:
    session = Folded(imported("session.jsonl").events)
    assert session.said()[-2:] == ["assistant: It holds prices.", "user: right question"]
    assert session.inputs() == [8000, 8100, 8120]


def test_masked_results_are_replaced_by_what_stands_there_now() -> None:
    events = imported("compression.jsonl").events
    replaced = next(
        event for event in events if isinstance(event, MessageReplaced)
    ).message
    result = next(replaced.of_type(ToolResultPart))
    assert result.cleared
    assert replaced.revision == 1


def test_a_compression_leaves_its_snapshot_and_what_it_kept() -> None:
    events = imported("compression.jsonl").events
    committed = next(event for event in events if isinstance(event, CompactionCommitted))
    assert committed.summary is not None
    assert committed.summary.id == "s1"
    session = Folded(events)
    assert session.said() == [
        "user: <state_snapshot>all read</state_snapshot>",
        "assistant: read",
        "assistant: Got it. Thanks for the additional context!",
    ]


def test_a_rollback_to_an_earlier_history_is_a_rewind_and_its_calls_stay_spent() -> None:
    session = Folded(imported("compression.jsonl").events)
    assert session.inputs() == [90000, 91000, 2100]
    assert not any("go on" in each for each in session.said())


def test_the_older_form_is_one_object() -> None:
    chat = imported("chat.json")
    assert (chat.format, chat.title, chat.exit_code) == ("gemini-cli", "what is this?", 0)
    assert Folded(chat.events).inputs() == [7000, 7100]
    assert dict(chat.reasons) == {"no `type`": 1}
    assert Folded(chat.events).said()[-2:] == [
        "assistant: A price. <ToolCallPart>",
        'tool: [read_file] {"output":"x"}',
    ]
