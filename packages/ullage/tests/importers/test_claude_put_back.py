"""What comes back after a compaction of Claude Code, by logs that have no lines for it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.envelope import LOG_STEPS, STEP_CHARS
from ullage.errors import UnreadableInput
from ullage.events import CompactionCommitted
from ullage.messages import TextPart
from ullage_programs.claude_code.log import ClaudeCodeReader
from ullage_programs.claude_code.log_put_back import PutBack
from ullage_programs.policy import LARGEST_FILE, LARGEST_SKILL

OLD, NEW = "2.1.49", "2.1.87"


def read(path: str, content: str, *, shown: int = 0, total: int = 0) -> dict[str, Any]:
    lines = content.count("\n") + 1
    file = {
        "filePath": path,
        "content": content,
        "numLines": shown or lines,
        "startLine": 1,
        "totalLines": total or lines,
    }
    return {"type": "text", "file": file}


def written(path: str, content: str) -> dict[str, Any]:
    return {"type": "create", "filePath": path, "content": content}


def edited(path: str, before: str | None, old: str, new: str) -> dict[str, Any]:
    return {
        "filePath": path,
        "originalFile": before,
        "oldString": old,
        "newString": new,
    }


class Log:
    """A log of one session, line by line."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.lines: list[dict[str, Any]] = []
        self.user("go on")

    def _add(self, kind: str, **fields: Any) -> None:
        number = len(self.lines)
        line = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s1",
            "version": self.version,
            **fields,
        }
        self.lines.append(line)

    def user(self, content: object, **fields: Any) -> None:
        self._add("user", message={"role": "user", "content": content}, **fields)

    def result(self, result: object) -> None:
        name = f"t{len(self.lines)}"
        call = {"type": "tool_use", "id": name, "name": "Read", "input": {}}
        self._add(
            "assistant",
            message={
                "id": f"m{name}",
                "role": "assistant",
                "model": "claude-opus-4-6",
                "content": [call],
            },
        )
        answer = {"type": "tool_result", "tool_use_id": name, "content": "ok"}
        self.user([answer], toolUseResult=result)

    def attachment(self, kind: str) -> None:
        self._add("attachment", attachment={"type": kind, "content": "- review"})

    def compaction(self) -> None:
        self._add("system", subtype="compact_boundary", compactMetadata={})
        self.user("the summary", isCompactSummary=True)

    def compactions(self) -> list[CompactionCommitted]:
        reader = ClaudeCodeReader()
        lines = [json.dumps(line).encode() for line in self.lines]
        events = [*reader.feed(lines), *reader.settle()]
        return [event for event in events if isinstance(event, CompactionCommitted)]


def texts(compaction: CompactionCommitted) -> list[str]:
    return [
        part.text for message in compaction.added for part in message.of_type(TextPart)
    ]


def put_back(version: str, *results: object) -> list[str]:
    log = Log(version)
    for result in results:
        log.result(result)
    log.compaction()
    return texts(log.compactions()[0])


def paths(found: Sequence[str]) -> list[str]:
    return [text.split('"file_path":"')[1].split('"')[0] for text in found]


def test_the_five_files_that_were_changed_last_come_back_then_those_read_last() -> None:
    found = put_back(
        NEW,
        *[read(f"/r{number}", "x = 1") for number in range(4)],
        written("/w", "one\ntwo"),
        edited("/r1", "x = 1", "1", "2"),
        read("/r0", "x = 1"),
    )
    assert paths(found) == ["/r1", "/w", "/r0", "/r3", "/r2"]
    assert found[0].endswith("1\tx = 2")
    assert found[1].endswith("1\tone\n2\ttwo")


def test_older_versions_write_a_file_as_one_json_string() -> None:
    assert put_back(OLD, written("/w", 'say "a"\n'))[0].endswith(
        json.dumps('     1→say "a"\n', ensure_ascii=False)
    )


def test_a_large_file_comes_back_as_its_name_and_is_forgotten() -> None:
    log = Log(NEW)
    log.result(read("/large", "x" * (LARGEST_FILE + 1)))
    log.result(read("/small", "y"))
    log.compaction()
    log.compaction()
    first, second = [texts(each) for each in log.compactions()]
    assert paths(first) == ["/small", "/large"]
    assert len(first[1]) < 300
    assert paths(second) == ["/small"]


@pytest.mark.parametrize(("total", "comes_back"), [(20, True), (9_000, False)])
def test_what_was_read_of_a_file_stands_for_the_rest(
    total: int, comes_back: bool
) -> None:
    content = "\n".join(["line of text"] * 10)
    found = put_back(NEW, read("/f", content, total=total))[0]
    assert ("line of text" in found) is comes_back
    if comes_back:
        assert found.count("line of text") == pytest.approx(20, abs=2)


def test_a_part_that_is_read_later_takes_nothing_from_a_file_that_is_known() -> None:
    whole = "\n".join(map(str, range(50)))
    found = put_back(NEW, read("/f", whole), read("/f", "3", shown=1, total=50))
    assert found[0].endswith("50\t49")


def test_the_plan_comes_back_beside_the_files_and_instruction_files_do_not() -> None:
    log = Log(NEW)
    log.result(written("/home/ann/.claude/plans/calm-cask.md", "First weigh the casks."))
    log.result(read("/cellar/CLAUDE.md", "Keep it dry."))
    for number in range(5):
        log.result(written(f"/w{number}", "x"))
    log.compaction()
    log.compaction()
    for compaction in log.compactions():
        plan, *files = texts(compaction)
        assert plan == "First weigh the casks."
        assert paths(files) == ["/w4", "/w3", "/w2", "/w1", "/w0"]


def test_a_count_of_lines_that_no_file_has_takes_no_memory() -> None:
    (name,) = put_back(NEW, read("/f", "line", shown=1, total=10**11))
    assert len(name) < 300


@pytest.mark.parametrize(("version", "length"), [(OLD, 30_000), (NEW, LARGEST_SKILL)])
def test_the_texts_of_skills_come_back(version: str, length: int) -> None:
    log = Log(version)
    log.user("s" * 30_000, isMeta=True)
    log.user("a remark", isMeta=True)
    log.user("p" * 30_000)
    log.compaction()
    assert [len(text) for text in texts(log.compactions()[0])] == [length]


def test_a_text_that_comes_back_without_end_ends_the_reading() -> None:
    log = Log(OLD)
    size = LOG_STEPS * STEP_CHARS // 50
    log.user("s" * size, isMeta=True)
    for _ in range(51):
        log.compaction()
    with pytest.raises(UnreadableInput, match="too often"):
        log.compactions()


@pytest.mark.parametrize(("kind", "known"), [("skill_listing", 1), ("file", 0)])
def test_a_log_with_lines_for_what_comes_back_is_left_as_it_is(
    kind: str, known: int
) -> None:
    log = Log("2.1.112")
    log.attachment(kind)
    log.result(read("/f", "x"))
    log.compaction()
    (compaction,) = log.compactions()
    assert (len(compaction.added), compaction.puts_back) == (known, bool(known))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
KEYS = ["filePath", "content", "originalFile", "oldString", "newString"]
LINES = ["numLines", "totalLines"]


@given(
    st.lists(
        st.dictionaries(st.sampled_from(KEYS), JSON)
        | st.dictionaries(st.sampled_from([*KEYS, *LINES]), JSON).map(
            lambda file: {"file": file}
        ),
        max_size=8,
    )
)
def test_no_result_of_a_tool_stops_it_or_fills_the_memory(results: list[Any]) -> None:
    known = PutBack()
    for result in results:
        known.read_result(result)
    for version in ((), (2, 1, 49), (2, 1, 87)):
        assert len(list(known.after_compaction(version))) <= 5
