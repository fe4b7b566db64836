"""Where the content of images and files is found."""

from __future__ import annotations

import pytest

from tests.codec.streams import request
from ullage.codec.blocks import Blocks, Options, Sending
from ullage.codec.media import Held, locate, named_text, stand_in
from ullage.codec.wires import target_of
from ullage.messages import FilePart, ImagePart

SENDING = Sending(
    request("chat"), target_of(request("chat")), Options(media={"blake2b:1": b"hi", "https://x/y": b"cached"})
)


@pytest.mark.parametrize(
    ("part", "held"),
    [
        (ImagePart(id="i", mime="image/png", source="blake2b:1"), Held("image/png", data="aGk=")),
        (ImagePart(id="i", mime="image/*", source="https://x/y"), Held("image/png", data="Y2FjaGVk")),
        (ImagePart(id="i", source="https://x/z"), Held("image/png", url="https://x/z")),
        (FilePart(id="i", source="gs://b/c"), Held("application/pdf", url="gs://b/c")),
        (FilePart(id="i", source="data:text/csv;base64,AA"), Held("text/csv", data="AA")),
        (FilePart(id="i", mime="text/csv", source="file-1"), Held("text/csv", file_id="file-1")),
        (FilePart(id="i", source="blake2b:gone"), None),
        (FilePart(id="i"), None),
    ],
)
def test_content_is_found_by_its_source(part: ImagePart | FilePart, held: Held | None) -> None:
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
    "source", ["kept:none", "file:///etc/passwd", "../../secret", "/etc/passwd", "a\nb", "x" * 300, ""]
)
def test_what_names_no_file_of_a_provider_is_not_sent_as_one(source: str) -> None:
    assert locate(SENDING, ImagePart(id="i", mime="image/png", source=source)) is None
