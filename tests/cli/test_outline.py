from pathlib import Path

import pytest

from tests.cli.logs import write_log
from ullage.cli import outline as module
from ullage.cli.outline import first_line, outline
from ullage.errors import FormatMiss, NotASession
from ullage.importers import FoundSession


def place(path: Path) -> FoundSession:
    return FoundSession("pi", path, 1.0)


def test_a_small_log_is_read_whole(tmp_path: Path) -> None:
    found = outline(place(write_log(tmp_path / "a.jsonl")))
    assert (found.whole, found.calls, found.model) == (True, 4, "claude-haiku-4-5")


def test_of_a_large_log_only_the_ends_are_read_and_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_log(tmp_path / "a.jsonl", calls=40)
    monkeypatch.setattr(module, "HEAD_BYTES", 4_000)
    monkeypatch.setattr(module, "TAIL_BYTES", 20_000)
    found = outline(place(path))
    assert not found.whole
    assert 0 < found.calls < 40
    assert found.title.startswith("Fix the parser")
    assert found.reading is not None
    assert found.reading.basis.last_input == 2_100 + 1_250 * 39


def test_a_log_without_a_reported_call_has_no_reading(tmp_path: Path) -> None:
    found = outline(place(write_log(tmp_path / "a.jsonl", calls=0)))
    assert found.reading is None
    assert found.problem == ""


def test_a_file_that_vanished_is_a_problem_not_an_exception(tmp_path: Path) -> None:
    assert "No such file" in outline(place(tmp_path / "gone.jsonl")).problem


def test_a_json_document_that_is_too_large_for_a_list_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DOCUMENT_BYTES", 10)
    path = tmp_path / "chat.json"
    path.write_text('{"messages": []}')
    assert "too large for a list" in outline(place(path)).problem


def test_an_error_is_shortened_to_its_first_line() -> None:
    assert first_line(NotASession("x.jsonl", (FormatMiss("pi", "a header"),))) == (
        "x.jsonl is no session log that Ullage can read."
    )
    assert first_line(OSError(13, "Permission denied")) == "Permission denied"
    assert first_line(ValueError()) == "ValueError"
