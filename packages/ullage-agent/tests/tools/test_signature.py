from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.errors import SettingError
from ullage_agent.tools.functions import read_signature
from ullage_agent.tools.tool import BadArguments, ToolContext


@dataclass
class Point:
    x: int
    y: int = 0


class Box(msgspec.Struct):
    corner: Point
    size: Annotated[int, msgspec.Meta(ge=1, description="Pixels.")]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def everything(
    city: str,
    days: int = 1,
    unit: Literal["c", "f"] = "c",
    tags: list[str] | None = None,
    point: Point | None = None,
    box: Box | None = None,
    colour: Colour = Colour.RED,
    where: Path = Path("a"),
    note: Annotated[str, "A word."] = "",
    anything: Any = None,
    counts: dict[str, float] | None = None,
    *,
    session: ToolContext,
) -> None: ...


SIGNATURE = read_signature(everything, {"city": "Its name."})


def test_the_schema_says_what_the_hints_say() -> None:
    schema = SIGNATURE.schema()
    properties = schema["properties"]
    assert schema["type"] == "object"
    assert schema["required"] == ["city"]
    assert schema["additionalProperties"] is False
    assert properties["city"] == {"type": "string", "description": "Its name."}
    assert properties["days"] == {"type": "integer", "default": 1}
    assert properties["unit"] == {"enum": ["c", "f"], "default": "c"}
    assert properties["tags"]["anyOf"] == [
        {"type": "array", "items": {"type": "string"}},
        {"type": "null"},
    ]
    assert properties["colour"] == {"$ref": "#/$defs/Colour", "default": "red"}
    assert properties["where"] == {"type": "string", "format": "path", "default": "a"}
    assert properties["note"] == {
        "type": "string",
        "description": "A word.",
        "default": "",
    }
    assert properties["anything"] == {"default": None}
    assert schema["$defs"]["Box"]["properties"]["size"]["description"] == "Pixels."
    assert schema["$defs"]["Point"]["required"] == ["x"]


def test_the_surroundings_are_not_in_the_schema() -> None:
    assert "session" not in SIGNATURE.schema()["properties"]
    assert SIGNATURE.context_names == ("session",)


def test_a_number_in_quotes_is_a_number_where_no_text_is_asked_for() -> None:
    assert SIGNATURE.convert({"city": "8", "days": "8"}) == {"city": "8", "days": 8}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "argument 'city' is missing"),
        ({"city": 1}, "argument 'city': Expected `str`, got `int`"),
        ({"city": "a", "days": "soon"}, "argument 'days': Expected `int`, got `str`"),
        ({"city": "a", "unit": "k"}, "argument 'unit': Invalid enum value 'k'"),
        ({"city": "a", "point": {}}, "argument 'point': Object missing required field `x`"),
        ({"city": "a", "point": {"x": []}}, "argument 'point': Expected `int`, got `array` - at `$.x`"),
        ({"city": "a", "where": 1}, "argument 'where': Expected"),
        ({"city": "a", "town": "b"}, "there is no argument 'town'"),
        ({"city": "a", "session": {}}, "there is no argument 'session'"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named_with_why(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArguments, match="Nothing was done") as raised:
        SIGNATURE.convert(given)
    assert said in str(raised.value)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from([p.name for p in SIGNATURE.parameters]) | st.text(max_size=5),
        json,
        max_size=6,
    )
)
def test_any_arguments_are_taken_or_refused_with_words(given: dict[str, Any]) -> None:
    try:
        taken = SIGNATURE.convert(given)
    except BadArguments as error:
        assert str(error)
    else:
        assert taken.keys() == given.keys()


class Caller:
    def __call__(self, word: str) -> str:
        return word

    def method(self, word: str) -> str:
        return word


def untyped(a, b=2):  # type: ignore[no-untyped-def]
    return a, b


def test_a_parameter_without_a_hint_takes_anything() -> None:
    assert read_signature(untyped, {}).schema()["properties"] == {
        "a": {},
        "b": {"default": 2},
    }


def any_number(*words: str) -> None: ...


def by_position(word: str, /) -> None: ...


def of_no_form(thing: threading.Lock) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def of_a_class(thing: Caller) -> None: ...


@pytest.mark.parametrize("function", [any_number, by_position, of_no_form, of_a_class])
def test_what_no_model_can_call_is_refused_by_name(function: Any) -> None:
    with pytest.raises(SettingError, match=function.__name__):
        read_signature(function, {})
