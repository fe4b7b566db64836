import msgspec

from tests.importers.folding import FIXTURES, Folded
from ullage.events import CompactionCommitted, SessionStarted
from ullage.importers import ImportedSession, read
from ullage.messages import ImagePart, ReasoningPart
from ullage_programs.pi.log import PiReader


def imported(name: str) -> ImportedSession:
    return read(FIXTURES / "pi" / f"{name}.jsonl")


def lines(name: str) -> list[bytes]:
    return (FIXTURES / "pi" / f"{name}.jsonl").read_bytes().splitlines()


def test_the_session_says_who_wrote_it_where_and_about_what() -> None:
    session = imported("session")
    assert (session.format, session.session, session.cwd) == (
        "pi",
        "pi-session-1",
        "/home/ann/shop",
    )
    assert session.title == "Shop drawing"
    started = session.events[0]
    assert isinstance(started, SessionStarted)
    assert (started.model, started.wire, started.provider) == (
        "claude-opus-4-6",
        "messages",
        "anthropic",
    )


def test_cache_stands_outside_the_input_of_a_log_and_inside_ours() -> None:
    assert Folded(imported("session").events).inputs() == [2010, 2166]


def test_answers_that_failed_or_were_aborted_are_calls_but_are_not_sent_back() -> None:
    session = Folded(imported("session").events)
    assert [call.outcome for call in session.calls] == [
        "finished",
        "cancelled",
        "failed",
        "finished",
    ]
    aborted = session.calls[1].usage
    assert aborted is not None
    assert (aborted.input, aborted.output, aborted.final) == (2125, None, False)
    assert session.calls[2].usage is None
    assert "assistant: half" not in session.said()


def test_before_2026_an_aborted_answer_was_sent_back_without_its_tool_calls() -> None:
    reader = PiReader()
    session = Folded([*reader.feed(lines("version1")[:5]), *reader.settle()])
    assert session.said()[-1] == "assistant: <thinking>\nhm\n</thinking>"


def test_commands_of_the_user_are_told_to_the_model_unless_they_are_private() -> None:
    said = Folded(imported("session").events).said()
    assert "user: Ran `ls`\n```\na.svg\n```" in said
    assert not any("secret" in each for each in said)


def test_messages_of_extensions_are_injected() -> None:
    assert Folded(imported("session").events).messages["cm"].origin == "injected"


def test_images_and_signatures_are_kept_by_what_they_cost() -> None:
    session = Folded(imported("session").events)
    image = next(session.messages["m1"].of_type(ImagePart))
    assert (image.width, image.height) == (320, 240)
    thinking = next(session.messages["m2"].of_type(ReasoningPart))
    assert thinking.opaque_size == len("sig==")
    assert thinking.provider is not None
    assert msgspec.json.decode(thinking.provider.data) == {"thinkingSignature": "sig=="}


def test_an_entry_that_follows_an_older_one_opens_a_branch() -> None:
    reader = PiReader()
    session = Folded([*reader.feed(lines("branch")[:8]), *reader.settle()])
    said = session.said()
    assert said[:2] == ["user: one", "assistant: 1"]
    assert "tried two" in said[2]
    assert said[3:] == ["user: three", "assistant: 3"]


def test_a_compaction_keeps_from_its_first_kept_entry_on() -> None:
    events = imported("branch").events
    session = Folded(events)
    assert session.view == ["cp", "m5", "m6", "m7"]
    committed = next(event for event in events if isinstance(event, CompactionCommitted))
    assert committed.before == 562
    assert "one and three" in session.said()[0]


def test_the_oldest_version_has_neither_ids_nor_parents() -> None:
    session = Folded(imported("version1").events)
    assert session.said()[1:] == ["user: two", "assistant: <thinking>\nhm\n</thinking>"]
    assert dict(imported("version1").reasons) == {
        "unknown kind of entry: hologram": 1,
        "unknown role: oracle": 1,
        "torn: no complete JSON value": 1,
    }


def test_going_back_to_before_a_compaction_undoes_it() -> None:
    reader = PiReader()
    entry = {
        "type": "message",
        "id": "m8",
        "parentId": "m1",
        "message": {"role": "user", "content": "otherwise"},
    }
    session = Folded(
        [*reader.feed([*lines("branch"), msgspec.json.encode(entry)]), *reader.settle()]
    )
    assert session.said() == ["user: one", "user: otherwise"]
