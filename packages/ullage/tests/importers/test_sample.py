from itertools import pairwise
from pathlib import Path

from tests.importers.folding import Folded
from ullage.importers import read

SAMPLE = Path(__file__).parents[4] / "examples" / "session.jsonl"


def test_the_sample_session_shows_what_a_log_may_hold() -> None:
    sample = read(SAMPLE)
    assert (sample.format, sample.title, sample.reasons) == (
        "claude-code",
        "Expired tea timers stay in the list",
        (),
    )
    session = Folded(sample.events)
    assert len(session.main) > 40
    assert {call.purpose for call in session.calls} == {"main", "child"}
    assert {call.outcome for call in session.calls} == {"finished", "failed"}
    assert session.pruned
    kinds = {type(event).__name__ for event in sample.events}
    assert {"CompactionCommitted", "SystemChanged", "ToolsChanged", "Pruned"} <= kinds


def test_in_the_sample_the_context_grows_but_where_something_left_it() -> None:
    sizes = [size for size in Folded(read(SAMPLE).events).inputs() if size is not None]
    falls = [after for before, after in pairwise(sizes) if after < before]
    assert len(falls) == 2
