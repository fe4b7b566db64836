"""Usage objects as the providers document them, written for these tests, and what they must be read as."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case, filled
from ullage.codec.dialects import DIALECTS, normalise
from ullage.codec.rules import Dialect, ReasoningIs
from ullage.codec.usage import read_usage, sampling_passes, stream_usage
from ullage.codec.wires.anthropic.reports import ANTHROPIC
from ullage.codec.wires.chat.reports import OPENAI_CHAT
from ullage.usage import Usage

Json = dict[str, Any]


class Golden(NamedTuple):
    """A payload and its meaning: input with cache, output with reasoning, cache read and write, reasoning, context."""

    dialect: str
    payload: Json
    input: int | None
    output: int | None
    read: int | None = None
    write: int | None = None
    reasoning: int | None = None
    context: int | None = None


def chat(
    prompt: int, completion: int, total: int, cached: int = 0, reasoning: int = 0
) -> Json:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
    }


def responses(given: int, output: int, cached: int = 0, reasoning: int = 0) -> Json:
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": given + output,
    }


ITERATIONS = {
    "input_tokens": 2_150,
    "output_tokens": 95,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "iterations": [
        {"type": "compaction", "input_tokens": 90_000, "output_tokens": 1_200},
        {"type": "message", "input_tokens": 1_000, "output_tokens": 80},
        {
            "type": "advisor_message",
            "model": "claude-adviser",
            "input_tokens": 2_400,
            "output_tokens": 33,
        },
        {
            "type": "message",
            "input_tokens": 1_150,
            "output_tokens": 15,
            "cache_read_input_tokens": 0,
        },
    ],
}

GOLDEN = [
    Golden(
        "anthropic",
        {"input_tokens": 25, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1_000, "output_tokens": 40},
        input=1_125, output=40, read=1_000, write=100,
    ),
    Golden(
        "anthropic",
        {"input_tokens": 60, "cache_read_input_tokens": 0, "output_tokens": 400,
         "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 20},
         "output_tokens_details": {"thinking_tokens": 350}},
        input=110, output=400, read=0, write=50, reasoning=350,
    ),
    Golden("anthropic", ITERATIONS, input=2_150, output=95, read=0, write=0, context=1_150),
    Golden(
        "bedrock",
        {"inputTokens": 200, "outputTokens": 30, "totalTokens": 1_430, "cacheReadInputTokens": 1_200,
         "cacheWriteInputTokens": 0, "cacheReadInputTokenCount": 1_200, "serverToolUsage": {}},
        input=1_400, output=30, read=1_200, write=0,
    ),
    Golden(
        "bedrock",
        {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "cacheReadInputTokens": 5_848},
        input=5_858, output=5, read=5_848,
    ),
    Golden("openai-chat", chat(1_500, 300, 1_800, cached=1_024, reasoning=192),
           input=1_500, output=300, read=1_024, reasoning=192),
    Golden("openai-chat", {"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59}, input=50, output=9),
    Golden("openai-responses", responses(2_000, 700, cached=1_920, reasoning=640),
           input=2_000, output=700, read=1_920, reasoning=640),
    Golden(
        "gemini",
        {"promptTokenCount": 900, "cachedContentTokenCount": 800, "candidatesTokenCount": 50,
         "thoughtsTokenCount": 70, "toolUsePromptTokenCount": 200, "totalTokenCount": 1_220},
        input=1_100, output=120, read=800, reasoning=70, context=900,
    ),
    Golden("gemini", {"promptTokenCount": 40, "totalTokenCount": 40}, input=40, output=0),
    Golden("gemini", {"promptTokenCount": 40, "thoughtsTokenCount": 25, "totalTokenCount": 65},
           input=40, output=25, reasoning=25),
    Golden("gemini", {"prompt_token_count": 40, "candidates_token_count": 5, "total_token_count": 45},
           input=40, output=5, reasoning=0),
    Golden(
        "vertex",
        {"promptTokenCount": 19, "candidatesTokenCount": 8, "thoughtsTokenCount": 57, "totalTokenCount": 90,
         "cachedContentTokenCount": 12, "toolUsePromptTokenCount": 6, "trafficType": "ON_DEMAND"},
        input=25, output=65, read=12, reasoning=57, context=19,
    ),
    Golden("gemini-chat", {"prompt_tokens": 700, "completion_tokens": 100, "total_tokens": 1_700},
           input=700, output=1_000, reasoning=900),
    Golden("gateway-gemini", {**chat(60, 100, 160, cached=40, reasoning=37), "cache_creation_input_tokens": 0},
           input=60, output=137, read=40, write=0, reasoning=37),
    Golden("gateway", {**chat(113, 327, 440, cached=90, reasoning=256), "cache_creation_input_tokens": 0},
           input=113, output=327, read=90, write=0, reasoning=256),
    Golden("gateway", {**chat(60, 10, 70, reasoning=96), "cache_creation_input_tokens": 0},
           input=60, output=106, read=0, write=0, reasoning=96),
    Golden(
        "openrouter",
        {"prompt_tokens": 194, "completion_tokens": 20, "total_tokens": 214, "cost": 0.95,
         "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 100},
         "completion_tokens_details": {"reasoning_tokens": 12}},
        input=194, output=20, read=60, write=100, reasoning=12,
    ),
    Golden(
        "deepseek",
        {"prompt_tokens": 320, "prompt_cache_hit_tokens": 256, "prompt_cache_miss_tokens": 64,
         "completion_tokens": 500, "total_tokens": 820, "completion_tokens_details": {"reasoning_tokens": 450}},
        input=320, output=500, read=256, reasoning=450,
    ),
    Golden("xai", chat(468, 82, 870, cached=305, reasoning=320), input=468, output=402, read=305, reasoning=320),
    Golden("xai", chat(30, 50, 80, reasoning=20), input=30, output=70, read=0, reasoning=20),
    Golden("xai-responses", responses(500, 1_200, cached=192, reasoning=1_100),
           input=500, output=1_200, read=192, reasoning=1_100),
    Golden(
        "xai-grpc",
        {"prompt_tokens": 358, "completion_tokens": 10, "reasoning_tokens": 47, "total_tokens": 415,
         "cached_prompt_text_tokens": 192},
        input=358, output=57, read=192, reasoning=47,
    ),
    Golden(
        "mistral",
        {"prompt_tokens": 273, "completion_tokens": 104, "total_tokens": 377, "num_cached_tokens": 32},
        input=273, output=104, read=32,
    ),
    Golden(
        "groq",
        {**chat(336, 96, 432, cached=256, reasoning=59), "queue_time": 0.005, "total_time": 1.1},
        input=336, output=96, read=256, reasoning=59,
    ),
    Golden(
        "cohere",
        {"billed_units": {"input_tokens": 51, "output_tokens": 60}, "cached_tokens": 144,
         "tokens": {"input_tokens": 267, "output_tokens": 91, "reasoning_tokens": 30, "image_tokens": 40}},
        input=307, output=91, read=144, reasoning=30,
    ),
    Golden("ollama", {"prompt_eval_count": 310, "prompt_eval_cached_count": 290, "eval_count": 145},
           input=310, output=145, read=290),
    Golden(
        "litellm",
        {**chat(4_812, 146, 4_958, cached=3_000), "cache_creation_input_tokens": 500,
         "cache_read_input_tokens": 3_000, "completion_tokens_details": {"reasoning_tokens": 50}},
        input=4_812, output=146, read=3_000, write=500, reasoning=50,
    ),
    Golden(
        "pi",
        {"input": 2, "output": 80, "cacheRead": 9_000, "cacheWrite": 300, "totalTokens": 9_382, "reasoning": 60,
         "cost": {"total": 0.1}},
        input=9_302, output=80, read=9_000, write=300, reasoning=60,
    ),
    Golden(
        "codex",
        {"input_tokens": 12_000, "cached_input_tokens": 11_000, "output_tokens": 640, "reasoning_output_tokens": 512,
         "total_tokens": 12_640},
        input=12_000, output=640, read=11_000, reasoning=512,
    ),
    Golden(
        "gemini-cli",
        {"input": 8_000, "output": 90, "cached": 7_000, "thoughts": 210, "tool": 40, "total": 8_340},
        input=8_040, output=300, read=7_000, reasoning=210, context=8_000,
    ),
    Golden(
        "qwen-code",
        {"promptTokenCount": 9_060, "candidatesTokenCount": 45, "thoughtsTokenCount": 20, "totalTokenCount": 9_105,
         "cachedContentTokenCount": 8_960},
        input=9_060, output=45, read=8_960, reasoning=20,
    ),
    Golden(
        "qwen-code",
        {"input_token_count": 700, "output_token_count": 45, "thoughts_token_count": 20, "total_token_count": 765,
         "cached_content_token_count": 0},
        input=700, output=65, read=0, reasoning=20,
    ),
    Golden(
        "copilot-cli",
        {"inputTokens": 16_932, "outputTokens": 69, "cacheReadTokens": 16_857, "cacheWriteTokens": 75,
         "reasoningTokens": 20},
        input=16_932, output=69, read=16_857, write=75, reasoning=20,
    ),
    Golden(
        "cline",
        {"inputTokens": 4_824, "outputTokens": 19, "cacheReadTokens": 4_608, "cacheWriteTokens": 0},
        input=4_824, output=19, read=4_608, write=0,
    ),
    Golden(
        "cline",
        {"tokens": {"prompt": 10, "completion": 40, "cached": 8_972}},
        input=8_982, output=40,
    ),
    Golden(
        "continue-cli",
        {"prompt_tokens": 148, "completion_tokens": 11, "total_tokens": 159, "prompt_tokens_details":
         {"cache_write_tokens": 0, "cache_read_tokens": 2_791, "cached_tokens": 2_791}},
        input=2_939, output=11, read=2_791, write=0,
    ),
    Golden(
        "opencode-v1",
        {"total": 4_592, "input": 12, "output": 80, "reasoning": 40, "cache": {"read": 4_000, "write": 500}},
        input=4_512, output=80, read=4_000, write=500, reasoning=40,
    ),
    Golden(
        "opencode-v1",
        {"total": 4_632, "input": 12, "output": 80, "reasoning": 40, "cache": {"read": 4_000, "write": 500}},
        input=4_512, output=120, read=4_000, write=500, reasoning=40,
    ),
    Golden(
        "langchain",
        {"input_tokens": 350, "output_tokens": 240, "total_tokens": 590,
         "input_token_details": {"audio": 10, "cache_creation": 200, "cache_read": 100},
         "output_token_details": {"audio": 10, "reasoning": 200}},
        input=350, output=240, read=100, write=200, reasoning=200,
    ),
    Golden(  # langchain-anthropic lists the writes by lifetime and leaves the sum at zero
        "langchain",
        {"input_tokens": 4_000, "output_tokens": 20, "total_tokens": 4_020,
         "input_token_details": {"cache_read": 3_000, "cache_creation": 0, "ephemeral_5m_input_tokens": 400,
                                 "ephemeral_1h_input_tokens": 100}},
        input=4_000, output=20, read=3_000, write=500,
    ),
    Golden(  # its TypedDict alone, as on Anthropic's wire without a cache
        "langchain",
        {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15,
         "input_token_details": {"flex_cache_read": 5}, "output_token_details": {"flex_reasoning": 2}},
        input=12, output=3, read=5, reasoning=2,
    ),
    Golden(
        "pydantic-ai",
        {"input_tokens": 80, "cache_write_tokens": 20, "cache_read_tokens": 50, "output_tokens": 17,
         "output_reasoning_tokens": 7, "details": {}},
        input=80, output=17, read=50, write=20, reasoning=7,
    ),
    Golden(
        "openai-agents",
        {"requests": 2, "input_tokens": 300, "input_tokens_details": {"cached_tokens": 90, "cache_write_tokens": 10},
         "output_tokens": 70, "output_tokens_details": {"reasoning_tokens": 40}, "total_tokens": 370,
         "request_usage_entries": [
             {"input_tokens": 100, "output_tokens": 30, "total_tokens": 130},
             {"input_tokens": 200, "output_tokens": 40, "total_tokens": 240},
         ]},
        input=300, output=70, read=90, write=10, reasoning=40, context=200,
    ),
    Golden(  # LiteLlm: the candidates hold the reasoning
        "google-adk",
        {"prompt_token_count": 900, "candidates_token_count": 45, "total_token_count": 945,
         "cached_content_token_count": 800, "thoughts_token_count": 20, "cache_creation_input_tokens": 60},
        input=900, output=45, read=800, write=60, reasoning=20,
    ),
    Golden(  # AnthropicLlm: they leave it out
        "google-adk",
        {"prompt_token_count": 900, "candidates_token_count": 25, "total_token_count": 945,
         "cached_content_token_count": 800, "thoughts_token_count": 20, "tool_use_prompt_token_count": None},
        input=900, output=45, read=800, reasoning=20,
    ),
    Golden(
        "google-adk",
        {"prompt_token_count": 100, "candidates_token_count": 5, "tool_use_prompt_token_count": 40,
         "total_token_count": 145},
        input=140, output=5, context=100,
    ),
    Golden(
        "ai-sdk",
        {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "reasoningTokens": 8,
         "inputTokenDetails": {"noCacheTokens": 10, "cacheReadTokens": 60, "cacheWriteTokens": 30},
         "outputTokenDetails": {"textTokens": 12, "reasoningTokens": 8}, "cachedInputTokens": 60},
        input=100, output=20, read=60, write=30, reasoning=8,
    ),
    Golden(
        "ai-sdk",
        {"inputTokens": 100, "outputTokens": 12, "totalTokens": 120, "reasoningTokens": 8, "cachedInputTokens": 60},
        input=100, output=20, read=60, reasoning=8,
    ),
    Golden(
        "ai-sdk-5-claude",
        {"inputTokens": 40, "outputTokens": 20, "totalTokens": 60, "cachedInputTokens": 60},
        input=100, output=20, read=60,
    ),
    Golden(
        "dexto",
        {"inputTokens": 10, "outputTokens": 20, "totalTokens": 120, "reasoningTokens": 8, "cacheReadTokens": 60,
         "cacheWriteTokens": 30},
        input=100, output=20, read=60, write=30, reasoning=8,
    ),
]  # fmt: skip


def meaning(usage: Usage) -> tuple[int | None, ...]:
    return (
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        usage.context,
    )


def wanted(golden: Golden) -> tuple[int | None, ...]:
    context = golden.input if golden.context is None else golden.context
    read = golden.read
    if read is None and "prompt_tokens_details" in golden.payload:
        read = golden.payload["prompt_tokens_details"]["cached_tokens"]
    return golden.input, golden.output, read, golden.write, golden.reasoning, context


def test_each_documented_payload_reads_as_documented() -> None:
    for golden in filled(GOLDEN):
        with case(golden):
            usage = normalise(golden.dialect, golden.payload)
            assert meaning(usage) == wanted(golden)
            assert usage.verified
            assert not usage.flags
            assert usage.raw is not None
            assert msgspec.json.decode(usage.raw) == golden.payload


def test_every_dialect_has_a_payload_and_a_public_source() -> None:
    assert {golden.dialect for golden in GOLDEN} == set(DIALECTS)
    assert all(dialect.source.startswith("https://") for dialect in DIALECTS.values())


def mutants(dialect: Dialect) -> list[tuple[str, Dialect]]:
    """The dialect with one convention turned around."""
    turned: list[tuple[str, Dialect]] = []
    if dialect.cache_read:
        turned.append(
            (
                "cache",
                replace(
                    dialect, cache="inside" if dialect.cache == "outside" else "outside"
                ),
            )
        )
    if dialect.reasoning:
        other: ReasoningIs = (
            "outside" if dialect.thinking in ("inside", "detect") else "inside"
        )
        turned.append(("thinking", replace(dialect, thinking=other)))
    elif dialect.thinking == "remainder":
        turned.append(("thinking", replace(dialect, thinking="inside")))
    if dialect.more_input:
        turned.append(("more_input", replace(dialect, more_input=())))
    if dialect.passing_input:
        turned.append(("passing_input", replace(dialect, passing_input=())))
    return turned


def test_turning_a_convention_around_breaks_a_golden_payload() -> None:
    cases: list[tuple[str, Dialect]] = [
        (name, mutant)
        for dialect in DIALECTS.values()
        for name, mutant in mutants(dialect)
    ]
    for name, mutant in cases:
        with case(name, mutant):
            own = [golden for golden in GOLDEN if golden.dialect == mutant.name]
            assert any(
                meaning(read_usage(mutant, golden.payload)) != wanted(golden)
                for golden in own
            )


HUGE = 10**15
THINKING = {"output_tokens_details": {"thinking_tokens": 10}}
NOTHING = (None,) * 5
ODD: list[tuple[str, object, tuple[int | None, ...], str]] = [
    (
        "openai-chat",
        {"prompt_tokens": 5, "completion_tokens": None},
        (5, *NOTHING[1:]),
        "",
    ),
    ("anthropic", {}, NOTHING, ""),
    ("anthropic", None, NOTHING, ""),
    ("brand-new", {"input_tokens": 5, "output_tokens": 6}, NOTHING, "dialect:unknown"),
    (
        "gemini",
        {"prompt_tokens": 5, "completion_tokens": 6},
        NOTHING,
        "usage:no_known_field",
    ),
    ("openai-chat", chat(0, 0, 0), NOTHING, "input:zero output:zero"),
    ("openai-chat", chat(50, 9, 0), (50, 9, 0, None, 0), ""),
    ("openai-chat", chat(50, 9, 40), (None, None, 0, None, None), "total:below_parts"),
    (
        "openai-chat",
        chat(31, 9, 40, 161),
        (31, 9, None, None, 0),
        "cache_read:exceeds_input",
    ),
    (
        "anthropic",
        {"input_tokens": 5, "output_tokens": 9, **THINKING},
        (5, 9, None, None, None),
        "reasoning:exceeds_output",
    ),
    *(
        (
            "openai-chat",
            {"prompt_tokens": value, "completion_tokens": 7},
            (None, 7, *NOTHING[2:]),
            flag,
        )
        for value, flag in (
            (-3, "input:negative"),
            (float("nan"), "input:not_finite"),
            (float("inf"), "input:not_finite"),
            (True, "input:not_a_number"),
            ("12", "input:not_a_number"),
            ([5], "input:not_a_number"),
            (1.5, "input:not_whole"),
            (HUGE, "input:too_large"),
            (HUGE**3, "input:too_large"),
            (0, "input:zero"),
        )
    ),
]


def test_what_can_not_be_true_is_missing_and_flagged_and_kept() -> None:
    for dialect, payload, counts, flags in ODD:
        with case(dialect, payload):
            usage = normalise(dialect, payload)
            assert meaning(usage)[:5] == counts
            assert usage.flags == tuple(flags.split())
            is_unknown = flags in ("dialect:unknown", "usage:no_known_field")
            assert usage.verified is not is_unknown
            if isinstance(payload, dict) and payload:
                assert usage.raw is not None
                assert msgspec.json.decode(usage.raw).keys() == payload.keys()


@pytest.mark.parametrize(
    ("kind", "counted"), [("compaction", 0), ("advisor_message", 0), ("message", None)]
)
def test_a_call_whose_passes_are_all_billed_beside_it_counted_zero(
    kind: str, counted: int | None
) -> None:
    passes = [{"type": kind, "input_tokens": 5_872, "output_tokens": 37}]
    zero = {"input_tokens": 0, "output_tokens": 0}
    usage = normalise("anthropic", {**zero, "iterations": passes})
    assert (usage.input, usage.output) == (counted, counted)
    assert bool(usage.flags) == (counted is None)


def test_bytes_are_kept_byte_for_byte() -> None:
    data = b'{ "input_tokens" : 7, "output_tokens":  2, "service_tier":"standard" }'
    usage = normalise("anthropic", data)
    assert usage.input == 7
    assert usage.raw is not None
    assert bytes(usage.raw) == data


@pytest.mark.parametrize(
    "data", [b"", b"not json", b"[1]", b'"text"', b"\xff\xfe", b"[" * 5_000]
)
def test_bytes_that_are_no_object_are_kept_and_flagged(data: bytes) -> None:
    usage = normalise("anthropic", data)
    assert not usage.verified
    assert usage.flags == ("usage:unreadable",)
    assert usage.raw is not None
    msgspec.json.decode(usage.raw)


def test_json_with_nan_is_read_and_kept_as_json_any_reader_takes() -> None:
    usage = normalise("anthropic", b'{"input_tokens": NaN, "output_tokens": 4}')
    assert (usage.input, usage.output) == (None, 4)
    assert usage.raw is not None
    assert msgspec.json.decode(usage.raw) == {"input_tokens": "nan", "output_tokens": 4}


def test_an_sdk_object_is_read_through_its_own_dump() -> None:
    class Dumped:
        def model_dump(self) -> Json:
            return {
                "input_tokens": 5,
                "output_tokens": 6,
                "cache_read_input_tokens": None,
            }

    @dataclass
    class Plain:
        input_tokens: int
        output_tokens: int

    assert normalise("anthropic", Dumped()).input == 5
    assert normalise("anthropic", Plain(8, 9)).output == 9


def test_a_cut_stream_is_not_final_and_a_placeholder_is_no_count() -> None:
    start = {"input_tokens": 400, "cache_read_input_tokens": 100, "output_tokens": 1}
    cut = stream_usage(ANTHROPIC, [start], complete=False)
    assert (cut.input, cut.output, cut.final, cut.placeholder) == (500, None, False, True)
    none = stream_usage(OPENAI_CHAT, [], complete=False)
    assert (none.input, none.final) == (None, False)


def test_a_delta_that_leaves_input_out_or_zero_does_not_overwrite_it() -> None:
    start = {
        "input_tokens": 400,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 30,
        "output_tokens": 1,
    }
    for delta in (
        {"output_tokens": 250},
        {"input_tokens": None, "output_tokens": 250},
        {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 250},
    ):
        usage = stream_usage(ANTHROPIC, [start, delta], complete=True)
        assert usage.input == 530
        assert usage.output == 250
        assert usage.cache_read == 100
        assert usage.cache_write == 30
        assert usage.final
        assert not usage.placeholder


def test_a_delta_that_corrects_the_input_wins() -> None:
    usage = stream_usage(
        ANTHROPIC,
        [
            {"input_tokens": 400, "output_tokens": 1},
            {"input_tokens": 9_000, "output_tokens": 20},
        ],
        complete=True,
    )
    assert usage.input == 9_000


def test_passes_inside_a_call_are_told_apart() -> None:
    passes = sampling_passes(ANTHROPIC, ITERATIONS)
    expected = ["compaction", "message", "advisor_message", "message"]
    assert [one.kind for one in passes] == expected
    assert passes[0].usage.input == 90_000
    assert passes[2].model == "claude-adviser"
    assert sum(one.usage.input or 0 for one in passes if one.kind == "message") == 2_150
    assert sampling_passes(ANTHROPIC, {"input_tokens": 5}) == ()
    assert sampling_passes(ANTHROPIC, {"iterations": "odd"}) == ()


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
KEYS = {
    path
    for row in DIALECTS.values()
    for path in (*row.input, *row.output, *row.total, *row.cache_read)
}
field_names = st.sampled_from(
    sorted({"iterations", "cache_creation", *(path.partition(".")[0] for path in KEYS)})
)
objects = st.dictionaries(
    field_names,
    scalars
    | st.dictionaries(st.text(max_size=5), scalars)
    | st.lists(scalars, max_size=3),
    max_size=8,
)


@given(dialect=st.sampled_from(sorted(DIALECTS)), raw=objects)
def test_no_object_raises_and_no_count_is_ever_impossible(
    dialect: str, raw: Json
) -> None:
    usage = normalise(dialect, raw)
    for count in meaning(usage):
        assert count is None or count >= 0
    if usage.input is not None:
        assert usage.input > 0
        assert (usage.cache_read or 0) + (usage.cache_write or 0) <= usage.input
    if usage.output is not None:
        assert (usage.reasoning or 0) <= usage.output
    assert usage.raw is not None
    msgspec.json.decode(usage.raw)
