"""The small parts of the doubles: seals, bodies, counting, the default assistant, the draw."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.simulators.answer import Answer, Call, default_answer, speak
from ullage.simulators.body import BadBody, parse
from ullage.simulators.drawn import Drawn, draw
from ullage.simulators.models import MODELS, Model
from ullage.simulators.prompt import Ask, PrefixCache, Prompt, Tool, count
from ullage.simulators.refusal import Rule, refuse
from ullage.simulators.seal import digest, seal, unseal
from ullage.simulators.tokenizer import tokens

MODEL = Model("m", "openai", 1_000, 100)
PLAIN = Drawn(1.0, 2.0, 1, 2, 3, 4, 5, 6, 7, True, False)


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_a_seal_opens_for_its_wire_alone(carried: dict[str, int | str]) -> None:
    sealed = seal("anthropic", carried)
    assert unseal("anthropic", sealed) == carried
    assert unseal("gemini", sealed) is None


@given(st.integers(0, 200), st.sampled_from("AZaz09+/"))
def test_a_seal_with_one_other_letter_does_not_open(at: int, letter: str) -> None:
    sealed = seal("gemini", {"n": 12, "id": "x" * 100})
    at %= len(sealed)
    altered = sealed[:at] + letter + sealed[at + 1 :]
    assert altered == sealed or unseal("gemini", altered) is None


def test_what_was_never_a_seal_does_not_open() -> None:
    assert [unseal("gemini", each) for each in (None, 1, "", "x", "c2lnbmVk", "é")] == [None] * 6


def test_a_digest_forgets_the_order_of_names_and_nothing_else() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_every_json_value_is_read(value: object) -> None:
    assert parse(json.dumps(value).encode()) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'"\\ud83d"', "no low surrogate in string"),
        (b'"\\ud83d\\ud83d"', "no low surrogate in string"),
        (b'"\\ud83dx\\ude00"', "no low surrogate in string"),
        (b'"\\ude00"', "invalid high surrogate in string"),
        (b'"\xff"', "not valid UTF-8"),
        (b"{", "line 1 column 2"),
        (b"NaN", "unexpected"),
        (b"", "line 1 column 1"),
    ],
)
def test_a_bad_body_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(BadBody, match=says):
        parse(body)


def test_a_pair_of_surrogates_and_an_escaped_backslash_are_fine() -> None:
    assert parse(b'"\\ud83d\\ude00 \\\\ud83d"') == "😀 \\ud83d"


def test_tokens_are_those_of_o200k() -> None:
    assert [tokens(text) for text in ("", "hello", "hello world", "strawberry")] == [0, 1, 2, 3]


def test_a_refusal_fills_its_gaps() -> None:
    rules = {"r": Rule("{name} at {i}", "", param="p[{i}]")}
    refused = refuse(rules, "r", name="x", i=3).refused
    assert (refused.text, refused.param, refused.status) == ("x at 3", "p[3]", 400)


def counted(prompt: Prompt, *, loop: bool = True, turns: bool = False) -> tuple[int, int, int]:
    drawn = Drawn(2.0, 2.0, 1, 2, 3, 4, 5, 6, 7, loop, turns)
    found = count(prompt, MODEL, drawn, stream=False)
    return found.input, found.kept, found.dropped


def test_a_prompt_is_its_text_by_the_factor_its_framing_and_what_is_hidden() -> None:
    prompt = Prompt()
    prompt.add(framing="request")
    prompt.add("hello world", framing="message")
    prompt.add(hidden=10, reasoning=True)
    assert counted(prompt) == (1 + 2 + 4 + 10, 10, 0)


def test_reasoning_leaves_by_where_it_stands() -> None:
    prompt = Prompt()
    prompt.add(hidden=10, reasoning=True)
    prompt.add("hello", framing="message")
    prompt.turn_begins = len(prompt.pieces)
    prompt.add(hidden=100, reasoning=True)
    assert counted(prompt, loop=True, turns=False) == (2 + 2 + 100, 100, 10)
    assert counted(prompt, loop=False, turns=True) == (2 + 2 + 10, 10, 100)


def test_a_cache_gives_the_longest_prefix_it_has_seen() -> None:
    cache, prompt = PrefixCache(), Prompt()
    prompt.add("one two three", framing="message")
    first = count(prompt, MODEL, PLAIN, stream=False)
    cache.write(first)
    prompt.add("four five six", framing="message")
    second = count(prompt, MODEL, PLAIN, stream=False)
    assert cache.read(second, at_least=1) == first.input
    assert cache.read(second, at_least=first.input + 1) == 0
    assert cache.read(second, at_least=1, block=4) == first.input // 4 * 4
    other = Prompt()
    other.add("one two four", framing="message")
    assert cache.read(count(other, MODEL, PLAIN, stream=False), at_least=1) == 0


def test_the_default_assistant_repeats_calls_and_reports() -> None:
    weather = Tool("get_weather", {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})
    clock = Tool("get_time", {"properties": {"zone": {"enum": ["UTC", "CET"]}}, "required": ["zone"]})
    assert default_answer(Ask(1, "hello", (), (weather,))).text == "You said: hello"
    called = default_answer(Ask(1, "get_weather and get_time", (), (weather, clock))).calls
    assert [json.loads(call.arguments) for call in called] == [
        {"city": "get_weather and get_time", "days": 1},
        {"zone": "UTC"},
    ]
    assert default_answer(Ask(2, "", (("get_weather", "sunny"),))).text == "Done: get_weather gave sunny"


@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": 1}, {"properties": {"a": None}}, {"properties": {"a": {"type": ["x"]}}}, {"type": "x"}],
)
def test_the_default_assistant_takes_any_schema(schema: dict[str, object]) -> None:
    assert json.loads(default_answer(Ask(1, "f", (), (Tool("f", schema),))).calls[0].arguments) is not None


@given(st.integers(1, 60), st.text(max_size=60), st.text(max_size=40))
def test_an_answer_never_costs_more_than_its_budget(budget: int, text: str, reasoning: str) -> None:
    answer = Answer(reasoning, text, (Call("f", '{"a": "a long value with some words"}'),))
    spoken = speak(answer, MODEL, PLAIN, budget=budget, thinks=True)
    assert spoken.output <= budget
    assert (spoken.stop == "length") == (spoken.answer != answer)


def test_an_answer_within_its_budget_is_whole() -> None:
    answer = Answer("hm", "yes", (Call("f"),))
    spoken = speak(answer, MODEL, PLAIN, budget=None, thinks=True)
    assert (spoken.answer, spoken.stop, spoken.reasoning) == (answer, "", 2)
    assert speak(answer, MODEL, PLAIN, budget=None, thinks=False).answer.reasoning == ""


def test_a_draw_is_the_same_for_a_seed_and_differs_between_models() -> None:
    one, two = MODELS[0], MODELS[1]
    assert draw(1, one, {}) == draw(1, one, {}) != draw(2, one, {})
    assert draw(1, one, {}).factor != draw(1, two, {}).factor
    assert draw(1, one, {"factor": 3.0, "loop": False}).factor == 3.0


def test_where_deployments_differ_the_rule_is_drawn() -> None:
    gemini = next(model for model in MODELS if model.name == "gemini-3-flash-preview")
    assert {draw(seed, gemini, {}).loop for seed in range(20)} == {True, False}


def test_names_of_models_are_unique() -> None:
    assert len({(model.family, model.name) for model in MODELS}) == len(MODELS)
