"""Rows of recorded conversations, made up: a tool loop of five calls with a model whose wrapping is known."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
CALLED: Row = {
    "r": "assistant",
    "k": "tool_call",
    "t": '{"city":"Oslo"}',
    "name": "weather",
}
CALLED |= {"id": "c", "m": 1}


def pair(
    number: int,
    *,
    truth: int,
    spent: int = 1000,
    conversation: str = "one",
    **change: Any,
) -> Row:
    """One pair: the model called a tool, and its result goes back."""
    return {
        "id": f"{conversation}-{number}",
        "kind": "cassette",
        "source": conversation,
        "provider": "openai",
        "api": "chat",
        "model": "gpt-4o",
        "stream_a": False,
        "usage_a": {"input": spent, "output": 20, "reasoning": 0},
        "usage_b": {"input": truth, "output": 9},
        "reasoning_sent_back": "none",
        "user_turn": False,
        "tool_turn": True,
        "echo_match": True,
        "same_system": True,
        "same_tools": True,
        "same_params": True,
        "a_atoms": [
            {"r": "user", "k": "text", "t": "What is the weather in Oslo?", "m": 0}
        ],
        "a_response": [CALLED],
        "b_echo": [],
        "new": [{"r": "tool", "k": "tool_result", "t": "sunny", "id": "c", "m": 2}],
        **change,
    }


def call(number: int, *, truth: int, **change: Any) -> Row:
    """One whole request."""
    return {
        "src": "calls",
        "idx": number,
        "provider": "openai",
        "api": "chat",
        "model": "gpt-4o",
        "system": "",
        "tools": [],
        "params": {},
        "atoms": [
            {"r": "user", "k": "text", "t": "What is the capital of France?", "m": 0}
        ],
        "usage": {"input": truth, "output": 5},
        "is_b": False,
        **change,
    }
