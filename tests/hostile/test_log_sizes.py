"""What a log costs is bounded by its size: five bytes of memory for each of its own beside 150 MB, and time in step."""

from pathlib import Path

import pytest

from tests.hostile.log_sizes import SESSIONS, SizedLog, logs_of, shapes
from tests.hostile.reading_costs import ReadingCost, reading_costs
from tests.tiers import first_of
from ullage.importers.detect import FORMATS

SIZE = 8_000_000
MOST_MB = 150
MOST_PER_BYTE = 5
MOST_PER_BYTE_WIDE = 8
"""Of a text with a character beyond U+FFFF, in which Python keeps each character in four bytes."""
MOST_GROWTH = 8
"""What four times the size may cost of the time: four times where it grows with the size, sixteen with its square."""

UNRECOGNISED = b'{"type":"user","message":{"role":"user","content":"hi"}}\n'


def costs_of(logs: list[SizedLog], directory: Path) -> dict[str, ReadingCost]:
    """What each costs, by what it holds."""
    paths = []
    for at, log in enumerate(logs):
        path = directory / f"{at}.jsonl"
        path.write_bytes(log.data)
        paths.append(path)
    costs = reading_costs(paths)
    for path in paths:
        path.unlink()
    return dict(zip((log.holds for log in logs), costs, strict=True))


def assert_bounded(logs: list[SizedLog], directory: Path) -> None:
    costs = costs_of(logs, directory)
    too_much = []
    for log in logs:
        per_byte = MOST_PER_BYTE_WIDE if "wide" in log.holds else MOST_PER_BYTE
        most = MOST_MB + per_byte * len(log.data) / 1e6
        if costs[log.holds].peak_mb > most:
            too_much.append((log.holds, round(costs[log.holds].peak_mb), round(most)))
    assert not too_much


@pytest.mark.parametrize("begin", first_of([UNRECOGNISED, b""]), ids=["line", "nothing"])
def test_a_file_of_no_program_takes_memory_by_its_size(
    begin: bytes, tmp_path: Path
) -> None:
    logs = [SizedLog(each.holds, begin + each.data) for each in shapes(SIZE)]
    assert_bounded(logs, tmp_path)


@pytest.mark.parametrize("program", first_of(sorted(SESSIONS)))
def test_a_log_takes_memory_by_its_size(program: str, tmp_path: Path) -> None:
    assert_bounded(list(logs_of(program, SIZE)), tmp_path)


@pytest.mark.parametrize("program", first_of(sorted(SESSIONS)))
def test_reading_a_log_takes_time_by_its_size(program: str, tmp_path: Path) -> None:
    small, large = (list(logs_of(program, size))[-1] for size in (400_000, 1_600_000))
    costs = costs_of([small, SizedLog("more", large.data)], tmp_path)
    assert costs[small.holds].told == costs["more"].told
    assert costs["more"].cpu_s < MOST_GROWTH * costs[small.holds].cpu_s


def test_there_is_a_log_of_each_program_that_writes_lines() -> None:
    programs = {each.name.replace("-", "_") for each in FORMATS}
    assert set(SESSIONS) == programs - {"opencode"}
