from dataclasses import fields

import pytest

from ullage.display.glyphs import ASCII, UNICODE, glyphs_for
from ullage.display.text import cells


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf-16", "gb18030"])
def test_an_encoding_that_has_the_blocks_gets_them(encoding: str) -> None:
    assert glyphs_for(encoding) is UNICODE


@pytest.mark.parametrize(
    "encoding", ["ascii", "latin-1", "cp1252", "no-such-encoding", None]
)
def test_any_other_encoding_gets_ascii(encoding: str | None) -> None:
    assert glyphs_for(encoding) is ASCII


def test_the_ascii_set_is_ascii() -> None:
    assert all(getattr(ASCII, field.name).isascii() for field in fields(ASCII))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_what_stands_in_a_cell_takes_one_cell(glyphs: object) -> None:
    for name in (
        "used",
        "interval",
        "free",
        "compaction",
        "reserve",
        "over",
        "compacted",
        "pruned",
    ):
        assert cells(getattr(glyphs, name)) == 1


def test_our_own_punctuation_is_spelt_out_in_ascii() -> None:
    assert ASCII.spell("52,100 ± 140 · more …") == "52,100 +- 140 - more ..."
    assert UNICODE.spell("52,100 ± 140") == "52,100 ± 140"
