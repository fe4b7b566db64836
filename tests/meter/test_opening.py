"""The first call: everything from the request alone."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Request,
    Role,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.opening import Estimate, first_input, is_thinking
from ullage.tokens.families import PLAIN, family_for
from ullage.tokens.text import counter_for

BPE = counter_for("bpe")
CORE = counter_for("pretoken")


def message(role: Role, *parts: Part | str, name: str = "m") -> Message:
    made = tuple(TextPart(id="t", text=part) if isinstance(part, str) else part for part in parts)
    return Message(id=name, role=role, parts=made)


def request(*messages: Message, model: str = "gpt-4o", wire: str = "chat", **more: object) -> Request:
    return Request(wire=wire, model=model, messages=messages, **more)  # type: ignore[arg-type]


def estimate(held: Request, counter: object = BPE) -> Estimate:
    return first_input(held, family_for(held.wire, held.provider, held.model), counter)  # type: ignore[arg-type]


def test_openai_text_is_its_tokens_and_three_and_four_a_message() -> None:
    held = request(
        message("system", "You are a helpful assistant."), message("user", "Hello there!"), provider="openai"
    )
    text = BPE.count("You are a helpful assistant.", "o200k") + BPE.count("Hello there!", "o200k")
    assert estimate(held).tokens == text + 3 + 4 + 4
    assert (estimate(held).low, estimate(held).high) == (text + 11, text + 11)


def test_instructions_are_a_message_on_responses_and_none_for_claude() -> None:
    system = (SystemBlock(text="Be brief."),)
    question = message("user", "Hello there!")
    responses = request(question, wire="responses", provider="openai", system=system)
    bare = request(question, wire="responses", provider="openai")
    assert estimate(responses).tokens - estimate(bare).tokens == BPE.count("Be brief.", "o200k") + 4
    claude = request(question, wire="messages", model="claude-sonnet-4-5", system=system)
    shares = {share.name: share.tokens for share in estimate(claude).fixed}
    framing = shares["System prompt"] + shares["Overhead"] - 4.5
    assert framing == pytest.approx(BPE.count("Be brief.", "claude"))


def test_thinking_costs_claude_its_prompt_once() -> None:
    held = request(message("user", "Hello there!"), wire="messages", model="claude-sonnet-4-5")
    thinking = msgspec.structs.replace(held, params={"thinking": {"type": "enabled", "budget_tokens": 1024}})
    assert 27 <= estimate(thinking).tokens - estimate(held).tokens <= 29


@pytest.mark.parametrize(
    ("params", "on"),
    [
        ({}, False),
        ({"thinking": {"type": "enabled"}}, True),
        ({"thinking": {"type": "disabled"}}, False),
        ({"thinking": {"type": "adaptive"}}, False),
        ({"additionalModelRequestFields": {"thinking": {"type": "enabled"}}}, True),
        ({"reasoning": {"enabled": True}}, True),
        ({"reasoning": {"enabled": False}}, False),
        ({"reasoning": {"effort": "none"}}, False),
        ({"reasoning": {"effort": "high"}}, True),
        ({"reasoning": None}, False),
        ({"thinking": "yes"}, False),
    ],
)
def test_thinking_is_seen_in_every_spelling(params: dict[str, object], on: bool) -> None:
    assert is_thinking(params) is on


def test_the_rows_sum_to_the_estimate() -> None:
    held = request(
        message("user", "Look at this", ImagePart(id="i", width=640, height=480)),
        system=(SystemBlock(text="Be brief."), SystemBlock(text="Skills", kind="skills", name="skills")),
        tools=(Tool(name="look", description="Look"), Tool(name="later", deferred=True)),
        provider="openai",
    )
    found = estimate(held)
    assert found.tokens == round(found.exact)
    assert found.exact == pytest.approx(sum(share.tokens for share in (*found.fixed, *found.messages) if share.summed))
    tools = next(share for share in found.fixed if share.name == "Tools (1)")
    assert sum(child.tokens for child in tools.children) == pytest.approx(tools.tokens)
    assert next(share for share in found.fixed if share.name.startswith("Deferred")).summed is False
    assert found.messages[0].tokens > 425


def test_a_message_costs_the_same_wherever_it_stands() -> None:
    first, second = message("user", "One thing"), message("user", "Another thing entirely")
    for model in ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash", "unheard-of"):
        alone = [estimate(request(each, model=model)).messages[0].tokens for each in (first, second)]
        together = [share.tokens for share in estimate(request(second, first, model=model)).messages]
        assert together == pytest.approx(alone[::-1])


def test_reasoning_counts_inside_the_running_turn_only() -> None:
    thought = message("assistant", ReasoningPart(id="r", text="Let me think about this for a while."), "Done.")
    asked = message("user", "And now?")
    earlier = estimate(request(asked, thought, asked, model="claude-sonnet-4-5", wire="messages"))
    running = estimate(request(asked, thought, model="claude-sonnet-4-5", wire="messages"))
    assert running.messages[1].tokens > earlier.messages[1].tokens


def test_an_estimator_of_the_applications_own_is_taken_at_its_word() -> None:
    held = request(message("user", "Hello"), message("assistant", "Hi"), system=(SystemBlock(text="Be brief."),))
    assert first_input(held, PLAIN, counter_for(lambda text: 20)).tokens == 60


def test_without_a_tokenizer_the_interval_is_wider() -> None:
    held = request(message("user", "What is the capital of France, and why? " * 20), provider="openai")
    exact, core = estimate(held), estimate(held, CORE)
    assert exact.high - exact.low < core.high - core.low
    assert core.low <= exact.tokens <= core.high


def test_an_unknown_model_gets_the_widest_interval() -> None:
    held = message("user", "What is the capital of France, and why? " * 20)
    known, unknown = estimate(request(held, provider="openai")), estimate(request(held, model="x", provider="y"))
    assert unknown.high - unknown.low > 4 * (known.high - known.low + 1)
    assert unknown.low <= known.tokens <= unknown.high


def test_a_proxy_that_bills_base64_charges_the_bytes() -> None:
    held = request(message("user", ImagePart(id="i", width=10, height=10, size_bytes=90_000)))
    assert first_input(held, family_for("chat", "", "gpt-4o"), BPE, raw_base64=True).tokens > 80_000
    assert estimate(held).tokens < 1_000


parts = st.one_of(
    st.builds(TextPart, id=st.just("t"), text=st.text(max_size=40)),
    st.builds(ReasoningPart, id=st.just("r"), text=st.text(max_size=20)),
    st.builds(
        ToolCallPart, id=st.just("c"), call_id=st.just("1"), name=st.text(max_size=8), arguments=st.text(max_size=20)
    ),
    st.builds(
        ToolResultPart,
        id=st.just("o"),
        call_id=st.just("1"),
        content=st.lists(st.builds(TextPart, id=st.just("x"), text=st.text(max_size=9)), max_size=2).map(tuple),
    ),
    st.builds(
        ImagePart, id=st.just("i"), width=st.integers(-1, 9999) | st.none(), height=st.integers(-1, 9999) | st.none()
    ),
    st.builds(FilePart, id=st.just("f"), mime=st.sampled_from(["", "audio/wav", "video/mp4", "application/pdf", "?"])),
    st.builds(ProviderItem, id=st.just("p"), text=st.text(max_size=9)),
)
messages = st.builds(
    Message, id=st.just("m"), role=st.sampled_from(["system", "user", "assistant", "tool"]),
    parts=st.lists(parts, max_size=3).map(tuple),
)  # fmt: skip
params = st.dictionaries(
    st.sampled_from(["thinking", "tool_choice", "toolConfig", "response_format", "text", "format", "reasoning"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.dictionaries(st.sampled_from(["type", "name", "schema", "json_schema", "format"]), inner)
            | st.lists(inner, max_size=2)
        ),
        max_leaves=6,
    ),
    max_size=3,
)
tools = st.builds(
    Tool, name=st.text(max_size=9), description=st.text(max_size=9), deferred=st.booleans(),
    kind=st.sampled_from(["function", "", "web_search", "somethingElse"]),
    schema=st.sampled_from([b"{}", b"[]", b"oops", b'{"properties":{"a":{"$ref":"#"}}}', b'"{}"']).map(msgspec.Raw),
)  # fmt: skip


@given(
    model=st.sampled_from(
        ["gpt-4o", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-flash", "gemini-3-pro", "grok-4", "x", ""]
    ),
    wire=st.sampled_from(["chat", "responses", "messages", "generateContent", "converse", "other"]),
    provider=st.sampled_from(["openai", "vertex", "google", "groq", ""]),
    held=st.lists(messages, max_size=4).map(tuple),
    declared=st.lists(tools, max_size=3).map(tuple),
    settings=params,
    counter=st.sampled_from([BPE, CORE]),
)
def test_any_request_has_an_estimate_inside_its_interval(
    model: str, wire: str, provider: str, held: tuple[Message, ...], declared: tuple[Tool, ...],
    settings: dict[str, object], counter: object,
) -> None:  # fmt: skip
    asked = Request(wire=wire, provider=provider, model=model, messages=held, tools=declared, params=settings)
    found = estimate(asked, counter)
    assert 0 <= found.low <= found.tokens <= found.high
    assert all(share.tokens >= 0 for share in found.messages)
