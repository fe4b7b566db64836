import pytest

from ullage.envelope import LINE_BYTES, LOG_LINE_BYTES, LOG_LINES
from ullage.errors import UnreadableInput
from ullage.events import CallEnded, CallStarted, SessionStarted
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.reader import MOST_LISTED, ImportedSession, Reader, SkippedLines
from ullage.messages import Message


class EveryLine(Reader):
    """Each object is a message named by its ``id``; the last one is held back."""

    format = "every-line"

    def __init__(self) -> None:
        super().__init__()
        self.rows.session = "s"
        self.held = ""

    def read(self, entry: JsonObject) -> None:
        if "id" not in entry:
            raise Unusable("no id")
        self.rows.use_model("m", "chat", "p")
        self.close()
        self.held = entry["id"]

    def close(self) -> None:
        if self.held:
            self.rows.add(Message(id=self.held, role="user"))
        self.held = ""


def test_what_is_held_back_comes_when_nothing_more_follows() -> None:
    reader = EveryLine()
    assert len(reader.feed([b'{"id":"a"}', b'{"id":"b"}'])) == 2
    assert [event.message.id for event in reader.settle()] == ["b"]  # type: ignore[union-attr]


def test_empty_lines_are_none_and_bad_ones_are_counted_at_their_place() -> None:
    reader = EveryLine()
    reader.feed([b"\n", b"  \r\n", b"", b'{"x":1}\n', b"oops", b"[1]"])
    assert reader.skips.listed == [
        (4, "no id"),
        (5, "torn: no complete JSON value"),
        (6, "no JSON object"),
    ]
    assert reader.imported([]).lines == 6


def test_more_events_than_a_log_of_its_size_may_give_end_the_reading() -> None:
    reader = EveryLine()
    with pytest.raises(
        UnreadableInput, match=r"more than 24,\d+ lines or events.*tail -n 6000"
    ):
        reader.feed(b'{"id":"%d"}' % number for number in range(LOG_LINES + 1_000))
    padding = b" " * LINE_BYTES
    reader = EveryLine()
    reader.feed(
        b'{"id":"%d"}%s' % (number, padding) for number in range(LOG_LINES + 1_000)
    )
    assert not reader.skips.listed


class ThreeALine(EveryLine):
    """The same with three messages for each object."""

    def read(self, entry: JsonObject) -> None:
        for _ in range(3):
            super().read(entry)


def test_lines_that_give_many_events_each_end_the_reading_too() -> None:
    reader = ThreeALine()
    with pytest.raises(UnreadableInput, match="lines or events"):
        reader.feed(b'{"id":"%d"}' % number for number in range(LOG_LINES // 2))


def test_a_line_beyond_all_measure_is_not_decoded() -> None:
    reader = EveryLine()
    reader.feed([b'{"id":"' + b"x" * LOG_LINE_BYTES])
    assert dict(reader.skips.reasons) == {"longer than 64 MB": 1}


def test_a_persons_title_goes_before_the_programs_and_the_first_prompt() -> None:
    reader = EveryLine()
    reader.prompted("  \n ")
    reader.prompted("what\n is   this? " + "x" * 100)
    reader.prompted("something else")
    assert reader.title == "what is this? " + "x" * 65 + "…"
    reader.titles["program"] = "About this"
    assert reader.title == "About this"
    reader.titles["person"] = "Mine"
    assert reader.title == "Mine"


def test_a_session_without_message_and_call_is_not_usable() -> None:
    empty = ImportedSession(
        format="pi", session="s", events=(SessionStarted(), CallStarted(call="c"))
    )
    assert (empty.usable, empty.exit_code) == (False, 2)


def test_a_call_alone_is_enough() -> None:
    session = ImportedSession(
        format="pi", session="s", events=(SessionStarted(), CallEnded(call="c"))
    )
    assert (session.usable, session.exit_code) == (True, 0)


def test_all_skipped_lines_are_counted_but_only_the_first_are_listed() -> None:
    skips = SkippedLines()
    for line in range(MOST_LISTED + 500):
        skips.add(line, "torn" if line % 2 else "unknown")
    session = ImportedSession(
        format="pi",
        session="s",
        skipped=tuple(skips.listed),
        reasons=tuple(skips.reasons.most_common()),
    )
    assert len(session.skipped) == MOST_LISTED
    assert session.skipped_lines == MOST_LISTED + 500
    assert dict(session.reasons) == {"torn": 750, "unknown": 750}
