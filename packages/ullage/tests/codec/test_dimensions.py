import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.dimensions import Size, image_size, pdf_pages


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", width, height)


def jpeg(width: int, height: int) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"J" * 14
    return (
        b"\xff\xd8"
        + app
        + b"\xff\xff\xc0\0\x11\x08"
        + struct.pack(">HH", height, width)
        + b"\0" * 9
    )


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + body.ljust(20, b"\0")


IMAGES = [
    png(640, 480),
    jpeg(640, 480),
    b"GIF89a" + struct.pack("<HH", 640, 480),
    b"BM" + b"\0" * 16 + struct.pack("<ii", 640, -480),
    webp(b"VP8 ", b"\0" * 6 + struct.pack("<HH", 640, 480)),
    webp(b"VP8L", b"\x2f" + ((640 - 1) | (480 - 1) << 14).to_bytes(4, "little")),
    webp(b"VP8X", b"\0" * 4 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
]


@pytest.mark.parametrize("data", IMAGES)
def test_the_same_pixels_have_the_same_size_in_every_format(data: bytes) -> None:
    assert image_size(data) == Size(640, 480)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        png(0, 5),
        b"RIFF\0\0\0\0WEBPVP9 " + b"\0" * 20,
    ],
)
def test_a_head_that_does_not_say_is_unknown(data: bytes) -> None:
    assert image_size(data) is None


def test_pages_are_counted_from_the_tree_or_the_page_objects() -> None:
    assert pdf_pages(b"%PDF-1.4 << /Type /Pages /Kids [] /Count 12 >>") == 12
    assert pdf_pages(b"%PDF-1.4 << /Count 7 /Type /Pages >>") == 7
    assert pdf_pages(b"%PDF-1.4 << /Type /Page >> << /Type/Page >>") == 2
    assert pdf_pages(b"%PDF-1.7 compressed") is None
    assert pdf_pages(b"no pdf /Type /Page") is None


@given(st.sampled_from([data[:12] for data in IMAGES]), st.binary(max_size=60))
def test_no_bytes_raise(head: bytes, tail: bytes) -> None:
    image_size(head + tail)
    pdf_pages(head + tail)
