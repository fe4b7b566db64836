import pytest

from ullage.importers.opencode_parts import steps_of, wire_of


@pytest.mark.parametrize(
    ("provider", "model", "wire"),
    [
        ("anthropic", "claude-sonnet-4-5", "messages"),
        ("openai", "gpt-5.2", "responses"),
        ("google", "gemini-3-pro-preview", "generateContent"),
        ("google-vertex", "claude-opus-4-6", "messages"),
        ("amazon-bedrock", "anthropic.claude-opus-4-6", "converse"),
        ("opencode", "claude-haiku-4-5", "messages"),
        ("opencode", "kimi-k2", "chat"),
        ("github-copilot", "gpt-5.1", "responses"),
        ("openrouter", "anthropic/claude-opus-4-6", "chat"),
        ("zai", "glm-5", "chat"),
    ],
)
def test_the_wire_follows_the_provider_and_behind_gateways_the_model(provider: str, model: str, wire: str) -> None:
    assert wire_of(provider, model) == wire


def test_a_message_without_finished_steps_is_one_step() -> None:
    text = {"type": "text", "text": "a"}
    assert [(step.parts, step.finish) for step in steps_of([text])] == [((text,), None)]
    assert len(steps_of([])) == 1


def test_what_follows_the_last_finished_step_is_an_unfinished_one() -> None:
    finish = {"type": "step-finish", "tokens": {}}
    text = {"type": "text", "text": "a"}
    steps = steps_of([{"type": "step-start"}, text, finish, {"type": "step-start"}, text])
    assert [step.finish for step in steps] == [finish, None]
