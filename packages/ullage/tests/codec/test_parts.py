import pytest

from ullage.codec.parts import (
    Namer,
    PartMaker,
    data_url,
    decode_base64,
    mime_of,
    opaque_size,
    readable,
)
from ullage.messages import FilePart, ImagePart


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
