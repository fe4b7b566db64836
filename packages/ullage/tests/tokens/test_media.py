import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.messages import FilePart, ImagePart
from ullage.tokens.media import (
    PixelSize,
    crops,
    file_tokens,
    image_tokens,
    media_rule_for,
)


def image(width: int | None, height: int | None, **more: object) -> ImagePart:
    return ImagePart(id="i", width=width, height=height, **more)  # type: ignore[arg-type]


def tokens(wire: str, provider: str, model: str, part: ImagePart) -> float:
    return image_tokens(part, media_rule_for(wire, provider, model))


@pytest.mark.parametrize(
    ("model", "size", "expected"),
    [
        ("gpt-4o", (640, 480), 85 + 2 * 170),
        ("gpt-4o", (3008, 2000), 85 + 6 * 170),
        ("gpt-4o", (1024, 1024), 85 + 4 * 170),
        ("gpt-4o", (2048, 4096), 85 + 6 * 170),
        ("gpt-4o-mini", (640, 480), 2833 + 2 * 5667),
        ("gpt-5", (640, 480), 70 + 2 * 140),
        ("gpt-5-mini", (640, 480), 300 * 1.2),
        ("gpt-5-nano", (128, 128), 16 * 1.5),
        ("gpt-4.1-mini", (1024, 1024), 1024 * 1.62),
        ("o4-mini", (640, 480), 300 * 1.72),
    ],
)
def test_openai_counts_tiles_or_patches(
    model: str, size: tuple[int, int], expected: float
) -> None:
    assert tokens("chat", "openai", model, image(*size)) == pytest.approx(expected)


def test_openai_scales_an_image_down_to_its_budget_of_patches() -> None:
    """1800 x 2400 is 1,452 of at most 1,536 patches in OpenAI's documentation."""
    assert tokens("chat", "openai", "gpt-4.1-mini", image(1800, 2400)) == pytest.approx(
        1452 * 1.62
    )


def test_high_detail_has_fewer_patches_than_the_original() -> None:
    asked = ("responses", "openai", "gpt-5.5")
    assert tokens(*asked, image(1280, 720, detail="high")) == 40 * 23 * 1.2
    assert tokens(*asked, image(4096, 2304, detail="high")) == 64 * 36 * 1.2
    assert tokens(*asked, image(4096, 2304, detail="original")) == 128 * 72 * 1.2
    assert tokens(*asked, image(0, 0, detail="high")) == 3_000


def test_low_detail_costs_the_base_alone() -> None:
    assert tokens("chat", "openai", "gpt-4o", image(3000, 2000, detail="low")) == 85


@pytest.mark.parametrize(
    ("size", "patches"),
    [
        ((640, 480), 23 * 18),
        ((128, 128), 25),
        ((1001, 1001), 36 * 36),
        ((800, 440), 29 * 16),
    ],
)
def test_claude_counts_patches_of_28_pixels(size: tuple[int, int], patches: int) -> None:
    assert (
        tokens("messages", "anthropic", "claude-sonnet-4-5", image(*size)) == patches + 3
    )


def test_a_large_image_costs_claude_no_more_than_its_cap() -> None:
    large = tokens("messages", "anthropic", "claude-haiku-4-5", image(4032, 3024))
    assert 1_450 < large <= 1_571
    assert tokens("messages", "anthropic", "claude-opus-4-7", image(4032, 3024)) > 3_000


def test_a_page_in_a_tool_result_costs_gemini_3_twice_as_much() -> None:
    rule = media_rule_for("generateContent", "google", "gemini-3-flash-preview")
    page = file("application/pdf", pages=1)
    assert file_tokens(page, rule, in_result=True) == 1095 > 2 * file_tokens(page, rule)


def test_llama_4_counts_tiles_and_the_whole() -> None:
    assert tokens("chat", "groq", "llama-4-scout", image(400, 301)) == 170 + 2 * 144
    assert tokens("chat", "groq", "llama-4-scout", image(5000, 5000)) <= 170 + 16 * 144


def test_gemini_is_flat_from_2_5_on_and_cropped_before() -> None:
    assert (
        tokens("generateContent", "google", "gemini-2.5-flash", image(4000, 4000)) == 258
    )
    assert (
        tokens("generateContent", "google", "gemini-3-flash-preview", image(1, 1)) == 1090
    )
    assert crops(PixelSize(384, 200)) == 1
    picture = image(640, 480)
    assert tokens("generateContent", "google", "gemini-2.0-flash", picture) == 5 * 258


@pytest.mark.parametrize(
    "model",
    ["gpt-4o", "claude-sonnet-4-5", "gpt-5-mini", "qwen2.5-vl", "pixtral-12b", "x"],
)
def test_an_image_of_unknown_size_costs_the_cap(model: str) -> None:
    rule = media_rule_for("chat", "", model)
    assert image_tokens(image(None, None), rule) == rule.image.cap
    assert image_tokens(image(0, 10), rule) == rule.image.cap


sides = st.integers(min_value=1, max_value=20_000)


@given(
    width=sides, height=sides, first=st.integers(0, 10**7), second=st.integers(0, 10**7)
)
def test_the_encoding_of_the_same_pixels_makes_no_difference(
    width: int, height: int, first: int, second: int
) -> None:
    for model in (
        "gpt-4o",
        "claude-opus-4-6",
        "gemini-2.0-flash",
        "gpt-5-nano",
        "nova-pro",
    ):
        rule = media_rule_for("chat", "", model)
        png = image(width, height, mime="image/png", size_bytes=first)
        jpeg = image(width, height, mime="image/jpeg", size_bytes=second)
        assert image_tokens(png, rule) == image_tokens(jpeg, rule)


@given(width=sides, height=sides)
def test_no_image_costs_less_than_nothing_or_more_than_the_cap(
    width: int, height: int
) -> None:
    for model in (
        "claude-opus-4-6",
        "claude-opus-4-8",
        "gpt-5-mini",
        "o4-mini",
        "nova-pro",
        "gemini-3-pro",
        "x",
    ):
        rule = media_rule_for("chat", "", model)
        assert 0 < image_tokens(image(width, height), rule) <= rule.image.cap


def file(mime: str, **more: object) -> FilePart:
    return FilePart(id="f", mime=mime, **more)  # type: ignore[arg-type]


def test_pages_seconds_and_frames_are_counted() -> None:
    gemini = media_rule_for("generateContent", "google", "gemini-2.5-flash")
    assert file_tokens(file("application/pdf", pages=3), gemini) == 3 * 258
    assert file_tokens(file("audio/wav", seconds=10), gemini) == 320
    assert file_tokens(file("video/mp4", seconds=4.1), gemini) == 5 * 295
    gemini_3 = media_rule_for("generateContent", "google", "gemini-3-flash-preview")
    assert file_tokens(file("video/mp4", seconds=4.1), gemini_3) == 4 * 90
    nova = media_rule_for("converse", "bedrock", "us.amazon.nova-2-lite-v1:0")
    assert file_tokens(file("video/mp4", seconds=2), nova) == file_tokens(
        file("video/mp4", seconds=60), nova
    )
    assert file_tokens(file("video/mp4", seconds=0.5), gemini) == 295
    claude = media_rule_for("messages", "anthropic", "claude-sonnet-4-5")
    assert file_tokens(file("application/pdf", pages=2), claude) == 3200


def test_responses_reads_a_page_and_chat_looks_at_it() -> None:
    pdf = file("application/pdf", pages=1)
    assert file_tokens(pdf, media_rule_for("responses", "openai", "gpt-4o")) < 20
    assert file_tokens(pdf, media_rule_for("chat", "openai", "gpt-4o")) > 200


def test_a_text_file_costs_its_text_which_is_counted_elsewhere() -> None:
    rule = media_rule_for("messages", "anthropic", "claude-sonnet-4-5")
    assert file_tokens(file("text/plain", text="hello", size_bytes=5), rule) == 0
    assert file_tokens(file("text/plain", size_bytes=420), rule) == pytest.approx(100)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, None])
def test_a_length_that_can_not_be_is_unknown(seconds: float | None) -> None:
    rule = media_rule_for("generateContent", "google", "gemini-2.5-flash")
    assert (
        file_tokens(file("audio/wav", seconds=seconds), rule) == 32 * rule.seconds_unknown
    )
