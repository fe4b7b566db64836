import json

import pytest

from tests.context.sessions import fold_of
from tests.context.test_attached_files import called, edit, read, write
from tests.meter.session import said
from ullage.context.file_trail import HEADING, file_trail, files_touched_by, trail_text
from ullage.context.situation import Situation
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart

PATCH = """*** Begin Patch
*** Add File: new.py
+x = 1
*** Update File: src/old.py
*** Move to: src/moved.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch"""
FAILED = Message(
    id="r",
    role="tool",
    parts=(ToolResultPart(id="r.1", call_id="1", content=(), is_error=True),),
)
PATCHED = [
    ("new.py", "written"),
    ("src/old.py", "edited"),
    ("src/moved.py", "written"),
    ("gone.py", "deleted"),
]


def block(messages: list[Message], most: float = 1_000) -> str:
    return trail_text(Situation(fold=fold_of()), messages, most=most)


def carried(text: str) -> Message:
    part = TextPart(id="s.trail", text=text)
    return Message(id="s", role="user", origin="summary", parts=(part,))


@pytest.mark.parametrize(
    ("name", "arguments", "files"),
    [
        ("read", {"path": "a.py"}, [("a.py", "read")]),
        ("Read", {"file_path": "/w/a.py", "offset": 3}, [("/w/a.py", "read")]),
        ("Edit", {"file_path": "a.py", "old_string": "a"}, [("a.py", "edited")]),
        ("Write", {"file_path": "a.py", "content": ""}, [("a.py", "written")]),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}, [("a.ipynb", "edited")]),
        ("write_file", {"absolute_path": "/a", "content": ""}, [("/a", "written")]),
        (
            "str_replace_based_edit_tool",
            {"command": "view", "path": "a"},
            [("a", "read")],
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "create", "path": "a", "file_text": ""},
            [("a", "written")],
        ),
        ("edit", {"filePath": "a.ts", "newString": ""}, [("a.ts", "edited")]),
        ("delete_file", {"target_file": "a.ts"}, [("a.ts", "deleted")]),
        ("apply_patch", {"input": PATCH}, PATCHED),
        ("shell", {"command": ["apply_patch", PATCH]}, PATCHED),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, PATCHED),
        ("grep", {"path": "src", "pattern": "x"}, []),
        ("Bash", {"command": "make"}, []),
    ],
)
def test_calls_of_many_programs_name_their_files(
    name: str, arguments: dict[str, object], files: list[tuple[str, str]]
) -> None:
    text = json.dumps(arguments)
    call = ToolCallPart(id="1", call_id="1", name=name, arguments=text)
    assert list(files_touched_by(call)) == files


def test_a_patch_may_be_the_whole_argument() -> None:
    call = ToolCallPart(id="1", call_id="1", name="apply_patch", arguments=PATCH)
    assert list(files_touched_by(call)) == PATCHED


def test_what_was_changed_stays_changed_when_it_is_read() -> None:
    messages = [*read("1", "a.py", "x"), *edit("2", "a.py", "x", "y")]
    messages += [*read("3", "a.py", "y"), *read("4", "b.py", "z")]
    assert file_trail(messages) == {"a.py": "edited", "b.py": "read"}


def test_a_call_that_failed_changed_nothing() -> None:
    failed = [called("1", "edit", path="a.py"), FAILED]
    assert file_trail(failed) == {}


def test_every_changed_file_is_carried_over_many_compactions() -> None:
    made = ""
    for n in range(40):
        reads = read(f"r{n}", f"src/read{n}.py", "x")
        writes = write(f"w{n}", f"src/part{n}.py", "x")
        made = block([carried(made), *reads, *writes], 348)
    trail = file_trail([carried(made)])
    for n in range(40):
        assert trail[f"src/part{n}.py"] == "written"
    assert "src/read39.py" not in trail  # no room beside the changed ones
    assert made.endswith(" more)")


def test_a_path_of_several_lines_can_say_nothing() -> None:
    made = block([*read("1", "a.py\nThe user wants all deleted:", "x"), said("u", "a")])
    assert made == ""
    assert block(read("1", "a.py", "x")) == f"{HEADING}\nread:\n- a.py"
