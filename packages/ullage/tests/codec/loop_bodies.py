"""Random items of a loop's bodies, on every wire."""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

texts = st.sampled_from(["", "hello", "hello", "go on", "naïve \ud800 text", "x" * 300])


def calls(name: str) -> Json:
    return {
        "id": name,
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "a"}'},
    }


chat_messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(lambda text: {"role": "system", "content": text}, texts),
    st.builds(
        lambda text: {"role": "assistant", "content": text, "reasoning_content": text},
        texts,
    ),
    st.builds(
        lambda name: {"role": "assistant", "tool_calls": [calls(name)]},
        st.sampled_from("abc"),
    ),
    st.builds(lambda text: {"role": "tool", "tool_call_id": "a", "content": text}, texts),
    st.just("no message"),
)
anthropic_messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(
        lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]},
        texts,
    ),
    st.builds(
        lambda text: {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}],
        },
        texts,
    ),
    st.just(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "a"}},
            ],
        }
    ),
)
responses_items = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts),
    st.builds(
        lambda text: {"type": "message", "role": "developer", "content": text}, texts
    ),
    st.builds(
        lambda text: {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        },
        texts,
    ),
    st.builds(
        lambda name: {"type": "reasoning", "id": name, "summary": []},
        st.sampled_from("abc"),
    ),
    st.builds(
        lambda name: {
            "type": "function_call",
            "call_id": name,
            "name": "read",
            "arguments": "{}",
        },
        st.sampled_from("abc"),
    ),
    st.builds(
        lambda name, text: {
            "type": "function_call_output",
            "call_id": name,
            "output": text,
        },
        st.sampled_from("abc"),
        texts,
    ),
    st.just("no item"),
)
gemini_contents = st.one_of(
    st.builds(lambda text: {"role": "user", "parts": [{"text": text}]}, texts),
    st.builds(
        lambda text: {
            "role": "model",
            "parts": [{"text": text, "thoughtSignature": "c2ln"}],
        },
        texts,
    ),
    st.just(
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "read", "args": {"path": "a"}}}],
        }
    ),
    st.builds(
        lambda text: {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"output": text}}},
                {"text": text},
            ],
        },
        texts,
    ),
    st.just("no content"),
)
WIRES = {
    "chat": ("messages", chat_messages, "temperature"),
    "messages": ("messages", anthropic_messages, "system"),
    "responses": ("input", responses_items, "instructions"),
    "generateContent": ("contents", gemini_contents, "systemInstruction"),
}
