import pytest

from ullage.codec.file_types import (
    INFLATED_BYTES,
    document_pages,
    file_type,
    missing_end,
    wav_seconds,
)


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (b"%PDF-1.7", "application/pdf"),
        (b"RIFF\0\0\0\0WAVE", "audio/wav"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0ABCD", ""),
        (b"FORM\0\0\0\0AIFF", "audio/aiff"),
        (b"\0\0\0\x18ftypheic", "image/heic"),
        (b"\0\0\0\x18ftypqt  ", "video/mov"),
        (b"\0\0\0\x18ftypisom", "video/mp4"),
        (b"ID3\x04", "audio/mp3"),
        (b"cask,level", ""),
        (b"", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_bytes_tell_the_type(head: bytes, mime: str) -> None:
    assert file_type(head) == mime


def test_only_a_png_or_jpeg_without_its_end_is_cut() -> None:
    assert missing_end(b"...IDAT", "image/png") and missing_end(b"...", "image/jpeg")
    assert missing_end(b"...IEND....", "image/png") == ""
    assert missing_end(b"...\xff\xd9", "image/jpeg") == ""
    assert missing_end(b"...", "image/gif") == ""


def test_object_streams_without_an_end_are_not_searched_again_and_again() -> None:
    stream = b"<</Type /ObjStm>>\nstream\n"
    assert document_pages(b"%PDF-1.7\n" + stream * 50_000) is None
    far = b"%PDF-1.7\n" + stream + b"x" * (INFLATED_BYTES + 1) + b"endstream"
    assert document_pages(far) is None


def test_a_damaged_object_stream_is_passed_over() -> None:
    stream = b"<</Type /ObjStm>>\nstream\nno zlib\nendstream"
    assert document_pages(b"%PDF-1.7\n" + stream) is None


@pytest.mark.parametrize("data", [b"", b"RIFF", b"RIFF\0\0\0\0WAVEfmt ".ljust(44, b"\0")])
def test_a_wav_file_without_a_byte_rate_has_no_length(data: bytes) -> None:
    assert wav_seconds(data) is None
