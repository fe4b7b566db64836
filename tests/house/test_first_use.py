"""What msgspec knows of a class is found out where a module is imported, and never by the threads that read rows.

It hands that out before it is whole (docs/why/index.md#types-and-events): two threads that decode a first row together
crash the process, as a server that opens two sessions would.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.house.layers import sources
from tests.processes import run_python

LATE = {
    ("encoding.py", "Decoder"): "of parts of words, which are known with the words",
    ("tools/typed_values.py", "convert"): "of a user's types, one at a time",
    (
        "tools/result_budget.py",
        "convert",
    ): "of a class that a decoder was made of where it is imported",
    (
        "checkpoint/checkpoint.py",
        "decode",
    ): "of a class that a decoder was made of where it is imported",
}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
PLAIN = {"dict", "list", "str", "object", "Any"}


def late(text: str) -> Iterator[str]:
    """Calls inside functions that may be the first to ask for a class: decoders, and decoding into other than dicts."""
    for function in (
        node for node in ast.walk(ast.parse(text)) if isinstance(node, FUNCTIONS)
    ):
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            said = ast.unparse(call.func)
            kind = next(
                (word.value for word in call.keywords if word.arg == "type"), None
            )
            is_plain = kind is not None and ast.unparse(kind).partition("[")[0] in PLAIN
            if said.startswith("msgspec.") and said.endswith(".Decoder"):
                yield "Decoder"
            elif (
                said in ("msgspec.json.decode", "msgspec.msgpack.decode")
                and kind is not None
                and not is_plain
            ):
                yield "decode"
            elif said == "msgspec.convert":
                yield "convert"


@pytest.mark.parametrize("file", list(sources()))
def test_no_function_is_the_first_to_ask_for_a_class(file: str) -> None:
    found = set(late(sources()[file]))
    assert {what for what in found if (file, what) not in LATE} == set()


@pytest.mark.parametrize(
    "planted",
    [
        "return msgspec.json.decode(row, type=_Header)",
        "return msgspec.msgpack.Decoder(_Header).decode(row)",
        "return msgspec.convert(row, _Header)",
    ],
)
def test_one_that_is_is_found(planted: str) -> None:
    assert list(late(f"def read(row):\n    {planted}\n"))


FIRST_ROWS = """
import sys
from ullage.encoding import decode_event, encode
from ullage.events import MessageAdded
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
call = ToolCallPart(id="c", call_id="c", name="n", arguments="{}")
result = ToolResultPart(id="r", call_id="c", name="n")
message = Message(id="m", role="tool", parts=(TextPart(id="p", text="t"), call, result))
row = encode(MessageAdded(message=message))
found = []
def look(frame, event, argument):
    is_asked = event == "call" and frame.f_code.co_name == "get_class_annotations"
    if is_asked and not frame.f_back.f_code.co_filename.endswith("structs.py"):  # which only lists fields
        found.append(str(frame.f_locals["obj"]))
sys.setprofile(look)
decode_event(row)
decode_event(row.replace(b'"text":', b'"newer":1,"text":'))
sys.setprofile(None)
sys.exit(f"found out with the first rows: {found}" if found else 0)
"""


def test_the_first_rows_find_nothing_out() -> None:
    ended = run_python("-c", FIRST_ROWS, timeout=60)
    assert ended.returncode == 0, ended.stderr
