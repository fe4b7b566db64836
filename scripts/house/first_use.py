"""What msgspec knows of a class is found out where a module is imported, and never by the threads that read rows.

It hands that out before it is whole (docs/why/index.md#types-and-events): two threads that decode a first row together
crash the process, as a server that opens two sessions would.
"""

import ast
from collections.abc import Iterator, Sequence

from scripts.house.source import Source

LATE = {
    (
        "ullage/encoding.py",
        "Decoder",
    ): "of parts of words, which are known with the words",
    ("ullage_agent/tools/typed_values.py", "convert"): "of a user's types, one at a time",
    (
        "ullage_agent/tools/result_budget.py",
        "convert",
    ): "of a class that a decoder was made of where it is imported",
    (
        "ullage_server/ui/bodies.py",
        "convert",
    ): "of classes that decoders were made of where it is imported",
    (
        "ullage/checkpoint/checkpoint.py",
        "decode",
    ): "of a class that a decoder was made of where it is imported",
}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
PLAIN = {"dict", "list", "str", "object", "Any"}


def late(source: Source) -> Iterator[str]:
    """Calls inside functions that may be the first to ask for a class: decoders, and decoding into other than dicts."""
    for function in (node for node in source.nodes if isinstance(node, FUNCTIONS)):
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


def faults(files: Sequence[Source]) -> Iterator[str]:
    """Files with a function that is the first to ask for a class."""
    found = {(source.name, what) for source in files for what in late(source)}
    for name, what in sorted(found - LATE.keys()):
        yield f"{name}: {what} in a function; make a decoder where the module is imported"
