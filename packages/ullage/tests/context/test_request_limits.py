import pytest

from ullage.context.request_limits import ROWS, RequestLimits, request_limits
from ullage.messages import FilePart, ImagePart, Message, TextPart, ToolResultPart

MB = 1_000_000


def seen(count: int, *, px: int = 800, files: int = 0) -> Message:
    pictures = tuple(ImagePart(id=f"i{n}", width=px, height=20) for n in range(count))
    return Message(
        id="m",
        role="user",
        parts=(*pictures, *(FilePart(id=f"f{n}", name="a.pdf") for n in range(files))),
    )


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("anthropic", "claude-haiku-4-5", (100, 32 * MB)),
        ("anthropic", "claude-opus-4-6", (600, 32 * MB)),
        ("anthropic", "claude-sonnet-4-5[1m]", (600, 32 * MB)),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", (100, 20 * MB)),
        ("vertex", "claude-haiku-4-5@20251001", (100, 30 * MB)),
        ("openai", "gpt-5.5", (1_500, 512 * MB)),
        ("openai", "o3", (1_500, 512 * MB)),
        ("azure", "gpt-4.1", (50, None)),
        ("google", "gemini-2.5-flash", (3_600, 100 * MB)),
        ("vertex", "gemini-2.5-pro", (3_000, None)),
        ("mistral", "mistral-medium-latest", (8, None)),
        ("groq", "meta-llama/llama-4-scout-17b-16e-instruct", (5, 4 * MB)),
    ],
)
def test_what_is_documented(
    provider: str, model: str, expected: tuple[int | None, int | None]
) -> None:
    assert request_limits(provider, model) == expected


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "deepseek-chat"),
        ("anthropic", "small"),
        ("openrouter", "anthropic/claude-haiku-4.5"),
        ("", "claude-haiku-4-5"),
        ("", "gpt-5"),
        ("vllm", "qwen3"),
        ("xai", "grok-4"),
        ("azure", "my-deployment"),
        ("google", "gemini-2.5-flash-image"),
        ("bedrock", "amazon.nova-pro-v1:0"),
    ],
)
def test_what_nobody_has_written_down_is_unknown(provider: str, model: str) -> None:
    assert request_limits(provider, model) == RequestLimits(None, None)


def test_files_count_only_where_the_provider_counts_them() -> None:
    view = [seen(3, files=4)]
    assert request_limits("anthropic", "claude-haiku-4-5", view).most_images == 100
    assert request_limits("mistral", "mistral-medium-latest", view).most_images == 8 + 4


def test_of_large_images_claude_takes_twenty_wherever_they_stand() -> None:
    large = seen(1, px=2_001)
    inside = Message(
        id="t",
        role="tool",
        parts=(
            ToolResultPart(
                id="r", call_id="c", content=(ImagePart(id="i", height=4_000),)
            ),
        ),
    )
    assert (
        request_limits("anthropic", "claude-opus-4-6", [seen(30), large]).most_images
        == 20
    )
    assert (
        request_limits("bedrock", "anthropic.claude-haiku-4-5", [inside]).most_images
        == 20
    )
    assert (
        request_limits("anthropic", "claude-opus-4-6", [seen(30, px=2_000)]).most_images
        == 600
    )
    assert (
        request_limits(
            "anthropic", "claude-opus-4-6", [seen(1, files=5), large]
        ).most_images
        == 20 + 5
    )
    assert (
        request_limits(
            "anthropic", "claude-haiku-4-5", [seen(1, files=95), large]
        ).most_images
        == 100
    )
    assert request_limits("openai", "gpt-5.5", [large]).most_images == 1_500


def test_text_is_no_file() -> None:
    text = Message(id="m", role="user", parts=(TextPart(id="t", text="x" * 9_000),))
    assert request_limits("mistral", "mistral-medium-latest", [text]).most_images == 8


def test_every_row_names_the_pages_it_was_taken_from() -> None:
    assert all(
        row.sources and all(source.startswith("https://") for source in row.sources)
        for row in ROWS
    )
