"""The schema of a type in the form of each wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Optional

import msgspec
import pytest
from pydantic import BaseModel, Field, RootModel

from ullage.errors import SettingError
from ullage_agent.runtime.output_type import AnswerMisfit, OutputType


class Cask(BaseModel):
    litres: int = Field(gt=0, description="Its size.")
    wood: str = "oak"


class Cellar(BaseModel):
    first: Cask = Field(description="The one at the door.")
    name: Annotated[str, Field(pattern="[A-Z]+")]


@dataclass
class Pair:
    both: tuple[int, str]


def sent(kind: Any, wire: str) -> str:
    return json.dumps(OutputType(kind).params(wire))


@pytest.mark.parametrize("wire", ["messages", "generateContent"])
def test_what_a_wire_does_not_take_is_told_in_the_description(wire: str) -> None:
    text = sent(Cellar, wire)
    assert "(pattern: [A-Z]+)" in text
    assert '"pattern":' not in text
    assert "Its size. (exclusiveMinimum: 0)" in text
    assert "(default: oak)" in text
    assert '{"$ref": "#/$defs/Cask"}' in text


def test_a_tuple_and_a_table_are_no_schema_for_anthropic() -> None:
    for kind in (Pair, dict[str, int], list[dict[str, Cask]]):
        assert OutputType(kind).params("messages") == {}
        assert OutputType(kind).params("generateContent")


def test_openai_s_strict_mode_is_asked_for_only_where_the_whole_schema_is_taken() -> None:
    assert '"strict": true' in sent(list[int], "responses")
    assert '"strict": true' in sent(msgspec.defstruct("Note", [("text", str)]), "chat")
    for kind in (Cellar, Pair, dict[str, int]):
        assert '"strict": false' in sent(kind, "chat")


def test_in_strict_mode_every_field_is_required_and_none_has_a_default() -> None:
    note = msgspec.defstruct("Note", [("text", str), ("mark", str, "x")])
    form = OutputType(note).params("chat")["response_format"]["json_schema"]
    assert form["strict"] and form["schema"]["required"] == ["text", "mark"]
    assert form["schema"]["additionalProperties"] is False
    assert "default" not in json.dumps(form)


class _Offer(BaseModel):
    euros: float


class _Declined(BaseModel):
    why: str


class _Reply(RootModel[_Offer | _Declined]):
    pass


@dataclass
class _Sold:
    euros: float = 0.0


@dataclass
class _Kept:
    why: str = ""


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (_Offer | _Declined, '{"value": {"why": "Sold."}}', _Declined(why="Sold.")),
        (_Offer | _Declined, '{"value": {"euros": 3}}', _Offer(euros=3)),
        (_Sold | _Kept, '{"value": {"why": "Mine."}}', _Kept("Mine.")),
        (Optional[_Offer], '{"value": null}', None),  # noqa: UP045
        (_Offer | dict[str, int], '{"value": {"a": 1}}', {"a": 1}),
        (_Offer | str, '{"value": "none"}', "none"),
    ],
)
def test_one_of_several_classes_is_the_first_that_has_all_fields(
    kind: Any, text: str, value: object
) -> None:
    output: OutputType[Any] = OutputType(kind)
    assert output.read(text) == value
    for wire in ("chat", "responses", "generateContent"):
        assert "anyOf" in json.dumps(output.params(wire))
    with pytest.raises(AnswerMisfit, match="has no field"):
        OutputType(_Offer | _Declined).read('{"value": {"who": 1}}')


def test_several_classes_inside_another_type_are_read_by_a_root_model() -> None:
    with pytest.raises(SettingError, match=r"has no JSON form.*RootModel"):
        OutputType(list[_Offer | _Declined])
    kind: OutputType[_Reply] = OutputType(_Reply)
    assert kind.read('{"value": {"why": "Sold."}}').root == _Declined(why="Sold.")
