import pytest

from tests.importers.folding import Folded
from ullage.events import ModelChanged
from ullage_programs.opencode.log_messages import OpenCodeReader, steps_of, wire_of


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
def test_the_wire_follows_provider_or_model(provider: str, model: str, wire: str) -> None:
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


def test_a_summary_that_another_model_writes_does_not_change_the_sessions_model() -> None:
    reader = OpenCodeReader()
    tokens = {"input": 50, "output": 4, "cache": {"read": 0, "write": 0}}

    def answer(name: str, model: str, provider: str, **more: object) -> None:
        text = {"type": "text", "text": name}
        done = {"type": "step-finish", "reason": "stop", "tokens": tokens}
        info = {"id": name, "role": "assistant", "modelID": model, "providerID": provider}
        reader.message(info | more, [text, done])

    answer("one", "gpt-5", "openai")
    ask = {"id": "ask", "role": "user"}
    reader.message(ask, [{"type": "compaction", "auto": False}])
    answer("two", "claude-sonnet-4-5", "anthropic", summary=True)
    answer("three", "gpt-5", "openai")
    events = reader.settle()
    assert not any(isinstance(event, ModelChanged) for event in events)
    summary = Folded(events).calls[1]
    assert (summary.purpose, summary.model, summary.provider) == (
        "summary",
        "claude-sonnet-4-5",
        "anthropic",
    )
