"""What msgspec knows of a class is found out where a module is imported, and never by the threads that read rows.

It hands that out before it is whole (docs/why/index.md#types-and-events): two threads that decode a first row together
crash the process, as a server that opens two sessions would.
"""

from tests.processes import run_python

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
