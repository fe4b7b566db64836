from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.parts import (
    Namer,
    PartMaker,
    data_url,
    decode_base64,
    mime_of,
    opaque_size,
    readable,
    tool,
)
from ullage.messages import FilePart, ImagePart, ReasoningPart, Request, TextPart


def maker() -> PartMaker:
    return PartMaker(namer=Namer(), wire="chat")


def test_the_same_image_has_the_same_id_and_another_detail_another() -> None:
    one, same = (
        maker().media("image/png", data="AAAA"),
        maker().media("image/png", data="AAAA"),
    )
    assert one.id == same.id
    assert maker().media("image/png", data="AAAA", detail="low").id != one.id


def test_media_without_a_type_is_told_by_its_first_bytes() -> None:
    assert isinstance(maker().media("", data="iVBORw0KGgo="), ImagePart)
    pdf = maker().media("", data="JVBERi0xLjQ=")
    assert isinstance(pdf, FilePart)
    assert (pdf.mime, pdf.size_bytes) == ("application/pdf", 8)
    assert mime_of("AAAA") == ""


def test_broken_base64_has_no_size_but_is_still_media() -> None:
    part = maker().media("image/png", data="a")
    assert isinstance(part, ImagePart)
    assert (part.size_bytes, part.width) == (None, None)
    assert decode_base64("a") is None


@pytest.mark.parametrize(
    "url", ["https://example.org", "data:text/plain,hello", "data:image/png;base64", ""]
)
def test_only_base64_data_urls_hold_data(url: str) -> None:
    assert data_url(url) == ("", "")


def test_a_data_url_is_its_type_and_its_data() -> None:
    assert data_url("data:image/png;name=a;base64,QUJD") == ("image/png", "QUJD")


def test_opaque_text_is_measured_wherever_it_lies() -> None:
    assert (
        opaque_size(
            {"signature": "abc", "text": "not me", "deep": [{"data": ["de", "f"]}]}
        )
        == 6
    )
    assert opaque_size("plain") == 0


def test_readable_text_leaves_opaque_text_out() -> None:
    value = {
        "content": [{"title": "t", "encrypted_content": "xxx", "url": "u"}],
        "id": "no",
    }
    assert readable(value) == ["t", "u"]


def test_nothing_said_is_no_opaque_data() -> None:
    assert maker().opaque({"a": None, "b": [], "c": {}}) is None
    assert maker().opaque({"a": 0}) is not None


def test_an_mcp_tool_names_its_server() -> None:
    assert tool("mcp__git__log", "", None).server == "git"
    assert tool("read", None, None).server == ""


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
        assert Namer(known).name("text", "ok") == f"{part.id}~2", (
            "what is read later changes nothing for others"
        )
    assert Namer().name("text", "ok") == part.id


def test_a_message_of_reasoning_alone_is_named_by_it() -> None:
    thought = ReasoningPart(id="r-1", text="hm")
    said = TextPart(id="t-1", text="so")
    assert (
        Namer().message("assistant", (thought, said)).id
        == Namer().message("assistant", (said,)).id
    )
    assert (
        Namer().message("assistant", (thought,)).id != Namer().message("assistant", ()).id
    )
