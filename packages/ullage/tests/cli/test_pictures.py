import os
from pathlib import Path

import pytest
from pytest import CaptureFixture

from tests.cli.logs import SECRET, empty_home, write_log
from ullage.cli import main


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    empty_home(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    return str(write_log(tmp_path / "session.jsonl"))


def test_a_picture_takes_the_place_of_the_text(
    log: str, capsys: CaptureFixture[str]
) -> None:
    Path("a.html").write_text("before")
    assert main(["context", log, "--html", "a.html", "--svg", "a.svg"]) == 0
    assert capsys.readouterr().out == "a.html is written.\na.svg is written.\n"
    assert Path("a.html").read_text("utf-8").startswith("<!doctype html>")
    assert Path("a.svg").read_text("utf-8").startswith("<svg")


def test_a_dash_is_standard_output(log: str, capsysbinary: CaptureFixture[bytes]) -> None:
    assert main(["context", log, "--html", "-"]) == 0
    assert capsysbinary.readouterr().out.endswith(b"</html>\n")


def test_a_picture_is_of_the_step_that_is_asked_for(log: str) -> None:
    main(["context", log, "--at", "2", "--svg", "a.svg"])
    assert "after 1 call<" in Path("a.svg").read_text("utf-8")


def test_without_content_nothing_of_the_conversation_is_drawn(log: str) -> None:
    main(["context", log, "--html", "a.html", "--no-content"])
    assert SECRET not in Path("a.html").read_text("utf-8")


@pytest.mark.parametrize("path", [".", "missing/a.svg", os.devnull])
def test_what_can_not_be_written_is_named(
    log: str, path: str, capsys: CaptureFixture[str]
) -> None:
    assert main(["context", log, "--svg", path]) == 2
    assert f"{path} can't be written: " in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--html", "--svg", "--png"])
def test_a_log_is_not_replaced(
    log: str, option: str, capsys: CaptureFixture[str]
) -> None:
    before = Path(log).read_bytes()
    Path("link.html").symlink_to(log)
    assert main(["context", log, option, log]) == 2
    assert main(["context", log, "--html", "link.html"]) == 2
    assert "session.jsonl can't be written: it is there" in capsys.readouterr().err
    assert Path(log).read_bytes() == before
