import gzip
import os
from pathlib import Path

import pytest

from tests.cases import case
from tests.importers.folding import FIXTURES, Folded
from ullage.codec.dialects import DIALECTS
from ullage.errors import NotASession, UnreadableInput
from ullage.importers import read
from ullage.importers.detect import FIRST, LAST, formats
from ullage_programs.opencode.log_messages import OpenCodeReader
from ullage_programs.programs import PROGRAMS

LOGS = sorted(path for path in FIXTURES.glob("*/*.json*") if path.is_file())


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_format_is_told_by_its_content(path: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "log.txt"
    renamed.write_bytes(path.read_bytes())
    assert read(renamed).format == path.parent.name.replace("_", "-")
    Folded(read(renamed).events)


def test_each_reader_knows_the_dialect_in_which_its_program_logs_usage() -> None:
    own = [each.reader() for each in formats() if each not in (FIRST, LAST)]
    for reader in (*own, OpenCodeReader()):
        with case(reader.format):
            assert (reader.dialect or reader.format) in DIALECTS


def test_a_log_without_the_session_that_is_asked_for_says_which_it_has(
    tmp_path: Path,
) -> None:
    path = FIXTURES / "codex/session.jsonl"
    known = read(path).session
    assert read(path, session=known[-8:]).session == known
    with pytest.raises(UnreadableInput, match=f"has one session, {known}, and none"):
        read(path, session="nobody")


def test_a_file_that_is_no_log_says_what_was_tried(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text('{"nothing": "here"}\n')
    with pytest.raises(NotASession) as caught:
        read(path)
    assert [miss.format for miss in caught.value.tried] == [
        each.name for each in formats()
    ]
    assert {*PROGRAMS} <= {each.name for each in formats()}
    assert all(miss.missed for miss in caught.value.tried)
    path.write_text("# Notes\n\nnothing here\n")
    with pytest.raises(NotASession, match="it holds no JSON") as caught:
        read(path)
    assert "tried" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0" * 40])
def test_an_empty_file_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)
    with pytest.raises(NotASession, match="it is empty"):
        read(path)


@pytest.mark.parametrize("content", [b'{"a": 1}', b"[1, 2, 3]", b'{"a": {\n"b": [1,'])
def test_json_that_is_no_session_is_told_from_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(NotASession, match="plain: no object whose messages"):
        read(path)


def test_a_missing_file_and_a_directory_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="No such file"):
        read(tmp_path / "nowhere.jsonl")
    with pytest.raises(
        UnreadableInput, match=r"begun in the directory .*opencode export"
    ):
        read(tmp_path)


def test_a_compressed_log_says_how_to_unpack_it(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl.gz"
    path.write_bytes(gzip.compress(LOGS[0].read_bytes()))
    with pytest.raises(UnreadableInput, match=r"gunzip session\.jsonl\.gz"):
        read(path)


@pytest.mark.parametrize(
    ("begin", "says"),
    [
        (
            "\n# aider chat started at 2026-11-29 02:40:26\n\n#### Hello\n",
            "Aider's chat history.*`ullage proxy`",
        ),
        (
            "TO LLM 2026-11-29T02:40:33\n-------\nSYSTEM Act\n",
            "Aider's LLM history.*`ullage proxy`",
        ),
        (
            '{"payload":{"delta":[]},"recovery_journal_record_version":1,"sequence":1}\n',
            "Mistral Vibe's.*newest turn",
        ),
        (
            '{\n  "session_id": "1a0b",\n  "parent_session_id": null,\n  "git_commit": null\n}',
            "Mistral Vibe's.*newest turn",
        ),
        (
            '[{"ts":1769064455442,"type":"say","say":"text","text":"Hello"}]',
            "what Cline shows.*api_conversation_history.json",
        ),
    ],
)
def test_a_log_that_holds_too_little_says_so_and_what_to_read_instead(
    begin: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.txt"
    path.write_text(begin)
    with pytest.raises(UnreadableInput, match=says):
        read(path)


def test_a_chat_in_one_object_that_is_cut_short_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    whole = (FIXTURES / "gemini_cli/chat.json").read_bytes()
    path.write_bytes(whole[: whole.index(b"and this?")])
    with pytest.raises(NotASession, match="torn"):
        read(path)
    path.write_bytes(whole + b"\n\0\0")
    assert read(path).format == "gemini-cli"


def test_a_log_of_which_nothing_can_be_used_has_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"type":"user","parentUuid":null,"sessionId":"s"}\n')
    session = read(path)
    assert (session.usable, session.exit_code, session.skipped_lines) == (False, 2, 1)


@pytest.mark.skipif(
    "ULLAGE_RECORDINGS" not in os.environ,
    reason="needs ULLAGE_RECORDINGS, a directory of real logs",
)
def test_recorded_sessions_are_read_without_a_skipped_line() -> None:
    found = [
        path
        for path in Path(os.environ["ULLAGE_RECORDINGS"]).rglob("*.jsonl")
        if path.stat().st_size > 100_000
    ]
    assert found
    for path in found:
        session = read(path)
        assert session.reasons == ()
        assert None not in Folded(session.events).inputs()[1:2]
