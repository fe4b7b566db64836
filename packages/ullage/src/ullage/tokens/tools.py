"""What declared tools, the choice among them and a schema for the answer cost.

A batch of tools has its own cost (a hidden prompt, headings), once, however many tools there are. It is kept apart from
the tools' own, so that adding a tool never counts it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from ullage.envelope import MOST_TOKENS
from ullage.messages import Tool
from ullage.tokens import schemas
from ullage.tokens.families import Family
from ullage.tokens.policy import UNKNOWN_HOSTED
from ullage.tokens.template import Style, Template
from ullage.tokens.text import TextCounter
from ullage.tokens.weights import ENCODING

_RENDER: Final[dict[Style, Callable[[schemas.Declared], str]]] = {
    "json": schemas.as_json,
    "function": schemas.as_function,
    "typescript": schemas.as_typescript,
    "words": schemas.as_words,
    "declaration": schemas.as_declaration,
}


_OWN_TEXT: Final[frozenset[Style]] = frozenset({"function", "typescript"})
"""Forms that are known to the letter, so that the model's own vocabulary counts them; the other ratios were fitted to
o200k counts."""


class LinearCorrection(NamedTuple):
    """A count corrected: a share of it and an offset."""

    slope: float
    offset: float = 0.0


_PRETOKEN: Final[Mapping[str, LinearCorrection]] = {
    "json": LinearCorrection(0.967, -3.7),
    "typescript": LinearCorrection(0.955),
    "words": LinearCorrection(0.953),
    "declaration": LinearCorrection(1.05, 0.7),
    "answer json": LinearCorrection(0.946, -1.3),
    "answer harmony": LinearCorrection(0.922, -1.2),
}
"""How the pretoken estimator counts rendered declarations (n=264) and schemas (n=50) against o200k: what surrounds
the words is always the same, and its pieces weigh otherwise there than in prose."""


class HostedTool(NamedTuple):
    """A tool that runs on the provider's side: its kind, the tokens its presence adds, and from how many requests.

    The figures are medians; what such a tool reads on the provider's side comes on top and can't be known before.
    """

    kind: re.Pattern[str]
    tokens: float
    n: int


_HOSTED: Final = tuple(
    HostedTool(re.compile(kind), tokens, n)
    for kind, tokens, n in (
        (r"^advisor", 2395, 3),
        (r"^computer", 1730, 4),
        (r"^memory", 1566, 1),
        (r"^tool_search_tool", 250, 6),
        (r"^tool_search", 534, 5),
        (r"^(web_search|web_fetch)_2026", 13_000, 1),
        (r"^web_fetch", 7190, 2),
        (r"^web_search_20", 10_400, 4),
        (r"^code_execution_20", 4635, 4),
        (r"^code_interpreter", 2750, 3),
        (r"^image_generation", 1654, 5),
        (r"^file_search", 846, 1),
        (r"^mcp", 1268, 2),
        (r"^web_search_preview", 294, 3),
        (r"^web_search", 9500, 8),
        (r"^(google_?search|code_?execution|file_?search|url_?context)", 1, 19),
        (r"^nova_grounding", 79, 1),
    )
)

_READING: Final = re.compile(r"^web_(search|fetch)(?!_preview)")
"""Those whose figures are of calls that searched or fetched (n=17 of 17, each with this tool alone). Beside a program's
own tools they are declared with every request and rarely used: Codex 0.140 to 0.142.5 declares a dozen tools and
``web_search`` in 5,301 to 6,504 tokens (n=12 sessions)."""

NAMESPACE: Final = "namespace"
"""A group of declared tools (openai 3.52, ``types/responses/namespace_tool_param.py``): Codex 0.169 declares 35 kB of
tools so for gpt-6.1-sol, and 0.9 kB of others. It is counted as its description and its tools; what else the group
adds is not measured."""


class ToolChoice(NamedTuple):
    """What ``tool_choice`` asks for, in any wire's spelling."""

    mode: Literal["auto", "none", "forced", "named"] = "auto"
    name: str = ""


AUTO: Final = ToolChoice()
_CHOICES: Final = {
    "any": ToolChoice("forced"),
    "required": ToolChoice("forced"),
    "none": ToolChoice("none"),
}


class ToolsCost(NamedTuple):
    """What the tools of a request cost: the batch's own overhead, ``tool_choice``, and each tool's share.

    ``each`` and ``deferred`` are parallel to the tools: a tool is counted in one and is 0 in the other. Deferred tools
    are not in the request and not in ``tokens``.
    """

    overhead: float
    choice: float
    each: tuple[float, ...]
    deferred: tuple[float, ...]
    hosted: float = 0.0
    """Of ``tokens``, what tools add that run on the provider's side. Hardly predictable."""
    unread: float = 0.0
    """Not of ``tokens``: what such tools read if they are used."""

    @property
    def tokens(self) -> float:
        return self.overhead + self.choice + sum(self.each)


NO_TOOLS: Final = ToolsCost(0.0, 0.0, (), ())


def tool_tokens(
    tool: Tool, template: Template, family: Family, counter: TextCounter
) -> float:
    """One tool's own share: its declaration as the provider renders it, as if it were not deferred."""
    if tool.measured is not None and 0 <= tool.measured <= MOST_TOKENS:
        return tool.measured
    if is_hosted(tool):
        return _hosted(tool.kind)
    if tool.kind == NAMESPACE:
        grouped = schemas.grouped(tool)
        shares = [tool_tokens(one, template, family, counter) for one in grouped.tools]
        return counter.count(grouped.description, family.vocabulary) + sum(shares)
    rule = template.tools
    read = schemas.declared(tool)
    text = _RENDER[rule.style](read)
    tokens = rule.each + rule.ratio * _rendered(text, rule.style, family, counter)
    if not read.description:
        tokens += rule.undescribed
    if rule.field or rule.nested:
        shape = schemas.shape_of(read.schema)
        tokens += rule.field * shape.fields + rule.nested * shape.nested
    return max(0.0, tokens)


def is_hosted(tool: Tool) -> bool:
    """Whether the tool runs on the provider's side, without a declaration to count."""
    return tool.kind not in {"", "function", "custom", NAMESPACE}


def tools_cost(
    tools: Sequence[Tool],
    template: Template,
    family: Family,
    counter: TextCounter,
    *,
    choice: ToolChoice = AUTO,
    system: str = "",
) -> ToolsCost:
    """What the tools of one request cost. ``system`` is the system prompt, which some templates append the tools to.

    O(size of the declarations).
    """
    rule = template.tools
    if not tools:
        return NO_TOOLS
    if choice.mode == "none" and rule.none_is_free:
        nothing = (0.0,) * len(tools)
        return ToolsCost(0.0, 0.0, nothing, nothing)
    costs = [tool_tokens(tool, template, family, counter) for tool in tools]
    each = list(costs)
    deferred = [0.0] * len(tools)
    hosted, unread, is_declared, has_hosted = 0.0, 0.0, False, False
    is_alone = all(is_hosted(tool) for tool in tools)
    for place, tool in enumerate(tools):
        is_declared = is_declared or tool.kind.startswith("tool_search")
        if tool.deferred:
            each[place], deferred[place] = 0.0, costs[place]
        elif is_hosted(tool):
            has_hosted = True
            if not is_alone and _READING.match(tool.kind.lower()):
                each[place] = min(costs[place], UNKNOWN_HOSTED)
                unread += costs[place] - each[place]
            hosted += each[place]
        else:
            is_declared = True
    overhead = asked = 0.0
    if is_declared:
        overhead = rule.once + _beside_system(rule.beside_system, system)
        if choice.mode == "named" and rule.named is not None:
            asked = rule.named + counter.count(choice.name, family.vocabulary)
        elif choice.mode in {"forced", "named"}:
            asked = rule.forced
    if has_hosted:
        overhead += template.hosted
        hosted += template.hosted
    return ToolsCost(overhead, asked, tuple(each), tuple(deferred), hosted, unread)


def _beside_system(tokens: float, system: str) -> float:
    """What a system prompt adds to declarations that begin on a new line of it.

    A line end after punctuation is no token of its own.
    """
    if not system or not tokens:
        return 0.0
    return tokens + 1 if system[-1].isalnum() else tokens


def _rendered(text: str, style: str, family: Family, counter: TextCounter) -> float:
    """Tokens of a declaration or schema as it was rendered; where that is not known, by a ratio to o200k's count."""
    own = style in _OWN_TEXT or family.vocabulary in ENCODING
    tokens = counter.count(text, family.vocabulary if own else "o200k")
    line = _PRETOKEN.get(style) if counter.name == "pretoken" else None
    return tokens if line is None else max(0.0, line.slope * tokens + line.offset)


def _hosted(kind: str) -> float:
    return next(
        (row.tokens for row in _HOSTED if row.kind.search(kind.lower())), UNKNOWN_HOSTED
    )


def read_choice(params: Mapping[str, object]) -> ToolChoice:
    """``tool_choice`` of any wire: OpenAI's and Anthropic's, Bedrock's ``toolChoice``, Gemini's ``toolConfig``."""
    found = next(
        (
            params[key]
            for key in ("tool_choice", "toolChoice", "toolConfig", "function_call")
            if params.get(key)
        ),
        None,
    )
    if isinstance(found, dict):
        return _choice_of(found)
    if not isinstance(found, str):
        return AUTO
    return _CHOICES.get(found.lower(), AUTO)


def _choice_of(found: Mapping[str, object]) -> ToolChoice:
    inner = found.get("functionCallingConfig")
    if isinstance(inner, dict):
        found = inner
    word = found.get("type", found.get("mode"))
    word = word.lower().removeprefix("tool_mode_") if isinstance(word, str) else ""
    tool = found.get("function", found.get("tool", found))
    name = tool.get("name") if isinstance(tool, dict) else None
    if isinstance(name, str) and name:
        return ToolChoice("named", name)
    return _CHOICES["any"] if "any" in found else _CHOICES.get(word, AUTO)


class AnswerFormat(NamedTuple):
    """The JSON Schema the answer has to follow."""

    name: str
    description: str
    schema: schemas.Schema


def read_answer_format(params: Mapping[str, object]) -> AnswerFormat | None:
    """The answer's schema in any wire's spelling; ``None`` where there is none."""
    for path in (
        ("response_format", "json_schema"),
        ("response_format",),
        ("text", "format"),
        ("output_config", "format"),
        ("output_format",),
        ("outputConfig", "textFormat", "structure", "jsonSchema"),
        ("format",),
    ):
        found = _at(params, path)
        if isinstance(found, dict) and "schema" in found:
            schema = schemas.read_schema(found["schema"])
            return AnswerFormat(
                _word(found, "name") or "response", _word(found, "description"), schema
            )
    for path in (
        ("generationConfig", "responseJsonSchema"),
        ("generationConfig", "responseSchema"),
        ("generationConfig", "response_schema"),
        ("format",),
    ):
        found = _at(params, path)
        if isinstance(found, dict) and found:
            return AnswerFormat("response", "", found)
    return None


def _at(value: object, path: Sequence[str]) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _word(found: Mapping[str, object], key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def answer_tokens(
    answer: AnswerFormat | None,
    template: Template,
    family: Family,
    counter: TextCounter,
    *,
    system: str = "",
    tools: bool = False,
) -> float:
    """What a schema for the answer costs; 0 without one."""
    if answer is None:
        return 0.0
    rule = template.answer
    tokens = rule.once
    if tools:
        tokens += rule.beside_tools
    else:
        tokens += _beside_system(rule.beside_system, system)
    if rule.ratio:
        if rule.harmony:
            style, text = (
                "answer harmony",
                schemas.as_output_format(answer.name, answer.description, answer.schema),
            )
        else:
            style, text = "answer json", schemas.as_json_schema(answer.schema)
        tokens += rule.ratio * _rendered(text, style, family, counter)
    return max(0.0, tokens)
