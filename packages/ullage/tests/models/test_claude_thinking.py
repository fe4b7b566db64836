import pytest

from ullage.models.claude_thinking import (
    ADAPTS_ALONE,
    ALWAYS_THINKS,
    THINKS_BETWEEN_TOOLS,
)


@pytest.mark.parametrize(
    ("model", "refused"),
    [
        ("claude-opus-4-6", ()),
        ("claude-haiku-4-5", ()),
        ("anthropic.claude-opus-4-7-v1:0", ("a budget",)),
        ("claude-opus-5", ("a budget",)),
        ("claude-haiku-5-5", ("a budget",)),
        ("claude-opus-5.5", ("a budget", "disabled")),
        ("claude-fable-5-2", ("a budget", "disabled")),
        ("claude-sonnet-5-5", ("a budget", "disabled, but for between tools")),
    ],
)
def test_a_model_refuses_ways_to_think_by_its_name(
    model: str, refused: tuple[str, ...]
) -> None:
    ways = {
        "a budget": ADAPTS_ALONE,
        "disabled": ALWAYS_THINKS,
        "disabled, but for between tools": THINKS_BETWEEN_TOOLS,
    }
    assert tuple(way for way, models in ways.items() if models.search(model)) == refused
