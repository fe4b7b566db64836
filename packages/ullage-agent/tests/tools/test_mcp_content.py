import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import types

from tests.tools.mcp_server import PNG, mixed
from ullage_agent.tools.mcp_content import LONGEST_NAME, as_output, offered
from ullage_agent.tools.outputs import NOTHING
from ullage_agent.tools.tool import Output


def listed(*names: str, **more: Any) -> list[types.Tool]:
    return [
        types.Tool(name=name, input_schema={"type": "object"}, **more) for name in names
    ]


def test_every_kind_of_content_is_given_or_described() -> None:
    output = as_output(types.CallToolResult(content=mixed()))
    assert output.text.splitlines() == [
        "first",
        "[a resource, file:///a.txt (a.txt): notes]",
        "[mem://b]",
        "inside",
        "[mem://c: application/zip, 3 bytes]",
        "[mem://d]",
        "[audio, audio/wav, 6 bytes]",
        "[an image, image/png, whose data can't be read]",
    ]
    found = [(picture.part.width, picture.data) for picture in output.pictures]
    assert found == [(1, PNG)]


@pytest.mark.parametrize(
    ("result", "output"),
    [
        (types.CallToolResult(content=[]), Output(NOTHING)),
        (
            types.CallToolResult(content=[], is_error=True),
            Output("(the tool failed and says no more)", is_error=True),
        ),
        (types.CallToolResult(content=[], structured_content={"a": 1}), Output('{"a":1}')),
        (types.CallToolResult(content=[types.TextContent(text="one")], structured_content={"a": 1}), Output("one")),
    ],
)  # fmt: skip
def test_structured_content_is_given_where_there_is_no_text(
    result: types.CallToolResult, output: Output
) -> None:
    assert as_output(result) == output


def test_names_have_only_letters_that_every_provider_takes() -> None:
    names = [
        each.declaration.name
        for each in offered(listed("a.b", "a b", "ü"), "my server").tools
    ]
    assert names[0] == "my_server__a_b"
    assert names[1].startswith("my_server__a_b_")
    assert [each.name for each in offered(listed("a.b"), "s").tools] == ["a.b"]


@given(
    st.lists(st.text(min_size=1, max_size=100), max_size=12, unique=True),
    st.text(min_size=1, max_size=80),
)
def test_names_are_legal_unique_and_stable(names: list[str], server: str) -> None:
    tools = listed(*names)
    made = [each.declaration.name for each in offered(tools, server).tools]
    assert len(set(made)) == len(names)
    assert all(
        len(name) <= LONGEST_NAME and name.replace("-", "_").replace("_", "a").isalnum()
        for name in made
    )
    assert all(name.isascii() for name in made)
    assert made == [each.declaration.name for each in offered(tools, server).tools]


@pytest.mark.parametrize(
    ("hints", "is_idempotent"),
    [
        (None, False),
        (types.ToolAnnotations(), False),
        (types.ToolAnnotations(read_only_hint=True), True),
        (types.ToolAnnotations(idempotent_hint=True), True),
        (types.ToolAnnotations(destructive_hint=True), False),
    ],
)
def test_hints_make_a_tool_idempotent(
    hints: types.ToolAnnotations | None, is_idempotent: bool
) -> None:
    assert (
        offered(listed("a", annotations=hints), "s").tools[0].is_idempotent
        is is_idempotent
    )


def test_a_schema_with_half_a_character_is_still_json() -> None:
    tool = types.Tool(
        name="a", description="b\0", input_schema={"type": "object", "title": "\ud800"}
    )
    declaration = offered([tool], "s").tools[0].declaration
    assert json.loads(bytes(declaration.schema))["type"] == "object"
    assert declaration.description == "b\ufffd"
