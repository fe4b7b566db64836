"""Which rules hold for whom."""

from ullage.codec.rules import LENIENT_IDS
from ullage.codec.wires import target_of
from ullage.codec.wires.chat.rules import MISTRAL_IDS, OPENAI_CHAT_IDS
from ullage.messages import Request


def test_ids_follow_the_model_behind_a_host() -> None:
    def ids(provider: str, model: str) -> object:
        return target_of(Request(wire="chat", provider=provider, model=model)).call_ids

    assert ids("openrouter", "mistralai/mistral-large") is MISTRAL_IDS
    assert ids("openrouter", "openai/gpt-4.1") is OPENAI_CHAT_IDS
    assert ids("moonshot", "kimi-k2") is LENIENT_IDS


def test_thinking_forbids_going_on_with_an_answer() -> None:
    plain = Request(wire="messages", provider="anthropic", model="claude-sonnet-4-5")
    assert not target_of(plain).user_last
    thinking = Request(
        wire="messages",
        model="claude-sonnet-4-5",
        params={"thinking": {"type": "enabled"}},
    )
    assert target_of(thinking).user_last
