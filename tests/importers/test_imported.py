from ullage.events import CallEnded, CallStarted, SessionStarted
from ullage.importers.imported import MOST_LISTED, ImportedSession, SkippedLines


def test_a_session_without_message_and_call_is_not_usable() -> None:
    empty = ImportedSession(format="pi", session="s", events=(SessionStarted(), CallStarted(call="c")))
    assert (empty.usable, empty.exit_code) == (False, 2)


def test_a_call_alone_is_enough() -> None:
    session = ImportedSession(format="pi", session="s", events=(SessionStarted(), CallEnded(call="c")))
    assert (session.usable, session.exit_code) == (True, 0)


def test_all_skipped_lines_are_counted_but_only_the_first_are_listed() -> None:
    skips = SkippedLines()
    for line in range(MOST_LISTED + 500):
        skips.add(line, "torn" if line % 2 else "unknown")
    session = ImportedSession(
        format="pi", session="s", skipped=tuple(skips.listed), reasons=tuple(skips.reasons.most_common())
    )
    assert len(session.skipped) == MOST_LISTED
    assert session.skipped_lines == MOST_LISTED + 500
    assert dict(session.reasons) == {"torn": 750, "unknown": 750}
