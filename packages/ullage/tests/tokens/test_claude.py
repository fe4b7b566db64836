import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.claude import _KINDS, VOCABULARIES, _Memo, vocabulary
from ullage.tokens.text import counter_for

MEASURED = (
    ("hello, world", 3, 4),
    ("What is 2+2?", 7, 7),
    ("It's NASA's 'First' call, isn't it?", 14, 17),
    ("def read(path):\n    return open(path).read()", 14, 14),
    ("GitHub iPhone McDonald ABC ABCD", 7, 19),
    ('x = {"id": 1, "ok": true}', 13, 15),
    ("a  b\n\n\n\tc   d", 8, 8),
    ("Русский текст.", 6, 6),
    ("Ελληνικό κείμενο.", 13, 13),
    ("العربية.", 4, 4),
    ("שָׁלוֹם", 9, 9),
    ("नमस्ते हिन्दी", 12, 12),
    ("ภาษาไทย", 8, 8),
    ("cafe\u0301 man\u0303ana", 4, 4),
    ("€5 → 10 % — ½ ①", 14, 14),
    ("text: 日本語のテキストです。", 12, 12),
    ("", 0, 0),
)
"""Texts and what they cost older and newer models, as ctok 1.3.0 reproduces the count endpoint."""


@pytest.mark.parametrize(("text", "older", "newer"), MEASURED)
def test_a_text_costs_what_the_count_endpoint_says(
    text: str, older: int, newer: int
) -> None:
    assert [vocabulary(name).count(text) for name in VOCABULARIES] == [older, newer]


PROSE = (
    "The quick brown fox jumps over the lazy dog while a merchant inspects each ledger entry for accuracy before "
    "sealing the envelope and dispatching it via the afternoon courier service. "
)
CODE = (
    "function computeChecksum(values) { return values.reduce((acc, v) => (acc * 31 + v) >>> 0, 0); } "
    "// deterministic checksum"
)
SCRIPTS = "日本語のテキストです。한국어 텍스트입니다. Русский текст. Ελληνικό κείμενο. العربية. "


@pytest.mark.parametrize(
    ("scale_1", "scale_4", "billed"),
    [
        (PROSE * 3, PROSE * 12, 540),
        ("\n".join([CODE] * 4), "\n".join([CODE] * 16), 636),
        (SCRIPTS * 2, SCRIPTS * 8, 270),
    ],
)
def test_published_bills_of_opus_5_and_fable_5_come_out_even(
    scale_1: str, scale_4: str, billed: int
) -> None:
    """https://github.com/vybestack/llxprt-code, research/issue2835: the bill at scale 4 less that at scale 1."""
    newer = vocabulary("claude-4.7")
    assert newer.count(scale_4) - newer.count(scale_1) == billed


def test_curly_quotes_are_straight_ones_for_older_models_alone() -> None:
    older, newer = (vocabulary(name) for name in VOCABULARIES)
    assert older.count("“so” it’s") == older.count('"so" it\'s')
    assert newer.count("“so” it’s") != newer.count('"so" it\'s')


def test_what_the_provider_drops_costs_nothing() -> None:
    newer = vocabulary("claude-4.7")
    assert newer.count("one\x00\x07\ue000 two\n\n") == newer.count("one two")


@pytest.mark.parametrize("name", VOCABULARIES)
def test_both_estimators_count_claude_alike(name: str) -> None:
    text = "An answer of 3,000 words.\n"
    counts = {
        counter_for(estimator).count(text, name) for estimator in ("pretoken", "bpe")
    }
    assert counts == {float(vocabulary(name).count(text))}


@given(st.text(st.characters(exclude_categories=())))
def test_any_string_can_be_counted_and_costs_no_more_than_its_bytes_and_marks(
    text: str,
) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    for name in VOCABULARIES:
        assert 0 <= vocabulary(name).count(text) <= 4 * size


@pytest.mark.parametrize("sign", ["x", "!?", " ", "字", "123", "☃", "½", "\u0301\u0323"])
def test_a_run_without_an_end_in_sight_is_counted_in_parts(sign: str) -> None:
    newer = vocabulary("claude-4.7")
    half, whole = (newer.count(f".{sign * size}.") for size in (20_000, 40_000))
    assert whole == pytest.approx(2 * half, rel=0.02)


@pytest.mark.parametrize("name", VOCABULARIES)
@given(digits=st.text("0123456789", min_size=1, max_size=12))
def test_every_three_digits_are_a_token(name: str, digits: str) -> None:
    counted = vocabulary(name).count(digits) - vocabulary(name).count("")
    assert counted == -(-len(digits) // 3)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_no_run_that_is_remembered_is_long(name: str) -> None:
    counter = vocabulary(name)
    for sign in ("7", "☃", "½", "x", "!", " ", "\u0301\u0323"):
        counter.count(sign * 5_000)
    assert max(map(len, counter._tokens)) <= 512


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_text_costs_the_same_whatever_its_length_and_needs_little_memory(
    name: str,
) -> None:
    counter = vocabulary(name)
    for text in (PROSE, CODE + "\n", SCRIPTS, '{"a":1,"b":[2,3]},', "字字。", "x", "12"):
        repeated = text * (300_000 // len(text))
        tracemalloc.start()
        counted = counter.count(repeated)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        whole = repeated.rstrip("\n")
        assert counted == counter._count(whole, whole.translate(_KINDS))
        assert peak < 3_000_000


@pytest.mark.parametrize("lines", [1, 60_000, 200_000])
def test_line_ends_behind_a_long_text_cost_nothing(lines: int) -> None:
    newer = vocabulary("claude-4.7")
    text = "word " * 20_000 + "x"
    assert newer.count(text + "\n\x00" * lines) == newer.count(text)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ullage.tokens.claude.REMEMBERED_CHARS", 1_000)
    memo = _Memo()
    for at in range(1_000):
        memo._remember(f"{at:0100}", 1)
    assert len(memo) <= 10
