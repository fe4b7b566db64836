from ullage_simulators.drawn import Drawn
from ullage_simulators.models import Model
from ullage_simulators.prompt import PrefixCache, PromptPieces, count, declaration
from ullage_simulators.tokenizer import tokens

MODEL = Model("m", "openai", 1_000, 100)
PLAIN = Drawn(1.0, 1.0, 2.0, 1, 2, 3, 4, 5, 6, 7, True, False)


def counted(
    prompt: PromptPieces, *, loop: bool = True, turns: bool = False
) -> tuple[int, int, int]:
    drawn = Drawn(2.0, 3.0, 1.0, 1, 2, 3, 4, 5, 6, 7, loop, turns)
    found = count(prompt, MODEL, drawn, stream=False)
    return found.input, found.kept, found.dropped


def test_a_prompt_is_its_text_by_the_factor_its_framing_and_what_is_hidden() -> None:
    prompt = PromptPieces()
    prompt.add(framing="request")
    prompt.add("hello world", framing="message")
    prompt.add(hidden=10, reasoning=True)
    assert counted(prompt) == (1 + 2 + 4 + 10, 10, 0)


def test_a_declaration_has_a_factor_for_texts_and_one_for_json() -> None:
    prompt = PromptPieces()
    prompt.add_tools([{"name": "look", "description": "hello world"}])
    schema = tokens('{"name":"look"}')
    assert counted(prompt)[0] == 4 + 3 + 2 * 2 + 3 * schema


def test_only_texts_are_descriptions_whatever_a_property_is_called() -> None:
    tool = {"properties": {"description": {"type": "string", "description": "Why."}}}
    assert declaration(tool) == (
        "Why.",
        '{"properties":{"description":{"type":"string"}}}',
    )


def test_reasoning_leaves_by_where_it_stands() -> None:
    prompt = PromptPieces()
    prompt.add(hidden=10, reasoning=True)
    prompt.add("hello", framing="message")
    prompt.turn_begins = len(prompt.pieces)
    prompt.add(hidden=100, reasoning=True)
    assert counted(prompt, loop=True, turns=False) == (2 + 2 + 100, 100, 10)
    assert counted(prompt, loop=False, turns=True) == (2 + 2 + 10, 10, 100)


def test_a_cache_gives_the_longest_prefix_it_has_seen() -> None:
    cache, prompt = PrefixCache(), PromptPieces()
    prompt.add("one two three", framing="message")
    first = count(prompt, MODEL, PLAIN, stream=False)
    cache.write(first)
    prompt.add("four five six", framing="message")
    second = count(prompt, MODEL, PLAIN, stream=False)
    assert cache.read(second, at_least=1) == first.input
    assert cache.read(second, at_least=first.input + 1) == 0
    assert cache.read(second, at_least=1, block=4) == first.input // 4 * 4
    other = PromptPieces()
    other.add("one two four", framing="message")
    assert cache.read(count(other, MODEL, PLAIN, stream=False), at_least=1) == 0
