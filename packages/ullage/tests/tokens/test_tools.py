"""What tools, the choice among them and an answer's schema cost."""

import msgspec
import pytest

from ullage.messages import Tool
from ullage.tokens.families import family_for
from ullage.tokens.template import template_for
from ullage.tokens.text import counter_for
from ullage.tokens.tools import (
    AUTO,
    NO_TOOLS,
    AnswerFormat,
    ToolChoice,
    answer_tokens,
    read_answer_format,
    read_choice,
    tool_tokens,
    tools_cost,
)

BPE = counter_for("bpe")
SCHEMA = b'{"type":"object","properties":{"city":{"type":"string","description":"Which city"}},"required":["city"]}'


def tool(name: str = "look", **more: object) -> Tool:
    return msgspec.structs.replace(
        Tool(name=name, description="Look at the sky", schema=msgspec.Raw(SCHEMA)), **more
    )


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


CHAT = ("chat", "openai", "gpt-4o")
RESPONSES = ("responses", "openai", "gpt-5")
CLAUDE = ("messages", "anthropic", "claude-sonnet-4-5")
STUDIO = ("generateContent", "google", "gemini-2.5-flash")
KINDS = [
    CHAT,
    CLAUDE,
    STUDIO,
    RESPONSES,
    ("chat", "groq", "llama-3.3-70b"),
    ("x", "y", "z"),
]


def cost(
    kind: tuple[str, str, str], *tools: Tool, choice: ToolChoice = AUTO, system: str = ""
) -> float:
    return tools_cost(
        tools, template_for(*kind), family_for(*kind), BPE, choice=choice, system=system
    ).tokens


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_tool_adds_its_own_share_and_no_second_overhead(
    kind: tuple[str, str, str],
) -> None:
    own = tool_tokens(tool("second"), template_for(*kind), family_for(*kind), BPE)
    assert cost(kind, tool(), tool("second")) == pytest.approx(cost(kind, tool()) + own)


def test_no_tools_cost_nothing() -> None:
    assert tools_cost((), template_for(*CHAT), family_for(*CHAT), BPE) is NO_TOOLS


def test_openai_charges_the_typescript_and_sixteen_tokens() -> None:
    text = ";\n\n// Look at the sky\ntype look = (_: {\n// Which city\ncity: string,\n}) => any"
    assert cost(CHAT, tool()) == BPE.count(text, "o200k") + 16


def test_beside_a_system_prompt_openai_opens_no_message_for_tools() -> None:
    assert cost(CHAT, tool()) - cost(CHAT, tool(), system="Be brief.") == 4
    assert cost(CHAT, tool()) - cost(CHAT, tool(), system="Be brief") == 3


def test_claude_has_a_hidden_prompt_and_a_longer_one_where_a_call_is_forced() -> None:
    assert cost(CLAUDE, tool()) > 490
    assert cost(CLAUDE, tool(), choice=ToolChoice("forced")) - cost(CLAUDE, tool()) > 80


def test_a_named_choice_costs_openai_the_name() -> None:
    assert cost(CHAT, tool(), choice=ToolChoice("named", "look")) - cost(
        CHAT, tool()
    ) == 7 + BPE.count("look", "o200k")


def test_tools_that_may_not_be_called_are_free_only_where_they_are_left_out() -> None:
    none = ToolChoice("none")
    assert cost(("chat", "groq", "llama-3.3-70b"), tool(), choice=none) == 0
    assert cost(CHAT, tool(), choice=none) > 0
    assert cost(CLAUDE, tool(), choice=none) > 0


def test_deferred_tools_are_shown_and_not_summed() -> None:
    declared = tool("later", deferred=True)
    held = tools_cost((tool(), declared), template_for(*CLAUDE), family_for(*CLAUDE), BPE)
    assert held.each[1] == 0 < held.deferred[1]
    assert held.tokens == pytest.approx(cost(CLAUDE, tool()))


def test_a_hosted_tool_has_no_declaration_and_a_share_of_its_own() -> None:
    hosted = tool("web_search", kind="web_search_20250305", schema=msgspec.Raw(b"{}"))
    held = tools_cost((hosted,), template_for(*CLAUDE), family_for(*CLAUDE), BPE)
    assert held.overhead == 0
    assert held.hosted == held.tokens > 1_000


def test_a_namespace_costs_its_description_and_the_tools_that_it_declares() -> None:
    family, template = family_for(*RESPONSES), template_for(*RESPONSES)
    inner = {"type": "function", "name": "look", "description": "Look at the sky"}
    inner["parameters"] = msgspec.json.decode(SCHEMA)
    held = [inner, {**inner, "defer_loading": True}, {"name": 1}, "no tool", None]
    declared = {"type": "namespace", "name": "sky", "description": "", "tools": held}
    namespace = tool("sky", kind="namespace", schema=raw(declared))
    nameless = tool("", description="", schema=msgspec.Raw(b"{}"))
    shares = [tool_tokens(one, template, family, BPE) for one in (tool(), nameless)]
    assert tool_tokens(namespace, template, family, BPE) == sum(shares)
    described = {**declared, "description": "All about the sky"}
    more = tool("sky", kind="namespace", schema=raw(described))
    assert tool_tokens(more, template, family, BPE) == sum(shares) + 4


def test_a_search_beside_a_programs_own_tools_costs_its_definition() -> None:
    search = tool("web_search", kind="web_search", schema=msgspec.Raw(b"{}"))
    counted = (template_for(*RESPONSES), family_for(*RESPONSES), BPE)
    alone = tools_cost((search,), *counted)
    beside = tools_cost((tool(), search), *counted)
    assert alone.hosted > 9_000
    assert 100 < beside.hosted == beside.each[1] < 500
    assert (alone.unread, beside.unread) == (0, alone.hosted - beside.hosted)


@pytest.mark.parametrize("schema", [b"{}", b"[]", b"1", b'{"tools": 1}', b'{"tools":{}}'])
def test_a_namespace_without_a_list_of_tools_costs_nothing(schema: bytes) -> None:
    family, template = family_for(*RESPONSES), template_for(*RESPONSES)
    namespace = tool("sky", kind="namespace", schema=msgspec.Raw(schema))
    assert tool_tokens(namespace, template, family, BPE) == 0


def test_gemini_3_has_a_prompt_for_hosted_tools_once() -> None:
    kind = ("generateContent", "google", "gemini-3-flash-preview")
    search = Tool(name="googleSearch", kind="googleSearch")
    code = Tool(name="codeExecution", kind="codeExecution")
    assert cost(kind, search) > 50
    assert cost(kind, search, code) - cost(kind, search) < 10
    held = tools_cost((search,), template_for(*kind), family_for(*kind), BPE)
    assert held.hosted == held.tokens


def test_vertex_counts_a_tool_without_words_by_its_name() -> None:
    bare = Tool(name="get_file", schema=msgspec.Raw(b'{"type":"object","properties":{}}'))
    assert cost(("generateContent", "vertex", "gemini-2.5-flash"), bare) == 3


@pytest.mark.parametrize(
    ("params", "choice"),
    [
        ({}, ToolChoice()),
        ({"tool_choice": "auto"}, ToolChoice()),
        ({"tool_choice": "required"}, ToolChoice("forced")),
        ({"tool_choice": {"type": "any"}}, ToolChoice("forced")),
        ({"tool_choice": {"type": "tool", "name": "look"}}, ToolChoice("named", "look")),
        (
            {"tool_choice": {"type": "function", "function": {"name": "look"}}},
            ToolChoice("named", "look"),
        ),
        (
            {"tool_choice": {"type": "function", "name": "look"}},
            ToolChoice("named", "look"),
        ),
        ({"tool_choice": {"type": "none"}}, ToolChoice("none")),
        ({"tool_choice": "none"}, ToolChoice("none")),
        ({"toolChoice": {"any": {}}}, ToolChoice("forced")),
        ({"toolChoice": {"tool": {"name": "look"}}}, ToolChoice("named", "look")),
        ({"toolChoice": {"auto": {}}}, ToolChoice()),
        (
            {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
            ToolChoice("forced"),
        ),
        ({"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}, ToolChoice("none")),
        ({"tool_choice": {"mode": "TOOL_MODE_REQUIRED"}}, ToolChoice("forced")),
        ({"tool_choice": 7}, ToolChoice()),
        ({"tool_choice": {"function": 7}}, ToolChoice()),
    ],
)
def test_tool_choice_is_read_in_every_spelling(
    params: dict[str, object], choice: ToolChoice
) -> None:
    assert read_choice(params) == choice


INNER = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    "params",
    [
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "Row", "schema": INNER},
            }
        },
        {"text": {"format": {"type": "json_schema", "name": "Row", "schema": INNER}}},
        {"output_config": {"format": {"type": "json_schema", "schema": INNER}}},
        {"output_format": {"type": "json_schema", "schema": INNER}},
        {
            "generationConfig": {
                "responseMimeType": "application/json",
                "responseSchema": INNER,
            }
        },
        {"generationConfig": {"responseJsonSchema": INNER}},
        {
            "outputConfig": {
                "textFormat": {
                    "structure": {
                        "jsonSchema": {"schema": msgspec.json.encode(INNER).decode()}
                    }
                }
            }
        },
        {"format": INNER},
    ],
)
def test_the_schema_of_the_answer_is_found_in_every_spelling(
    params: dict[str, object],
) -> None:
    found = read_answer_format(params)
    assert found is not None
    assert found.schema == INNER


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"response_format": {"type": "json_object"}},
        {"text": {"verbosity": "low"}},
        {"format": "json"},
    ],
)
def test_an_answer_without_a_schema_costs_nothing(params: dict[str, object]) -> None:
    assert read_answer_format(params) is None
    assert answer_tokens(None, template_for(*CHAT), family_for(*CHAT), BPE) == 0


def answer(kind: tuple[str, str, str], **more: object) -> float:
    held = AnswerFormat("Row", "", dict(INNER))
    return answer_tokens(held, template_for(*kind), family_for(*kind), BPE, **more)  # type: ignore[arg-type]


def test_a_schema_costs_claude_a_prompt_gemini_nothing_and_openai_its_text() -> None:
    assert answer(CLAUDE) > 101
    assert answer(STUDIO) == 0
    text = '# Response Formats\n\n## Row\n\n{"type":"object","properties":{"a":{"type":"string"}}}'
    assert answer(CHAT) == BPE.count(text, "o200k") + 8
    assert answer(CHAT, tools=True) == BPE.count(text, "o200k") + 1
    assert answer(CHAT, system="Be brief.") == BPE.count(text, "o200k") + 4
