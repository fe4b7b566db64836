"""Typed answers while they are written: by schema, by tool, in words, as another type."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, assert_type

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.promises.stage import SIX, Speaker, agent_for, script
from ullage import Agent
from ullage.errors import AnswerInvalid
from ullage.events import TurnStarted
from ullage_agent.runtime.partial_json import PartialJson
from ullage_agent.runtime.policy import PARTIAL_LEVELS, PARTIAL_STEP
from ullage_simulators import running
from ullage_simulators.server import Server

WIRES = pytest.mark.parametrize("speaker", SIX, ids=lambda speaker: speaker.name)


class Line(msgspec.Struct):
    text: str
    size: int


class Page(BaseModel):
    title: str
    lines: list[int] = []


@dataclass
class Story:
    kind: Literal["sad", "glad"]
    lines: list[Line]
    end: str = ""


class Draft(TypedDict, total=False):
    kind: str
    end: str


STORY = Story(
    "glad", [Line("Once there was a cask.", 12), Line("It was full.", 34)], "Bye."
)
TEXT = json.dumps(msgspec.to_builtins(STORY))

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
objects = st.dictionaries(st.text(), values)


@given(objects, st.data(), st.booleans(), st.sampled_from([None, 1]))
def test_every_beginning_of_an_object_is_completed_to_objects_that_agree_with_it(
    whole: dict[str, Any], data: st.DataObject, is_ascii: bool, indent: int | None
) -> None:
    text = json.dumps(whole, ensure_ascii=is_ascii, indent=indent)
    cut = data.draw(st.integers(0, len(text)))
    growing = PartialJson()
    growing.add(f"Here it is:\n```json\n{text[: cut // 2]}")
    list(growing.completions())
    growing.add(text[cut // 2 : cut])
    found = [json.loads(each) for each in growing.completions()]
    assert all(is_part(each, whole) for each in found)
    assert len(found) <= PARTIAL_LEVELS + 2
    assert bool(found) == (cut > 0)
    growing.add(f"{text[cut:]}\n```\nThat is {{all}}.")
    assert [json.loads(each) for each in growing.completions()] == [whole]


def is_part(some: Any, whole: Any) -> bool:
    """Whether it is the same as far as it goes."""
    match some, whole:
        case dict(), dict():
            return all(is_part(each, whole[name]) for name, each in some.items())
        case list(), list():
            return len(some) <= len(whole) and all(map(is_part, some, whole))
        case str(), str():
            return whole.startswith(some)
        case _:
            return type(some) is type(whole) and some == whole


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2}}', "{[", '{"a" 1, :', "{}{", '{"a": tru', '{"a": "\\x', "}{ "]
)
def test_what_is_no_json_is_given_to_the_reader_which_refuses_it(text: str) -> None:
    growing = PartialJson()
    for char in text:
        growing.add(char)
        list(growing.completions())


def agent_of(
    server: Server, place: Path, speaker: Speaker = SIX[0], **more: Any
) -> Agent[Any]:
    return agent_for(place / "s.db", server=server, **{**speaker.settings(), **more})


@WIRES
@pytest.mark.parametrize("by", ["schema", "tool", "words"])
async def test_an_answer_grows_on_every_wire_and_is_strict_at_its_end(
    speaker: Speaker, by: str, tmp_path: Path
) -> None:
    answer: dict[str, Any] = {"text": TEXT}
    more: dict[str, Any] = {}
    if by == "tool":
        answer = {
            "text": "I tell.",
            "calls": [{"name": "answer", "arguments": json.loads(TEXT)}],
        }
        more = {"output_by": "tool"}
    if by == "words":
        answer = {"text": f"```json\n{TEXT}\n```"}
    with running(script(answer)) as server:
        async with agent_of(server, tmp_path, speaker, **more).session() as session:
            stream = session.stream("Tell me.", output_type=Story)
            found = [partial async for partial in stream.partials()]
    assert found[-1] == STORY == stream.result.output
    assert all(is_part(*map(msgspec.to_builtins, (each, STORY))) for each in found)
    assert found == [
        each for place, each in enumerate(found) if each not in found[:place]
    ]
    if speaker.name != "gemini" or by != "tool":  # it sends arguments whole
        assert Story("glad", []) in found
        assert Story("glad", STORY.lines[:1]) in found


async def test_they_are_read_as_another_type_or_as_plain_json(tmp_path: Path) -> None:
    with running(script({"text": TEXT})) as server:
        agent = agent_of(server, tmp_path, output_type=Story)
        async with agent.session() as session:
            stream = session.stream("Tell me.")
            drafts = [draft async for draft in stream.partials(Draft)]
            plain = [each async for each in session.stream("Again.").partials(dict)]
    assert {"kind": "glad"} in drafts
    assert drafts[-1] == {"kind": "glad", "end": "Bye."}
    assert stream.result.output == STORY
    assert plain[-1] == json.loads(TEXT)
    assert {"kind": "glad", "lines": [{"text": "Once there was a cask."}]} in plain


async def test_models_lists_and_plain_text_grow_too(tmp_path: Path) -> None:
    page: dict[str, Any] = {"title": "Casks of the cellar", "lines": [1, 2, 3]}
    with running(script({"text": json.dumps(page)})) as server:
        agent = agent_of(server, tmp_path)
        pages = [each async for each in agent.stream("?", output_type=Page).partials()]
        text = [each async for each in agent.stream("?").partials()]
    assert Page(title="Casks") in pages
    assert Page(title=page["title"], lines=[1, 2]) in pages
    assert pages[-1] == Page(**page)
    assert text[-1] == json.dumps(page)
    assert all(after.startswith(before) for before, after in itertools.pairwise(text))
    with running(script({"text": '{"value": [1, 2, 3]}'})) as server:
        numbers = agent_of(server, tmp_path).stream("?", output_type=list[int]).partials()
        assert [each async for each in numbers][-2:] == [[1, 2], [1, 2, 3]]


async def test_an_answer_that_is_asked_for_again_begins_anew(tmp_path: Path) -> None:
    wrong = {"text": '{"title": "No", "lines": ["x"]}', "times": 1}
    with running(script(wrong, {"text": '{"title": "Yes"}'})) as server:
        agent = agent_of(server, tmp_path, output_type=Page)
        found = [each async for each in agent.stream("?").partials()]
        drafts = [each async for each in agent.stream("?").partials(Draft)]
    assert found[0].title in ("", "N", "No")
    assert found[-1] == Page(title="Yes")
    assert drafts == [{}]


async def test_an_answer_that_never_fits_raises_behind_what_came(tmp_path: Path) -> None:
    with running(script({"text": '{"title": 5}'})) as server:
        stream = agent_of(server, tmp_path, output_type=Page, output_retries=0).stream(
            "?"
        )
        with pytest.raises(AnswerInvalid):
            async for _ in stream.partials():
                raise AssertionError("a number is no title")


async def test_a_long_answer_is_read_a_few_times_and_not_at_each_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 0
    completions = PartialJson.completions

    def counted(self: PartialJson) -> Any:
        nonlocal tried
        tried += 1
        return completions(self)

    monkeypatch.setattr(PartialJson, "completions", counted)
    long = json.dumps({"value": list(range(2_000))})
    with running(script({"text": long})) as server:
        stream = agent_of(server, tmp_path).stream("?", output_type=list[int])
        assert [each async for each in stream.partials()][-1] == list(range(2_000))
    assert PARTIAL_STEP < tried < 6 * PARTIAL_STEP


async def test_a_cancelled_answer_is_not_asked_for_again(tmp_path: Path) -> None:
    long = json.dumps(msgspec.to_builtins(Story("sad", STORY.lines * 40)))
    with running(script({"text": long}, server={"delay_s": 0.02})) as server:
        async with agent_of(server, tmp_path, output_type=Story).session() as session:
            async with session.stream("?") as stream:
                async for _ in stream.partials():
                    break
            assert stream.result.reason == "cancelled"
            asked = [
                each for each in await session.history() if isinstance(each, TurnStarted)
            ]
            assert len(asked) == 1
            with pytest.raises(AnswerInvalid, match="no Story yet: cancelled"):
                _ = stream.result.output


async def test_their_types_are_known(tmp_path: Path) -> None:
    with running(script({"text": TEXT})) as server:
        agent = Agent(
            "anthropic:claude-haiku-4-5",
            base_url=server.url("anthropic"),
            environment={"ANTHROPIC_API_KEY": "none"},
            config=False,
            store=tmp_path / "s.db",
            output_type=Story,
        )
        async for story in agent.stream("?").partials():
            assert_type(story, Story)
        async for draft in agent.stream("?").partials(Draft):
            assert_type(draft, Draft)
        async for page in agent.stream("?", output_type=Story).partials():
            assert_type(page, Story)
