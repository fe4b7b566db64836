from pathlib import Path

import pytest

from ullage.importers.branching import branched
from ullage.importers.detect import reader_for
from ullage.meter.meter import Meter

FIXTURES = Path(__file__).parent / "fixtures"
LOGS = sorted(path for path in FIXTURES.rglob("*.jsonl") if "opencode" not in path.parts)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_a_branch_reads_leaves_the_reader_as_it_was(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    middle = len(lines) // 2
    alone, disturbed = reader_for(log), reader_for(log)
    before = alone.feed(lines[:middle])
    assert disturbed.feed(lines[:middle]) == before
    branch = branched(disturbed)
    branch.feed(lines[middle:] * 2)
    branch.settle()
    rest = alone.feed(lines[middle:]) + alone.settle()
    assert disturbed.feed(lines[middle:]) + disturbed.settle() == rest


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_a_branch_measures_leaves_the_meter_as_it_was(log: Path) -> None:
    reader = reader_for(log)
    events = reader.feed(log.read_bytes().splitlines()) + reader.settle()
    alone, disturbed = Meter(estimator="pretoken"), Meter(estimator="pretoken")
    for place, event in enumerate(events):
        alone.apply(event)
        disturbed.apply(event)
        branch = branched(disturbed)
        for later in events[place + 1 : place + 4]:
            branch.apply(later)
        branch.reading()
        assert disturbed.reading() == alone.reading()


def test_collections_are_copied_once_and_words_are_shared() -> None:
    reader = reader_for(FIXTURES / "pi" / "session.jsonl")
    reader.feed((FIXTURES / "pi" / "session.jsonl").read_bytes().splitlines())
    branch = branched(reader)
    assert branch.rows is not reader.rows and branch.rows.messages is not reader.rows.messages
    assert all(branch.rows.messages[name] is message for name, message in reader.rows.messages.items())
    shared: list[int] = []
    first, second = branched((shared, shared))
    assert first is second is not shared
