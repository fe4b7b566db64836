from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.mcp_server import PNG
from ullage_agent.tools.outputs import (
    NOTHING,
    as_output,
    as_picture,
    is_binary,
    looks_binary,
)
from ullage_agent.tools.tool import Output


@dataclass
class Point:
    x: int


class Odd:
    def __str__(self) -> str:
        return "odd"


class FakeModel:
    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"mode": mode}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, NOTHING),
        (3, "3"),
        (True, "true"),
        ([1, "a"], '[1,"a"]'),
        ({"a": Point(1)}, '{"a":{"x":1}}'),
        (float("nan"), "null"),
        ((Path("a/b"), Odd()), '["a/b","odd"]'),
        (FakeModel(), '{"mode":"json"}'),
        (b"plain text\n", "plain text\n"),
    ],
)
def test_a_value_becomes_text(value: object, text: str) -> None:
    assert as_output(value) == Output(text)


def test_an_image_becomes_a_picture_with_its_pixels() -> None:
    output = as_output(PNG)
    assert output.text == "[image/png, 1x1 pixels, 70 bytes]"
    assert [
        (each.part.width, each.part.height, each.part.size_bytes)
        for each in output.pictures
    ] == [(1, 1, 70)]
    assert as_output(output.pictures[0]).pictures == output.pictures


def test_binary_data_is_described_and_not_dumped() -> None:
    assert as_output(bytes(range(256)) * 1000).text == (
        "[binary data, 256,000 bytes, beginning with 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f]"
    )


@given(st.binary(max_size=300))
def test_any_bytes_make_a_result(data: bytes) -> None:
    output = as_output(data)
    output.text.encode()
    assert (
        output.text == data.decode()
        if not is_binary(data) and not output.pictures
        else output.text.startswith("[")
    )


@pytest.mark.parametrize(
    "head", [b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"BM", b"RIFF1234WEBP"]
)
def test_a_torn_image_is_no_picture(head: bytes) -> None:
    assert as_picture(head) is None


def test_text_with_a_few_broken_bytes_looks_like_text_still() -> None:
    assert not looks_binary(b"caf\xe9 and more words around it")
    assert not looks_binary(b"")
    assert looks_binary(b"a\0b")
    assert looks_binary(bytes(range(128, 256)))
