import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.recorded import (
    RecordedRow,
    pair_of,
    request_of,
    tools_of,
    truth_of,
)
from tests.bench.recorded import pair
from ullage.messages import (
    FilePart,
    ImagePart,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)


def atom(role: str, kind: str, text: str, message: int, **more: object) -> RecordedRow:
    return {"r": role, "k": kind, "t": text, "m": message, **more}


CALLED = atom("assistant", "tool_call", '{"city":"Oslo"}', 1, name="weather", id="c1")
PAIR: RecordedRow = {
    **pair(1, truth=170, spent=100),
    "api": "responses",
    "model": "gpt-5",
    "stream_a": True,
    "usage_a": {"input": 100, "output": 50, "reasoning": 20},
    "a_response": [atom("assistant", "reasoning", "", 0, enc=900), CALLED],
    "new": [
        atom("tool", "tool_result", "rain", 2, id="c1"),
        atom("tool", "image", "", 2, id="c1", in_tool=True, blob={"w": 10, "h": 20}),
        atom("tool", "tool_result", "and more rain", 2, id="c1", cont=True),
        atom("user", "text", "go on", 3),
    ],
}


def test_a_pair_reads_as_words() -> None:
    pair = pair_of(PAIR)
    reasoning, call = pair.answer
    assert isinstance(reasoning, ReasoningPart)
    assert reasoning.opaque_size == 900
    assert reasoning.provider is not None
    assert (reasoning.provider.wire, reasoning.provider.model) == ("responses", "gpt-5")
    assert call == ToolCallPart(
        id="answer1", call_id="c1", name="weather", arguments='{"city":"Oslo"}'
    )
    assert (pair.usage.input, pair.usage.output, pair.usage.reasoning) == (100, 50, 20)
    assert (pair.truth, pair.growth) == (170, 70)
    first = pair.first
    assert (first.wire, first.provider, first.model, first.stream) == (
        "responses",
        "openai",
        "gpt-5",
        True,
    )
    assert [message.role for message in first.messages] == ["user"]
    assert pair.second.messages == ()
    assert pair.has_media
    assert pair.is_clean


def test_what_continues_a_tool_result_or_lies_in_it_is_part_of_it() -> None:
    results, user = pair_of(PAIR).new
    (held,) = results.parts
    assert isinstance(held, ToolResultPart)
    assert [type(part) for part in held.content] == [TextPart, ImagePart, TextPart]
    assert held.text == "rainand more rain"
    assert (results.role, user.role) == ("tool", "user")


def test_an_answer_goes_back_as_it_came_or_as_the_application_edited_it() -> None:
    echo = [{"r": "assistant", "k": "text", "t": "shortened", "m": 1}]
    pair = pair_of({**PAIR, "echo_match": False, "b_echo": echo})
    assert pair.returned == (TextPart(id="echo0", text="shortened"),)
    assert not pair.is_clean
    assert pair_of(PAIR).returned == pair_of(PAIR).answer


def test_a_call_may_come_back_without_the_thought_before_it() -> None:
    pair = pair_of({**PAIR, "reasoning_sent_back": "yes", "b_echo": [CALLED]})
    assert [type(part) for part in pair.answer] == [ReasoningPart, ToolCallPart]
    assert [type(part) for part in pair.returned] == [ToolCallPart]


def test_reasoning_that_was_not_sent_back_is_no_part_of_what_goes_back() -> None:
    signed = atom("assistant", "tool_call", "{}", 1, name="f", id="c", enc=40)
    answer = [*PAIR["a_response"], signed]
    found = pair_of({**PAIR, "a_response": answer, "reasoning_sent_back": "no"})
    assert [type(part) for part in found.returned] == [ToolCallPart, ToolCallPart]
    assert all(
        isinstance(part, ToolCallPart) and not part.opaque_size for part in found.returned
    )


@pytest.mark.parametrize(
    "change",
    [
        {"same_system": False},
        {"same_tools": False},
        {"same_params": False},
        {"compacted": True},
        {"new_has_assistant": True},
        {"output_placeholder": True},
        {"complete": False},
        {"new": [{"k": "other", "t": "?"}]},
        {"a_atoms": [{"k": "server_tool", "t": "?"}]},
    ],
)
def test_what_makes_a_pair_unclean(change: RecordedRow) -> None:
    assert not pair_of({**PAIR, **change}).is_clean


SCHEMA = {"type": "object"}
NAMED = {"name": "f", "description": "d"}


@pytest.mark.parametrize(
    "declared",
    [
        [{"type": "function", "function": {**NAMED, "parameters": SCHEMA}}],
        [{"type": "function", **NAMED, "parameters": SCHEMA}],
        [{**NAMED, "input_schema": SCHEMA}],
        [{"toolSpec": {**NAMED, "inputSchema": {"json": SCHEMA}}}],
        [{"functionDeclarations": [{**NAMED, "parameters": SCHEMA}]}],
    ],
)
def test_every_wires_tool_declarations_read_alike(declared: object) -> None:
    (tool,) = tools_of(declared)
    assert (tool.name, tool.description, bytes(tool.schema)) == (
        "f",
        "d",
        b'{"type":"object"}',
    )
    assert tool.kind == "function"


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ({"googleSearch": {}}, "googleSearch"),
        ({"systemTool": {"name": "nova_grounding"}}, "nova_grounding"),
    ],
)
def test_a_hosted_tool_named_by_its_key_is_no_function(
    declared: object, kind: str
) -> None:
    (tool,) = tools_of([declared, {"cachePoint": {"type": "default"}}])
    assert (tool.kind, tool.name) == (kind, kind)


def test_a_deferred_tool_and_a_schema_written_as_text_are_seen() -> None:
    deferred, text = tools_of(
        [
            {"name": "f", "input_schema": {"type": "object"}, "defer_loading": True},
            {"function": {"name": "g", "parameters": '{"type":"object"}'}},
        ]
    )
    assert deferred.deferred
    assert msgspec.json.decode(text.schema) == '{"type":"object"}'


def test_a_whole_request_reads_as_words() -> None:
    request = request_of(
        {
            "api": "chat(litellm)",
            "provider": "anthropic",
            "model": "claude",
            "system": "be brief",
            "tools": [{"name": "f"}],
            "params": {"tool_choice": "auto"},
            "atoms": [
                atom("user", "text", "see", 0),
                atom("user", "file", "", 0, blob={"mime": "application/pdf", "pages": 2}),
                atom("user", "audio", "", 0, blob={"seconds": 1.5}),
                atom("user", "other", "x", 0, type="strange"),
            ],
        }
    )
    assert request.wire == "chat"
    assert request.system[0].text == "be brief"
    (message,) = request.messages
    text, file, audio, other = message.parts
    assert text == TextPart(id="m0", text="see")
    assert file == FilePart(id="m1", mime="application/pdf", pages=2)
    assert audio == FilePart(id="m2", mime="audio/", seconds=1.5)
    assert other == ProviderItem(id="m3", kind="strange", text="x")


KINDS = ["text", "image", "tool_result", "tool_call", "reasoning", "file", "other"]
ATOMS = st.lists(
    st.none()
    | st.fixed_dictionaries(
        {},
        optional={
            "r": st.sampled_from(["user", "tool", 3]),
            "k": st.sampled_from([*KINDS, None, 3]),
            "type": st.lists(st.none(), max_size=1),
            "t": st.none() | st.text(max_size=5),
            "m": st.none() | st.integers() | st.lists(st.integers(), max_size=1),
            "cont": st.booleans(),
            "in_tool": st.booleans(),
            "enc": st.floats(),
            "blob": st.none()
            | st.dictionaries(
                st.sampled_from(["w", "h", "pages", "seconds"]), st.floats()
            ),
        },
    ),
    max_size=5,
)
ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | ATOMS
)
MORE = "conv system tools params_a params_b usage atoms params prev_id same_tools"
KEYS = [*PAIR, *MORE.split()]


@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING))
def test_no_row_makes_the_reading_fail(row: dict[str, object]) -> None:
    pair_of(row)
    request_of(row)
    assert truth_of(row) is None or truth_of(row) is not None


def test_both_sides_of_a_change_are_kept() -> None:
    change = {"same_tools": False, "tools": [NAMED, NAMED], "a_tools": [NAMED]}
    pair = pair_of({**PAIR, **change})
    assert (len(pair.first.tools), len(pair.second.tools)) == (1, 2)


def test_text_that_no_provider_accepts_is_made_valid() -> None:
    request = request_of({"atoms": [atom("user", "text", "a\ud800\0b", 0)]})
    assert msgspec.json.encode(request)
