import pytest

from ullage.models.binding import binding_of, reads_thinking


@pytest.mark.parametrize(
    ("wire", "model", "refuses"),
    [
        ("messages", "claude-fable-5-2", True),
        ("messages", "claude-mythos-5-1", True),
        ("messages", "anthropic/claude-opus-5.5", True),
        ("messages", "claude-sonnet-5-5-20261003", True),
        ("messages", "claude-haiku-5-5", True),
        ("messages", "claude-opus-5", None),
        ("messages", "claude-fable-5", None),
        ("messages", "claude-haiku-4-5", None),
        ("responses", "gpt-6.2-astra", False),
        ("responses", "gpt-6.1-sol", None),
        ("chat", "claude-fable-5-2", None),
    ],
)
def test_which_models_bind_reasoning_and_refuse_it_behind_another_prefix(
    wire: str, model: str, refuses: bool | None
) -> None:
    found = binding_of(wire, model)
    assert (None if found is None else found.refuses) is refuses


@pytest.mark.parametrize(
    ("made_by", "asked", "is_read"),
    [
        ("claude-fable-5-2", "claude-mythos-5-2", True),
        ("claude-fable-5-2", "claude-fable-5-1", False),
        ("claude-fable-5-1", "claude-fable-5-2", True),
        ("claude-opus-5-5", "claude-fable-5-1", True),
        ("claude-opus-5-5", "claude-opus-5", False),
        ("claude-fable-5", "claude-opus-5-5", False),
        ("claude-opus-5", "claude-opus-5-5", True),
        ("claude-haiku-5-5", "claude-opus-5", True),
        ("claude-opus-5", "claude-haiku-5-5", False),
        ("claude-opus-4-6", "claude-opus-5", True),
        ("claude-fable-5-2", "claude-fable-5-2", True),
    ],
)
def test_whose_thinking_a_claude_model_reads(
    made_by: str, asked: str, is_read: bool
) -> None:
    assert reads_thinking(made_by, asked) is is_read
