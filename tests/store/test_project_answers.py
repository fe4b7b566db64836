from __future__ import annotations

from pathlib import Path

import pytest

from ullage.errors import CommandRefused, UllageError
from ullage.store.project_answers import ProjectAnswer, ProjectAnswers


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


def test_an_answer_is_for_one_directory_and_one_content(
    tmp_path: Path, project: Path
) -> None:
    answers = ProjectAnswers(tmp_path / "data")
    assert answers.of(project, "a") is None
    answers.add(project, "a", is_agreed=True)
    assert answers.of(project, "a") is True
    assert answers.of(project, "b") is None
    assert answers.of(tmp_path, "a") is None
    answers.add(project, "b", is_agreed=False)
    assert (answers.of(project, "a"), answers.of(project, "b")) == (None, False)
    assert answers.all() == [ProjectAnswer(str(project), "b", False)]
    assert answers.remove(project) and not answers.remove(project)
    assert answers.of(project, "b") is None and not answers.all()


def test_an_answer_about_an_address_stands_beside_that_about_the_file(
    tmp_path: Path, project: Path
) -> None:
    answers = ProjectAnswers(tmp_path / "data")
    one, other = "http://one.example/v1", "http://other.example/v1"
    answers.add(project, "a", is_agreed=False)
    answers.add(project, one, is_agreed=True)
    assert answers.of(project, "a") is False
    assert answers.of_address(project, one) is True
    assert answers.of_address(project, other) is None
    assert answers.of_address(tmp_path, one) is None
    answers.add(project, other, is_agreed=False)
    assert answers.of_address(project, one) is True
    assert [each.address for each in answers.all()] == ["", one, other]
    assert answers.remove(project)
    assert answers.of_address(project, one) is None and not answers.all()
    assert answers.knows(project)


def test_no_answer_about_an_address_is_believed_that_tools_could_write(
    project: Path,
) -> None:
    address = "http://one.example"
    inside = ProjectAnswers(project / "data")
    with pytest.raises(CommandRefused):
        inside.add(project, address, is_agreed=True)
    inside._write(project, address, is_agreed=True)
    assert inside.of_address(project, address) is None


def test_a_note_of_a_session_is_no_answer_and_takes_none_away(
    tmp_path: Path, project: Path
) -> None:
    answers = ProjectAnswers(tmp_path / "data")
    assert not answers.knows(project)
    answers.note_session(project)
    assert (
        answers.knows(project)
        and answers.knows(project / "below")
        and not answers.knows(tmp_path / "other")
    )
    assert (
        answers.latest(project) is None
        and not answers.all()
        and not answers.remove(project)
    )
    answers.add(project, "a", is_agreed=True)
    answers.note_session(project)
    assert answers.of(project, "a") is True


def test_a_link_to_a_directory_is_that_directory(tmp_path: Path, project: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    answers = ProjectAnswers(tmp_path / "data")
    answers.add(tmp_path / "link", "a", is_agreed=True)
    assert answers.of(project, "a") is True


def test_a_project_that_holds_the_answers_gets_none(project: Path) -> None:
    answers = ProjectAnswers(project / "data")
    with pytest.raises(CommandRefused, match="it contains Ullage's own data"):
        answers.add(project, "a", is_agreed=True)
    assert answers.of(project, "a") is None


def test_a_damaged_or_linked_file_answers_nothing(tmp_path: Path, project: Path) -> None:
    answers = ProjectAnswers(tmp_path / "data")
    answers.add(project, "a", is_agreed=True)
    (path,) = answers.directory.iterdir()
    assert path.stat().st_mode & 0o077 == 0
    whole = path.read_bytes()
    for damaged in (
        b"",
        b"{",
        whole[:-5],
        b"[" * 5_000,
        whole.replace(b'"version":1', b'"version":2'),
    ):
        path.write_bytes(damaged)
        assert answers.of(project, "a") is None and not answers.all()
    (tmp_path / "elsewhere.json").write_bytes(whole)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere.json")
    assert answers.of(project, "a") is None


def test_an_answer_that_can_not_be_written_says_so(tmp_path: Path, project: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(UllageError, match="can't be written"):
        ProjectAnswers(tmp_path / "data").add(project, "a", is_agreed=True)
