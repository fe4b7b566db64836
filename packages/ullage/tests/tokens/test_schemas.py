"""Tool declarations and answer schemas as providers write them."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.messages import Tool
from ullage.tokens import schemas
from ullage.tokens.policy import SCHEMA_NODES
from ullage.tokens.schemas import Declared

WEATHER: dict[str, object] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Which city"},
        "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
    },
    "required": ["city"],
}


def typescript(schema: dict[str, object], description: str = "") -> str:
    return schemas.as_typescript(Declared("run", description, schema))


def test_openai_reads_a_declaration_as_a_typescript_type() -> None:
    assert typescript(WEATHER, "Look at the sky") == (
        ";\n\n// Look at the sky\n"
        "type run = (_: {\n"
        "// Which city\n"
        "city: string,\n"
        'unit?: "C" | "F", // default: "C"\n'
        "}) => any"
    )


def test_a_tool_without_parameters_takes_no_argument() -> None:
    assert typescript({"type": "object", "properties": {}}) == ";\n\ntype run = () => any"


def test_an_object_without_comments_stands_on_one_line() -> None:
    schema: dict[str, object] = {
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["a", "b"],
    }
    assert typescript(schema) == ";\n\ntype run = (_: { a: number, b: string[] }) => any"


def test_a_title_is_a_comment_set_off_from_the_description() -> None:
    schema: dict[str, object] = {
        "title": "Args",
        "properties": {
            "a": {"type": "string", "title": "A", "description": "first"},
            "b": {"title": "B"},
        },
    }
    assert typescript(schema) == (
        ";\n\ntype run = (_: // Args\n{\n// A\n//\n// first\na?: string,\n// B\nb?: any,\n}) => any"
    )


def test_blank_lines_and_indents_of_a_description_vanish() -> None:
    assert typescript({}, "First.\n\n    Args:\n        a: one\n") == (
        ";\n\n// First.\n// Args:\n// a: one\ntype run = () => any"
    )


def test_a_union_below_a_comment_takes_a_line_each() -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert "a?: string | null }" in typescript({"properties": {"a": union}})
    assert "a?: \n | string\n | null\n," in typescript(
        {"properties": {"a": union | {"description": "x"}}}
    )


def test_several_types_carry_the_description_each() -> None:
    schema: dict[str, object] = {
        "properties": {"a": {"type": ["string", "null"], "description": "x"}}
    }
    assert "// x\na?: \n | string // x\n | null // x\n," in typescript(schema)


def test_references_are_written_out() -> None:
    schema: dict[str, object] = {
        "$defs": {
            "Point": {
                "type": "object",
                "properties": {"x": {"type": "number"}},
                "required": ["x"],
            }
        },
        "properties": {
            "at": {"$ref": "#/$defs/Point"},
            "all": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
        },
    }
    assert typescript(schema).count("x: number") == 2


def test_examples_and_constants_are_written() -> None:
    schema: dict[str, object] = {"properties": {"a": {"const": 1, "examples": ["one"]}}}
    assert '// Examples:\n// - "one"\na?: 1,' in typescript(schema)


def test_words_are_what_can_be_read() -> None:
    declared = Declared("run", "Go", WEATHER)
    assert schemas.as_words(declared) == "run\nGo\ncity\nWhich city\nunit\nC\nF"


def test_the_gemini_notation_names_types_in_capitals() -> None:
    assert schemas.as_declaration(Declared("run", "Go", WEATHER)) == (
        "declaration:run{description:|Go|,parameters:{properties:{city:{description:|Which city|,type:|STRING|},"
        "unit:{enum:[|C|,|F|],type:|STRING|}},required:[|city|],type:|OBJECT|}}"
    )


def test_the_answer_format_leaves_out_constraints_but_no_property_of_that_name() -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"required": {"type": "integer", "minimum": 0}},
        "required": ["required"],
        "additionalProperties": False,
    }
    assert schemas.as_output_format("Row", "One row", schema) == (
        '# Response Formats\n\n## Row\n\n// One row\n{"type":"object","properties":{"required":{"type":"integer"}}}'
    )


def test_the_answer_format_leaves_out_what_openai_does_not_read() -> None:
    schema: dict[str, object] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {
            "size": {"type": "integer", "format": "uint8"},
            "day": {"type": "string", "format": "date"},
        },
    }
    assert schemas.as_output_format("Row", "", schema).endswith(
        '\n\n{"properties":{"size":{"type":"integer"},"day":{"type":"string","format":"date"}}}'
    )


def test_the_answer_format_escapes_what_is_not_ascii() -> None:
    assert "\\u2014" in schemas.as_output_format("Row", "", {"description": "—"})


def test_shape_counts_fields_and_nested_objects() -> None:
    schema: dict[str, object] = {
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "object", "properties": {"c": {"type": "string"}}},
            "d": {"type": "array", "items": {"properties": {"e": {}}}},
        }
    }
    assert schemas.shape_of(schema) == (5, 2)


def test_a_schema_that_refers_to_itself_ends() -> None:
    node: dict[str, object] = {
        "type": "object",
        "properties": {"child": {"$ref": "#/$defs/Node"}},
    }
    schema: dict[str, object] = {
        "$defs": {"Node": node},
        "properties": {"root": {"$ref": "#/$defs/Node"}},
    }
    for render in (schemas.as_typescript, schemas.as_words, schemas.as_declaration):
        assert len(render(Declared("run", "", schema))) < 20_000


def test_a_schema_that_unfolds_without_end_is_cut_off() -> None:
    levels = 40
    definitions = {
        f"L{level}": {
            "properties": {side: {"$ref": f"#/$defs/L{level + 1}"} for side in "ab"}
        }
        for level in range(levels)
    }
    schema: dict[str, object] = {
        "$defs": definitions,
        "properties": {"a": {"$ref": "#/$defs/L0"}},
    }
    assert len(schemas.as_typescript(Declared("run", "", schema))) < 10 * SCHEMA_NODES


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"{", b"1", b'"x"', b"\xff"])
def test_what_is_no_schema_counts_as_empty(raw: bytes) -> None:
    assert schemas.read_schema(raw) == {}


def test_a_schema_written_as_text_inside_json_is_read() -> None:
    tool = Tool(name="run", schema=msgspec.Raw(msgspec.json.encode(json.dumps(WEATHER))))
    assert schemas.declared(tool).schema == WEATHER


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                json.loads(
                    """
                    ["type", "properties", "items", "anyOf", "$ref", "enum", "required", "title", "default", "a"]
                    """
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.dictionaries(
        st.sampled_from(["type", "properties", "items", "anyOf", "required", "$ref"]),
        values,
    )
)
def test_any_json_is_rendered_without_an_error(schema: dict[str, object]) -> None:
    tool = Declared("run", "", schema)
    for render in (
        schemas.as_json,
        schemas.as_words,
        schemas.as_typescript,
        schemas.as_declaration,
    ):
        assert "run" in render(tool)
    assert schemas.as_output_format("x", "", schema)
    assert schemas.shape_of(schema).fields >= 0
