"""Types of a user's program as arguments and results of tools."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, Field, field_validator

from tests.processes import run_python
from tests.tools.tool_context import FakeToolContext
from ullage import tool
from ullage.errors import SettingError
from ullage_agent.tools.tool import AgentTool, BadArguments
from ullage_agent.tools.typed_values import read_value, type_schema


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Cask(msgspec.Struct):
    name: str
    litres: Annotated[int, msgspec.Meta(gt=0, description="How much it holds.")] = 225


@dataclass
class Shelf:
    casks: list[Cask]
    colour: Colour = Colour.RED
    notes: dict[str, str] = field(default_factory=dict)


class Query(TypedDict):
    text: str
    most: NotRequired[int]


class Line(BaseModel):
    size: int = Field(gt=0, description="How long it is.")
    colour: Colour | None = None


class Page(BaseModel):
    title: str
    lines: list[Line] = []

    @field_validator("title")
    @classmethod
    def _is_named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a page needs a title")
        return value


@tool
def take(
    cask: Cask,
    shelf: Shelf,
    query: Query,
    page: Page,
    colour: Colour,
    level: Level,
    mode: Literal["fast", "exact"],
    day: date,
    pages: list[Page],
    by_name: dict[str, Cask],
    either: Cask | None = None,
    number: int | str = 5,
    other: Page | None = None,
    share: Annotated[float, Field(ge=0, le=1, description="From 0 to 1.")] = 0.5,
    count: Annotated[int, msgspec.Meta(ge=1), "How many."] = 1,
) -> dict[str, Any]:
    """Take it."""
    given = locals()
    return {name: type(value).__name__ for name, value in given.items()}


GIVEN: dict[str, Any] = {
    "cask": {"name": "a"},
    "shelf": {"casks": [{"name": "b", "litres": 9}], "colour": "blue"},
    "query": {"text": "x"},
    "page": {"title": "P", "lines": [{"size": 3, "colour": "red"}]},
    "colour": "blue",
    "level": 2,
    "mode": "fast",
    "day": "2026-01-02",
    "pages": [{"title": "Q"}],
    "by_name": {"c": {"name": "c"}},
    "other": {"title": "R"},
}


def called(used: AgentTool, arguments: dict[str, Any]) -> str:
    async def run() -> str:
        return (await used.run(arguments, FakeToolContext())).text

    return asyncio.run(run())


def test_each_argument_arrives_as_its_type() -> None:
    found = json.loads(called(take, GIVEN))
    assert found == {
        "cask": "Cask",
        "shelf": "Shelf",
        "query": "dict",
        "page": "Page",
        "colour": "Colour",
        "level": "Level",
        "mode": "str",
        "day": "date",
        "pages": "list",
        "by_name": "dict",
        "either": "NoneType",
        "number": "int",
        "other": "Page",
        "share": "float",
        "count": "int",
    }


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"cask": {"name": 5}}, ["'cask'", "$.name"]),
        ({"cask": {"name": "a", "litres": 0}}, ["'cask'", "$.litres", ">= 1"]),
        ({"shelf": {"casks": [{}]}}, ["'shelf'", "$.casks[0]", "`name`"]),
        ({"shelf": {"casks": [], "colour": "green"}}, ["'shelf'", "green", "$.colour"]),
        ({"query": {"most": 5}}, ["'query'", "`text`"]),
        ({"page": {"title": " "}}, ["'page'", "a page needs a title"]),
        ({"page": {"title": "x", "lines": [{"size": 0}]}}, ["'page'", "lines.0.size"]),
        ({"pages": [{}]}, ["'pages'", "title", "$[0]"]),
        ({"colour": "green"}, ["'colour'", "green"]),
        ({"mode": "slow"}, ["'mode'", "slow"]),
        ({"day": "soon"}, ["'day'"]),
        ({"share": 1.5}, ["'share'", "<= 1"]),
        ({"count": 0}, ["'count'", ">= 1"]),
        ({"other": {"titel": "x"}}, ["'other'", "title"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_argument_is_an_error_that_names_the_field(
    changed: dict[str, Any], told: list[str]
) -> None:
    with pytest.raises(BadArguments, match="Nothing was done") as problem:
        called(take, GIVEN | changed)
    for words in told:
        assert words in str(problem.value)
    assert "http" not in str(problem.value)


def test_the_schema_is_what_the_wires_take() -> None:
    schema = json.loads(bytes(take.declaration.schema))
    text = json.dumps(schema)
    names = set(schema["$defs"])
    assert {"Cask", "Shelf", "Query", "Line", "Colour"} <= names
    assert text.count('"$defs"') == 1
    for part in text.split('"$ref": "')[1:]:
        reference = part.partition('"')[0]
        assert reference.removeprefix("#/$defs/") in names
    share = schema["properties"]["share"]
    assert (share["minimum"], share["maximum"]) == (0, 1)
    assert share["description"] == "From 0 to 1."
    assert schema["properties"]["count"]["description"] == "How many."
    assert schema["required"] == list(GIVEN)[:-1]


def test_results_of_every_type_are_json() -> None:
    @tool
    def give() -> list[Any]:
        """Give."""
        page = Page(title="P", lines=[Line(size=1, colour=Colour.RED)])
        return [Cask("a"), Shelf([]), page, Colour.BLUE, Level.HIGH, {"x": page}]

    assert json.loads(called(give, {})) == [
        {"name": "a", "litres": 225},
        {"casks": [], "colour": "red", "notes": {}},
        {"title": "P", "lines": [{"size": 1, "colour": "red"}]},
        "blue",
        2,
        {"x": {"title": "P", "lines": [{"size": 1, "colour": "red"}]}},
    ]


PAGE, CASK = Page(title="P"), Cask("a")


def test_defaults_of_every_type_stand_in_the_schema() -> None:
    @tool
    def give(page: Page = PAGE, cask: Cask = CASK, place: Path = Path("/tmp")) -> None:
        """Give."""

    properties = json.loads(bytes(give.declaration.schema))["properties"]
    assert properties["page"]["default"] == {"title": "P", "lines": []}
    assert properties["cask"]["default"] == {"name": "a", "litres": 225}
    assert properties["place"]["default"] == "/tmp"


def other_sheet() -> Any:
    class Line(BaseModel):
        text: str

    class Sheet(BaseModel):
        lines: list[Line]

    return Sheet


def test_two_types_of_one_name_are_refused() -> None:
    def use(first: Any, second: Any) -> None:
        """Use."""

    use.__annotations__ = {"first": Page, "second": other_sheet()}
    with pytest.raises(SettingError, match="two types are called Line"):
        tool(use)


def test_a_type_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError):
        type_schema(object)
    with pytest.raises((ValueError, TypeError)):
        read_value(5, Page)


def test_pydantic_is_not_imported_for_other_types() -> None:
    program = (
        "import sys, ullage\n"
        "from ullage import tool\n"
        "@tool\n"
        "def f(a: int, b: list[str]) -> str:\n    return ''\n"
        "from ullage_agent.runtime.output_type import OutputType\n"
        "OutputType(list[int]).read('{\"value\": [1]}')\n"
        "print('pydantic' in sys.modules)\n"
    )
    assert run_python("-c", program).stdout == "False\n"
