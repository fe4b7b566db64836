from ullage.codec.wires import target_of
from ullage.messages import Request


def test_thinking_forbids_going_on_with_an_answer() -> None:
    plain = Request(wire="messages", provider="anthropic", model="claude-sonnet-4-5")
    assert not target_of(plain).user_last
    params: dict[str, object] = {"thinking": {"type": "enabled"}}
    thinking = Request(wire="messages", model="claude-sonnet-4-5", params=params)
    assert target_of(thinking).user_last
