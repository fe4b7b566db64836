from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.naming import Namer
from ullage.messages import ReasoningPart, Request, TextPart


@given(st.lists(st.sampled_from(["a", "b", "c"])))
def test_names_are_unique_and_repeatable(contents: list[str]) -> None:
    names = [Namer().name("text", one) for one in contents]
    assert len(set(names)) == len(set(contents))
    one, other = Namer(), Namer()
    first = [one.name("text", content) for content in contents]
    assert first == [other.name("text", content) for content in contents]
    assert len(set(first)) == len(contents)


def test_pieces_do_not_run_into_each_other() -> None:
    assert Namer().name("text", "ab", "c") != Namer().name("text", "a", "bc")
    assert Namer().name("text", "1:a") != Namer().name("text", "1", "a")


def test_an_answer_goes_on_counting_after_its_request() -> None:
    namer = Namer()
    part = TextPart(id=namer.name("text", "ok"), text="ok")
    request = Request(wire="chat", model="m", messages=(namer.message("user", (part,)),))
    known = Namer()
    known.note(request.messages)
    for _ in range(2):
        assert Namer(known).name("text", "ok") == f"{part.id}~2", "what is read later changes nothing for others"
    assert Namer().name("text", "ok") == part.id


def test_a_message_of_reasoning_alone_is_named_by_it() -> None:
    thought = ReasoningPart(id="r-1", text="hm")
    said = TextPart(id="t-1", text="so")
    assert Namer().message("assistant", (thought, said)).id == Namer().message("assistant", (said,)).id
    assert Namer().message("assistant", (thought,)).id != Namer().message("assistant", ()).id
