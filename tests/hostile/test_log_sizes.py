"""What a log costs is bounded by its size: five bytes of memory for each of its own beside 150 MB, and time in step."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.hostile.database_sizes import DATABASES
from tests.hostile.log_sizes import (
    DOCUMENTS,
    IN_DATABASES,
    SESSIONS,
    SizedLog,
    documents_of,
    logs_of,
    logs_of_copies,
    shapes,
)
from tests.hostile.measuring import peak_mb
from tests.hostile.reading_costs import ReadingCost, reading_costs
from tests.server.served import process
from tests.tiers import first_of
from ullage.importers.detect import formats

SIZE = 8_000_000
MOST_MB = 150
MOST_PER_BYTE = 5
LONG = 60_000_000
"""A line near the longest that is read: beside it the 150 MB hide no copy of a text with a character beyond U+FFFF,
in which Python keeps each character in four bytes."""
MOST_GROWTH = 8
"""What four times the size may cost of the time: four times where it grows with the size, sixteen with its square."""

UNRECOGNISED = b'{"type":"user","message":{"role":"user","content":"hi"}}\n'


def written(logs: Iterable[SizedLog], directory: Path) -> dict[str, Path]:
    """A file of each, by what it holds."""
    paths: dict[str, Path] = {}
    for log in logs:
        paths[log.holds] = directory / f"{len(paths)}.jsonl"
        paths[log.holds].write_bytes(log.data)
    return paths


def costs_of(paths: dict[str, Path]) -> dict[str, ReadingCost]:
    return dict(zip(paths, reading_costs(list(paths.values())), strict=True))


def assert_bounded(paths: dict[str, Path]) -> None:
    costs = costs_of(paths)
    too_much = []
    for holds, path in paths.items():
        peak, most = costs[holds].peak_mb, most_mb(path)
        if peak > most:
            too_much.append((holds, round(peak), round(most)))
        path.unlink()
    assert not too_much


def most_mb(path: Path) -> float:
    return MOST_MB + MOST_PER_BYTE * path.stat().st_size / 1e6


@pytest.mark.parametrize("begin", first_of([UNRECOGNISED, b""]), ids=["line", "nothing"])
def test_a_file_of_no_program_takes_memory_by_its_size(
    begin: bytes, tmp_path: Path
) -> None:
    logs = (SizedLog(each.holds, begin + each.data) for each in shapes(SIZE))
    assert_bounded(written(logs, tmp_path))


@pytest.mark.parametrize("program", first_of(sorted(SESSIONS)))
def test_a_log_takes_memory_by_its_size(program: str, tmp_path: Path) -> None:
    assert_bounded(written(logs_of(program, SIZE), tmp_path))


@pytest.mark.parametrize("program", first_of(sorted(SESSIONS)))
def test_a_long_line_takes_memory_by_its_size(program: str, tmp_path: Path) -> None:
    assert_bounded(written(logs_of_copies(program, LONG), tmp_path))


@pytest.mark.parametrize("holds", first_of(list(DATABASES)))
def test_a_database_takes_memory_by_its_size(holds: str, tmp_path: Path) -> None:
    size = LONG if "huge" in holds else SIZE
    path = tmp_path / "opencode.db"
    DATABASES[holds](size).write(path)
    assert_bounded({holds: path})


def test_an_uploaded_log_takes_memory_by_its_size(tmp_path: Path) -> None:
    database = tmp_path / "opencode.db"
    DATABASES["a huge wide part"](LONG).write(database)
    logs = written(logs_of_copies("plain", LONG), tmp_path)
    for path in (database, *logs.values()):
        with process("", tmp_path / "s.db", simulate=True) as server, server.api() as api:
            idle = peak_mb(
                server.pid
            )  # more than that of a process that reads logs alone
            answer = api.post("/v1/look", content=path.read_bytes(), timeout=300)
            assert answer.status_code == 200
            assert peak_mb(server.pid) - idle < most_mb(path) - MOST_MB / 2


@pytest.mark.parametrize("program", first_of(sorted(SESSIONS)))
def test_reading_a_log_takes_time_by_its_size(program: str, tmp_path: Path) -> None:
    small, large = (list(logs_of(program, size))[-1] for size in (400_000, 1_600_000))
    paths = written([small, SizedLog("more", large.data)], tmp_path)
    tries = [costs_of(paths) for _ in range(3)]
    assert len({costs[holds].told for costs in tries for holds in paths}) == 1
    least = {holds: min(costs[holds].cpu_s for costs in tries) for holds in paths}
    assert least["more"] < MOST_GROWTH * least[small.holds]


@pytest.mark.parametrize("program", first_of(sorted(DOCUMENTS)))
def test_a_document_takes_memory_by_its_size(program: str, tmp_path: Path) -> None:
    assert_bounded(written(documents_of(program, SIZE), tmp_path))


def test_there_is_a_log_of_each_program() -> None:
    programs = {each.name.replace("-", "_") for each in formats()}
    assert {*SESSIONS, *DOCUMENTS, *IN_DATABASES} == programs
