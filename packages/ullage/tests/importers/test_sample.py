"""The sample session shows what the README and the start pages promise of it."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.importers.folding import Folded
from ullage.advice.history import WindowHistory, history_of
from ullage.advice.suggestions import Advice, advice_of
from ullage.importers import ImportedSession, read
from ullage.meter.meter import Meter

SAMPLE = Path(__file__).parents[4] / "examples" / "session.jsonl"


@pytest.fixture(scope="module")
def sample() -> ImportedSession:
    return read(SAMPLE)


def advised(sample: ImportedSession) -> tuple[WindowHistory, Advice]:
    meter = Meter(estimator="pretoken")
    history = history_of(sample.events, meter)
    return history, advice_of(history, meter, sample.events)


def test_it_is_read_whole_and_holds_a_failed_call_and_a_compaction(
    sample: ImportedSession,
) -> None:
    assert (sample.format, sample.reasons) == ("claude-code", ())
    assert sample.title == "Orders are lost when the checkout reloads"
    session = Folded(sample.events)
    assert {call.outcome for call in session.calls} == {"finished", "failed"}
    sizes = [size for size in session.inputs() if size is not None]
    assert len([after for before, after in pairwise(sizes) if after < before]) == 1


def test_it_is_nearly_full_and_four_suggestions_save_dollars(
    sample: ImportedSession,
) -> None:
    history, advice = advised(sample)
    assert 150_000 < history.used < 160_000
    kinds = {each.kind for each in advice.suggestions}
    assert kinds == {"pictures", "long_output", "unused_server", "cache"}
    assert all((each.saving.usd or 0) > 1 for each in advice.suggestions)
    assert advice.total.usd and advice.usd and advice.total.usd > 0.3 * advice.usd
    (cause,) = [each for each in history.causes.values() if each and each.usd]
    assert (cause.kind, cause.name) == ("tool_added", "mcp__figma__get_frame")
    assert advice.compaction and advice.compaction.left
    assert advice.compaction.left.calls <= 10
