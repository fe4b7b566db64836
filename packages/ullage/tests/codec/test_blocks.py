"""What all encoders share."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.streams import HOSTS, request, user
from ullage.codec.blocks import (
    Block,
    Blocks,
    Encoded,
    Held,
    Options,
    Sending,
    json_object,
    locate,
    named_text,
    stand_in,
)
from ullage.codec.history import encode
from ullage.codec.wires import target_of
from ullage.errors import InvalidRequest
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    ProviderData,
    Request,
    SystemBlock,
    TextPart,
    Tool,
)

WIRES = sorted(HOSTS)


def test_a_wire_without_a_codec_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match="converse"):
        encode(Request(wire="converse", model="m"))


def test_the_same_block_in_another_place_is_another_one() -> None:
    blocks = Blocks()
    assert (
        bytes(blocks.add("user", {"a": 1}))
        == bytes(blocks.add("system", {"a": 1}))
        == b'{"a":1}'
    )
    assert len({block.digest for block in blocks.made}) == 2


def encoded(*blocks: str) -> Encoded:
    return Encoded("/", {}, {}, tuple(Block("user", one.encode()) for one in blocks))


def test_a_request_extends_another_when_its_blocks_begin_with_the_others() -> None:
    assert encoded("a", "b").extends(encoded("a"))
    assert encoded("a").extends(encoded("a"))
    assert not encoded("a").extends(encoded("a", "b"))
    assert not encoded("x", "b").extends(encoded("a"))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("what", ["system", "tools", "text", "order"])
def test_any_change_of_what_was_sent_is_seen_in_the_blocks(wire: str, what: str) -> None:
    def ask(system: str = "S", tool: str = "f", *texts: str) -> Encoded:
        said = texts or ("a", "b")
        messages = [user(text, f"u{at}") for at, text in enumerate(said)]
        return encode(
            request(
                wire,
                *messages,
                system=(SystemBlock(text=system),),
                tools=(Tool(name=tool),),
            )
        )

    changed = {
        "system": ask("T"),
        "tools": ask("S", "g"),
        "text": ask("S", "f", "a", "c"),
        "order": ask("S", "f", "b", "a"),
    }[what]
    assert not changed.extends(ask())


@pytest.mark.parametrize("wire", WIRES)
def test_parameters_are_no_part_of_the_blocks(wire: str) -> None:
    one = encode(
        request(wire, user()),
        options=Options(max_output=5, temperature=0.1, effort="low"),
    )
    assert one.blocks == encode(request(wire, user(), stream=True)).blocks


def data(content: bytes) -> ProviderData:
    return ProviderData(
        data=msgspec.Raw(content), wire="responses", provider="openai", model="gpt-5"
    )


def sending() -> Sending:
    return Sending(request("responses"), target_of(request("responses")), Options())


def test_fields_are_the_bytes_they_came_in() -> None:
    fields = sending().fields(data(b'{"id": "x",  "other": 1.50}'))
    assert bytes(fields["other"]) == b"1.50"


def test_data_that_is_no_object_has_no_fields() -> None:
    assert sending().fields(data(b"[1]")) == {}


@given(
    st.text(max_size=40)
    | st.sampled_from(
        ['{"a": 1.0}', '{"a":1}{', "{}", " {} ", "null", '"\ud800"', "\ud800"]
    )
)
def test_arguments_are_always_an_object(written: str) -> None:
    assert isinstance(json.loads(bytes(json_object(written))), dict)


@pytest.mark.parametrize("wire", WIRES)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_text_goes_out_as_it_is(wire: str, text: str) -> None:
    said = Message(id="u", role="user", parts=(TextPart(id="u.1", text=text),))
    assert msgspec.json.encode(text) in encode(request(wire, said)).content


def test_no_header_holds_a_key() -> None:
    for wire in WIRES:
        names = {name.lower() for name in encode(request(wire, user())).headers}
        assert names <= {"content-type", "anthropic-version", "anthropic-beta"}


SENDING = Sending(
    request("chat"),
    target_of(request("chat")),
    Options(media={"blake2b:1": b"hi", "https://x/y": b"cached"}),
)


@pytest.mark.parametrize(
    ("part", "held"),
    [
        (
            ImagePart(id="i", mime="image/png", source="blake2b:1"),
            Held("image/png", data="aGk="),
        ),
        (
            ImagePart(id="i", mime="image/*", source="https://x/y"),
            Held("image/png", data="Y2FjaGVk"),
        ),
        (ImagePart(id="i", source="https://x/z"), Held("image/png", url="https://x/z")),
        (FilePart(id="i", source="gs://b/c"), Held("application/pdf", url="gs://b/c")),
        (FilePart(id="i", source="data:text/csv;base64,AA"), Held("text/csv", data="AA")),
        (
            FilePart(id="i", mime="text/csv", source="file-1"),
            Held("text/csv", file_id="file-1"),
        ),
        (FilePart(id="i", source="blake2b:gone"), None),
        (FilePart(id="i"), None),
    ],
)
def test_content_is_found_by_its_source(
    part: ImagePart | FilePart, held: Held | None
) -> None:
    assert locate(SENDING, part) == held


def test_inline_content_has_an_address_too() -> None:
    assert Held("image/png", data="AA").address == "data:image/png;base64,AA"
    assert Held("image/png", url="https://x").address == "https://x"


def test_what_is_not_here_is_named_the_same_way_each_time_and_noted_once() -> None:
    blocks = Blocks()
    part = FilePart(id="i", name="a.pdf", mime="application/pdf")
    lines = {stand_in(blocks, part) for _ in range(3)}
    assert lines == {"[file a.pdf, application/pdf: its content is not available]"}
    assert blocks.unsent == ["content of i"]


def test_a_document_that_is_text_stands_under_its_name() -> None:
    assert named_text(FilePart(id="i", name="a.md", text="x")) == "[a.md]\nx"
    assert named_text(FilePart(id="i", text="x")) == "x"


@pytest.mark.parametrize(
    "source",
    [
        "kept:none",
        "file:///etc/passwd",
        "../../secret",
        "/etc/passwd",
        "a\nb",
        "x" * 300,
        "",
    ],
)
def test_what_names_no_file_of_a_provider_is_not_sent_as_one(source: str) -> None:
    assert locate(SENDING, ImagePart(id="i", mime="image/png", source=source)) is None
