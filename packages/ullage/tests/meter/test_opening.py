"""The first call: everything from the request alone, and how far that may be off."""

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
from ullage.meter.meter import Meter
from ullage.meter.opening import (
    ESTIMATED,
    EXACT,
    OpeningContent,
    is_thinking,
    opening_interval,
)
from ullage.meter.reading import Reading, Used
from ullage.tokens.text import counter_for

BPE = counter_for("bpe")


def message(role: Role, *parts: Part | str, name: str = "m") -> Message:
    made = tuple(
        TextPart(id="t", text=part) if isinstance(part, str) else part for part in parts
    )
    return Message(id=name, role=role, parts=made)


def request(
    *messages: Message, model: str = "gpt-4o", wire: str = "chat", **more: object
) -> Request:
    return Request(wire=wire, model=model, messages=messages, **more)  # type: ignore[arg-type]


def first_reading(held: Request, estimator: str = "bpe") -> Reading:
    return Meter(estimator=estimator).before(held)


def estimate(held: Request, estimator: str = "bpe") -> Used:
    return first_reading(held, estimator).used


def test_openai_text_is_its_tokens_and_three_and_four_a_message() -> None:
    held = request(
        message("system", "You are a helpful assistant.", name="s"),
        message("user", "Hello there!"),
        provider="openai",
    )
    text = BPE.count("You are a helpful assistant.", "o200k") + BPE.count(
        "Hello there!", "o200k"
    )
    assert estimate(held).tokens == text + 3 + 4 + 4
    assert (estimate(held).low, estimate(held).high) == (text + 9, text + 13)


def test_instructions_are_a_message_on_responses_and_none_for_claude() -> None:
    system = (SystemBlock(text="Be brief."),)
    question = message("user", "Hello there!")
    responses = request(question, wire="responses", provider="openai", system=system)
    bare = request(question, wire="responses", provider="openai")
    count = BPE.count("Be brief.", "o200k")
    assert estimate(responses).tokens - estimate(bare).tokens == count + 4
    claude = request(question, wire="messages", model="claude-sonnet-4-5", system=system)
    without = msgspec.structs.replace(claude, system=())
    added = estimate(claude).tokens - estimate(without).tokens
    assert added == pytest.approx(BPE.count("Be brief.", "claude"), abs=5)


def test_thinking_costs_claude_its_prompt_once() -> None:
    held = request(
        message("user", "Hello there!"), wire="messages", model="claude-sonnet-4-5"
    )
    thinking = msgspec.structs.replace(
        held, params={"thinking": {"type": "enabled", "budget_tokens": 1024}}
    )
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
        system=(
            SystemBlock(text="Be brief."),
            SystemBlock(text="Skills", kind="skills", name="skills"),
        ),
        tools=(Tool(name="look", description="Look"), Tool(name="later", deferred=True)),
        provider="openai",
    )
    found = first_reading(held)
    assert found.used.tokens == sum(row.tokens for row in found.rows if row.summed)
    tools = next(row for row in found.rows if row.name == "Tools (1)")
    assert sum(child.tokens for child in tools.children) == pytest.approx(
        tools.tokens, abs=1
    )
    assert (
        next(row for row in found.rows if row.name.startswith("Deferred")).summed is False
    )
    assert found.used.tokens > 425


def test_a_message_costs_the_same_wherever_it_stands() -> None:
    first, second = (
        message("user", "One thing"),
        message("user", "Another thing entirely", name="n"),
    )
    for model in ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash", "unheard-of"):
        nothing = estimate(request(model=model)).tokens
        alone = sum(
            estimate(request(each, model=model)).tokens - nothing
            for each in (first, second)
        )
        together = estimate(request(second, first, model=model)).tokens - nothing
        assert together == pytest.approx(alone, abs=2)


def test_reasoning_counts_inside_the_running_turn_only() -> None:
    thinking = ReasoningPart(id="r", text="Let me think about this for a while.")
    call = ToolCallPart(id="c", call_id="1", name="look", arguments="{}")
    result = ToolResultPart(
        id="o", call_id="1", content=(TextPart(id="x", text="It is there."),)
    )
    asked, used = message("user", "Where is it?"), message("tool", result, name="o")

    def reasoning_in(*after: Message) -> int:
        held = [
            request(
                asked,
                message("assistant", *parts, call, name="a"),
                used,
                *after,
                model="claude-sonnet-4-5",
                wire="messages",
            )
            for parts in ((thinking,), ())
        ]
        return estimate(held[0]).tokens - estimate(held[1]).tokens

    assert reasoning_in() > 5
    assert (
        reasoning_in(
            message("assistant", "There.", name="b"),
            message("user", "And now?", name="u"),
        )
        == 0
    )


def test_an_estimator_of_the_applications_own_is_taken_at_its_word() -> None:
    held = request(
        message("user", "Hello"),
        message("assistant", "Hi", name="n"),
        system=(SystemBlock(text="Brief."),),
    )
    assert Meter(estimator=lambda text: 20).before(held).used.tokens == 60


parts = st.one_of(
    st.builds(TextPart, id=st.just("t"), text=st.text(max_size=40)),
    st.builds(ReasoningPart, id=st.just("r"), text=st.text(max_size=20)),
    st.builds(
        ToolCallPart,
        id=st.just("c"),
        call_id=st.just("1"),
        name=st.text(max_size=8),
        arguments=st.text(max_size=20),
    ),
    st.builds(
        ToolResultPart,
        id=st.just("o"),
        call_id=st.just("1"),
        content=st.lists(
            st.builds(TextPart, id=st.just("x"), text=st.text(max_size=9)), max_size=2
        ).map(tuple),
    ),
    st.builds(
        ImagePart,
        id=st.just("i"),
        width=st.integers(-1, 9999) | st.none(),
        height=st.integers(-1, 9999) | st.none(),
    ),
    st.builds(
        FilePart,
        id=st.just("f"),
        mime=st.sampled_from(["", "audio/wav", "video/mp4", "application/pdf", "?"]),
    ),
    st.builds(ProviderItem, id=st.just("p"), text=st.text(max_size=9)),
)
messages = st.builds(
    Message, id=st.just("m"), role=st.sampled_from(["system", "user", "assistant", "tool"]),
    parts=st.lists(parts, max_size=3).map(tuple),
)  # fmt: skip
params = st.dictionaries(
    st.sampled_from(
        [
            "thinking",
            "tool_choice",
            "toolConfig",
            "response_format",
            "text",
            "format",
            "reasoning",
        ]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(["type", "name", "schema", "json_schema", "format"]),
                inner,
            )
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
        [
            "gpt-4o",
            "gpt-5",
            "claude-sonnet-4-5",
            "gemini-2.5-flash",
            "gemini-3-pro",
            "grok-4",
            "x",
            "",
        ]
    ),
    wire=st.sampled_from(
        ["chat", "responses", "messages", "generateContent", "converse", "other"]
    ),
    provider=st.sampled_from(["openai", "vertex", "google", "groq", ""]),
    held=st.lists(messages, max_size=4).map(tuple),
    declared=st.lists(tools, max_size=3).map(tuple),
    settings=params,
    estimator=st.sampled_from(["bpe", "pretoken"]),
)
def test_any_request_has_an_estimate_inside_its_interval(
    model: str, wire: str, provider: str, held: tuple[Message, ...], declared: tuple[Tool, ...],
    settings: dict[str, object], estimator: str,
) -> None:  # fmt: skip
    asked = Request(
        wire=wire,
        provider=provider,
        model=model,
        messages=held,
        tools=declared,
        params=settings,
    )
    found = estimate(asked, estimator)
    assert 0 <= found.low <= found.tokens <= found.high


# -- the interval --


def width(content: OpeningContent, *, is_exact: bool = True) -> int:
    low, high = opening_interval(content, is_exact=is_exact)
    return high - low


@pytest.mark.parametrize("stratum", sorted(EXACT))
def test_each_kind_of_content_widens_the_interval(stratum: str) -> None:
    plain = OpeningContent(stratum, 1000)
    for wider in (
        plain._replace(tokens=6000, tools=5000),
        plain._replace(tokens=6000, answer=5000),
        plain._replace(tokens=6000, media=5000),
        plain._replace(tokens=6000, hosted=5000),
        plain._replace(history=True),
    ):
        assert width(wider) > width(plain)


@pytest.mark.parametrize("stratum", sorted(ESTIMATED))
def test_without_a_tokenizer_no_interval_is_narrower(stratum: str) -> None:
    for content in (
        OpeningContent(stratum, 400),
        OpeningContent(stratum, 40, tools=20),
        OpeningContent(stratum, 900, tools=500),
        OpeningContent(stratum, 900, answer=500),
    ):
        assert width(content, is_exact=False) >= width(content)


@pytest.mark.parametrize("stratum", ["open", "gemini"])
def test_a_long_prompt_in_the_models_own_vocabulary_is_known_closely(
    stratum: str,
) -> None:
    content = OpeningContent(stratum, 10_000)
    assert width(content) < width(content, is_exact=False) / 4


def test_a_model_nobody_measured_has_the_widest() -> None:
    for tools in (0.0, 300.0):
        widths = [
            width(OpeningContent(stratum, 1000, tools=tools), is_exact=False)
            for stratum in ESTIMATED
        ]
        assert width(OpeningContent("unknown", 1000, tools=tools), is_exact=False) > max(
            widths
        )


WEATHER = Tool(
    name="get_weather",
    description="Get the current weather in a given location",
    schema=msgspec.Raw(
        b'{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}'
    ),
)


@pytest.mark.parametrize(
    ("model", "free", "forced"),
    [
        ("claude-sonnet-5", 354, 474),
        ("claude-opus-4-7", 675, 804),
        ("claude-opus-4-8", 290, 410),
        ("claude-opus-5", 286, 406),
        ("claude-sonnet-4-6", 497, 589),
        ("claude-3-opus-20240229", 530, 281),
    ],
)
def test_claudes_tool_prompt_is_the_published_one_beside_the_declaration(
    model: str, free: int, forced: int
) -> None:
    """The table of https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview#pricing, and 1 or 2 more."""

    def asked(**params: object) -> Used:
        tools = (WEATHER,) if params else ()
        return estimate(
            request(
                message("user", "What's the weather in Oslo?"),
                model=model,
                wire="messages",
                provider="anthropic",
                tools=tools,
                params=params,
            )
        )

    alone = asked()
    by_kind = {
        kind: asked(tool_choice={"type": kind}) for kind in ("auto", "none", "any")
    }
    by_kind["tool"] = asked(tool_choice={"type": "tool", "name": WEATHER.name})
    declared = by_kind["auto"].tokens - alone.tokens - free
    assert 30 < declared < 120
    assert by_kind["none"].tokens == by_kind["auto"].tokens
    for kind in ("any", "tool"):
        used = by_kind[kind]
        assert used.tokens - alone.tokens - forced == pytest.approx(declared, abs=2)
        assert used.low <= used.tokens <= used.high
    think = asked(tool_choice={"type": "auto"}, thinking={"type": "adaptive"})
    assert think.tokens == by_kind["auto"].tokens


@pytest.mark.parametrize(
    "model", ["claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2"]
)
def test_a_claude_without_a_published_tool_prompt_may_have_that_of_any_other(
    model: str,
) -> None:
    held = request(message("user", "Hi"), model=model, wire="messages", tools=(WEATHER,))
    used = estimate(held)
    published = used.tokens - 354
    assert used.low <= published + 286 < published + 675 <= used.high


def test_a_search_that_is_declared_may_be_used_in_the_first_call() -> None:
    content = OpeningContent("openai", 5_000, tools=4_000, hosted=300)
    low, high = opening_interval(content, is_exact=True)
    assert opening_interval(content._replace(unread=9_200), is_exact=True) == (
        low,
        high + 9_200,
    )


def test_a_hosted_tool_may_read_nothing_or_be_called_again() -> None:
    low, high = opening_interval(
        OpeningContent("claude", 10_000, hosted=9_500), is_exact=True
    )
    assert low < 2_600
    assert high > 23_000
