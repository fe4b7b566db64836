import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.types.strategies import PART_TYPES, words
from ullage.messages import (
    FilePart,
    ImagePart,
    ProviderItem,
    TextPart,
    ToolResultPart,
    clean_text,
)

any_text = st.text(st.characters()) | st.lists(
    st.sampled_from(["\ud83d", "\ude00", "\0", "a", "\ufeff", "\ufffd", "\U0001f600"])
).map("".join)


def is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


@given(text=any_text | st.binary())
def test_clean_text_is_always_valid_unicode_without_nul(text: str | bytes) -> None:
    assert is_valid(clean_text(text).text)


@given(text=any_text)
def test_clean_text_keeps_the_original_of_what_it_altered(text: str) -> None:
    cleaned = clean_text(text)
    if cleaned.raw is None:
        assert cleaned.text == text
    else:
        assert cleaned.raw.decode("utf-8", "surrogatepass") == text
        assert cleaned.text != text


@given(data=st.binary())
def test_clean_text_keeps_the_bytes_of_what_it_altered(data: bytes) -> None:
    cleaned = clean_text(data)
    assert (cleaned.text.encode() if cleaned.raw is None else cleaned.raw) == data


@given(text=any_text)
def test_clean_text_leaves_clean_text_alone(text: str) -> None:
    cleaned = clean_text(text).text
    assert clean_text(cleaned) == (cleaned, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\ud83d\ude00b", "a\U0001f600b"),
        ("a\ud83db", "a\ufffdb"),
        ("a\0b", "a\ufffdb"),
        (b"caf\xe9", "caf\ufffd"),
        ("\ufeffa\0", "\ufeffa\ufffd"),
    ],
)
def test_clean_text_joins_cut_pairs_and_marks_what_can_not_be_kept(
    text: str | bytes, expected: str
) -> None:
    assert clean_text(text).text == expected


@pytest.mark.parametrize("kind", PART_TYPES, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_parts_are_frozen_and_equal_by_value(
    kind: type[msgspec.Struct], data: st.DataObject
) -> None:
    part = data.draw(words(kind, newer=True))
    assert msgspec.structs.replace(part) == part
    assert msgspec.structs.replace(part, revision=part.revision + 1) != part
    with pytest.raises(AttributeError):
        part.revision = 9


def test_the_text_of_a_tool_result_is_all_text_in_it_in_order() -> None:
    result = ToolResultPart(
        id="r",
        call_id="c",
        content=(
            TextPart(id="1", text="one "),
            ImagePart(id="2", mime="image/png"),
            FilePart(id="3", text="two "),
            ProviderItem(id="4", text="three"),
        ),
    )
    assert result.text == "one two three"
