import pytest

from ullage.meter.limit_texts import (
    passed_sentence,
    threshold_sentence,
    threshold_source,
    window_source,
)
from ullage.meter.reading import CompactionThreshold, Window

OURS = CompactionThreshold(tokens=160_000, source="assumed")
WOULD = CompactionThreshold(tokens=160_000, source="assumed", by="")
THEIRS = CompactionThreshold(
    tokens=167_000, source="documented", by="Claude Code", note="33,000 below the window"
)
OFF = CompactionThreshold(
    tokens=None, source="settings", by="pi", note="turned off by compaction.enabled"
)
NEVER = CompactionThreshold(tokens=None, source="user")


@pytest.mark.parametrize(
    ("threshold", "sentence"),
    [
        (OURS, "compacts at 160,000"),
        (WOULD, "Ullage would compact at 160,000"),
        (THEIRS, "Claude Code compacts at 167,000"),
        (OFF, "pi does not compact: turned off by compaction.enabled"),
        (NEVER, ""),
    ],
)
def test_thresholds_have_owners(threshold: CompactionThreshold, sentence: str) -> None:
    assert threshold_sentence(threshold) == sentence


def test_a_passed_threshold_is_named_with_its_owner() -> None:
    assert passed_sentence(OURS) == "past the compaction threshold, 160,000"
    assert passed_sentence(WOULD) == "past 160,000, where Ullage would compact"
    assert passed_sentence(THEIRS) == "past 167,000, where Claude Code compacts"


def test_sources_are_told_in_words() -> None:
    assert (
        threshold_source(THEIRS)
        == "threshold: the program's default (33,000 below the window)"
    )
    assert threshold_source(WOULD) == ""
    log = Window(tokens=258_400, source="log")
    assert window_source(log) == "window: named by the log"
    assert window_source(Window(tokens=None, source="unknown")) == ""
