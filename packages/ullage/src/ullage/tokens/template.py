"""What a request costs beyond its text: the chat template of each model, as constants.

One row a family of models behind a wire; the first row that fits is taken. All constants are tokens and were fitted to
recorded first calls (``bench/accuracy_first_call.py`` measures what they are worth); ``n`` is the number of recorded
requests a row rests on, 0 where it rests on the source beside it. Text is counted as the model's family counts it
(``ullage.tokens.families``) and multiplied by ``text``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from ullage.models.providers import SIMULATED, canonical

Style = Literal["json", "typescript", "words", "declaration"]
"""The form in which declarations reach the model (``ullage.tokens.schemas``)."""


class ToolRule(NamedTuple):
    """What declared tools cost. ``once`` is for the whole batch: the hidden tool prompt, headings, brackets."""

    style: Style
    once: float = 0.0
    ratio: float = 1.0
    """Tokens per o200k token of the rendered declarations."""
    each: float = 0.0
    """Per tool, beside its text."""
    field: float = 0.0
    """Per property of its schema."""
    nested: float = 0.0
    """Per property that is an object, or a list of objects."""
    undescribed: float = 0.0
    """Per tool without a description."""
    forced: float = 0.0
    """Added once where ``tool_choice`` forces a call."""
    named: float | None = None
    """In the place of ``forced`` where it names the tool, the name's own tokens beside it."""
    beside_system: float = 0.0
    """Added where there is a system prompt: OpenAI's template appends the tools to it instead of opening a message."""
    none_is_free: bool = False
    """True where ``tool_choice: none`` leaves the declarations out."""


class AnswerRule(NamedTuple):
    """What a JSON Schema for the answer costs (``response_format``, ``output_format``, ``responseSchema``)."""

    once: float = 0.0
    ratio: float = 1.0
    harmony: bool = False
    """Rendered as OpenAI does, else as compact JSON."""
    beside_system: float = 0.0
    beside_tools: float = 0.0


class Template(NamedTuple):
    """The framing of one family behind one wire."""

    base: float
    """Once per request."""
    message: float
    """Per message, the system prompt of wires that carry it as a message included."""
    tools: ToolRule
    answer: AnswerRule = AnswerRule()
    text: float = 1.0
    """Tokens in a first call per token of the family's count."""
    system: float = 0.0
    """Added where there is a system prompt."""
    thinking: float = 0.0
    """Added where thinking is on."""
    hosted: float = 0.0
    """Added once where there are tools that run on the provider's side, beside what each of them adds."""
    stratum: str = "other"
    """Whose residuals the interval is taken from (``ullage.meter.opening``)."""
    n: int = 0


class _TemplateRow(NamedTuple):
    template: Template
    model: str
    """A regular expression searched in the model's name, in lower case."""
    wires: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()


def _only(*names: str) -> frozenset[str]:
    return frozenset(names)


# OpenAI. Messages: https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken (3 for the answer's opening,
# 4 per message); reasoning models open it with one token less.
_WRAPPER: Final = 7
"""``namespace functions {`` and its end, beside the declarations, in o200k and in cl100k."""
_CHAT_TOOLS: Final = ToolRule(
    "typescript", once=9 + _WRAPPER, beside_system=-4, forced=0, named=7
)
_CHAT = Template(
    3, 4, _CHAT_TOOLS, AnswerRule(8, harmony=True, beside_system=-4, beside_tools=-7),
    stratum="openai", n=675,
)  # fmt: skip
_CHAT_O: Final = _CHAT._replace(
    base=2,
    tools=_CHAT_TOOLS._replace(once=10 + _WRAPPER, beside_system=0),
    answer=AnswerRule(4, harmony=True, beside_tools=-4),
    n=11,
)
_CHAT_5: Final = _CHAT_O._replace(
    tools=_CHAT_TOOLS._replace(once=90 + _WRAPPER, beside_system=0), n=50
)
_RESPONSES: Final = _CHAT._replace(
    tools=ToolRule("typescript", once=3 + _WRAPPER, forced=9, named=7),
    answer=AnswerRule(1, harmony=True),
    n=83,
)
_RESPONSES_O: Final = _RESPONSES._replace(
    base=2,
    answer=AnswerRule(0, harmony=True),
    tools=ToolRule("typescript", once=6 + _WRAPPER, forced=9, named=7),
    n=13,
)
_RESPONSES_5: Final = _RESPONSES_O._replace(
    tools=ToolRule("typescript", once=9 + _WRAPPER, forced=9, named=7, undescribed=-1),
    n=116,
)

# Claude. The tool prompt is hidden; Anthropic lists its size by model
# (https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview#pricing), and newer models are charged more than
# listed. The tokenizer of 4.7 and later counts 17 % more for the same text (n=10, ``families``), declarations as well.
# Thinking adds 28.5 (n=41); a JSON Schema for the answer 101 + 1.4 per token of it (n=18).
_CLAUDE_ANSWER: Final = AnswerRule(101, ratio=1.4)


def _claude(once: float, forced: float, n: int, ratio: float = 1.1) -> Template:
    return Template(
        4.5,
        1.3,
        ToolRule("json", once=once, ratio=ratio, forced=forced),
        _CLAUDE_ANSWER,
        system=-1.3,  # it is no message
        thinking=28.5,
        stratum="claude",
        n=n,
    )


_CLAUDE_2: Final = _claude(497.5, 92, 8)._replace(message=4, system=-4, text=0.85)
_CLAUDE_3_OPUS: Final = _claude(480, 0, 4)
_CLAUDE_3_SONNET: Final = _claude(162, 70, 10)
_CLAUDE_3_HAIKU: Final = _claude(264, 96, 36)
_CLAUDE_35_SONNET: Final = _claude(291, 0, 19)
_CLAUDE_4: Final = _claude(313, 0, 67)
_CLAUDE_45: Final = _claude(497.5, 92, 196)
_CLAUDE_47: Final = _claude(290, 92, 10, ratio=1.29)._replace(thinking=0)

# Gemini: text is within a token of o200k, messages are free. AI Studio charges declarations near their JSON, Vertex AI
# only what can be read in them.
_STUDIO_25: Final = Template(
    1,
    0,
    ToolRule("words", each=20, field=8, nested=50, none_is_free=True),
    AnswerRule(0, ratio=0),
    stratum="gemini",
    n=82,
)
_UNSCALED: Final = 1 / 0.96
"""Gemini 3's family is charged 0.96 of its count over long texts; short ones come out even."""
_STUDIO_3: Final = _STUDIO_25._replace(
    tools=ToolRule("declaration", once=8, none_is_free=True),
    hosted=85,
    text=_UNSCALED,
    n=70,
)
_STUDIO_2: Final = _STUDIO_25._replace(
    base=0, tools=ToolRule("words", ratio=1.15, none_is_free=True), n=25
)
_VERTEX: Final = _STUDIO_25._replace(
    base=0, tools=ToolRule("words", once=2, nested=60, none_is_free=True), n=89
)

# Models with open weights, mostly their published templates as the hosts apply them.
_OPEN_TOOLS: Final = ToolRule("json", once=60, ratio=1.0, each=6, none_is_free=True)
_OPEN: Final = Template(3, 4.5, _OPEN_TOOLS, AnswerRule(0, ratio=0), stratum="open", n=1)
_MISTRAL: Final = _OPEN._replace(
    base=1,
    message=3,
    text=1.07,
    tools=ToolRule("json", once=0, ratio=1.0, each=9, none_is_free=True),
    n=42,
)
_MISTRAL_SMALL: Final = _MISTRAL._replace(base=12, n=22)
_OSS_TOOLS: Final = ToolRule("typescript", once=20 + _WRAPPER)
_OSS: Final = _OPEN._replace(
    base=63,
    message=4,
    system=4,
    tools=_OSS_TOOLS,
    answer=AnswerRule(4, ratio=0.4, harmony=True),
    n=18,
)
_LLAMA_3: Final = _OPEN._replace(
    base=4, message=5, tools=_OPEN_TOOLS._replace(once=85), n=23
)
_LLAMA_31: Final = _LLAMA_3._replace(base=30, n=10)
_LLAMA_4: Final = _LLAMA_3._replace(tools=_OPEN_TOOLS._replace(once=643, each=10), n=26)
_QWEN: Final = _OPEN._replace(
    base=5, message=5, tools=_OPEN_TOOLS._replace(once=51, each=9), n=23
)
_QWEN_35: Final = _QWEN._replace(tools=_OPEN_TOOLS._replace(once=200, each=9), n=3)
_DEEPSEEK: Final = _OPEN._replace(
    base=4, message=0.5, tools=_OPEN_TOOLS._replace(once=220, ratio=0.87, each=8), n=10
)
_DEEPSEEK_R1: Final = _DEEPSEEK._replace(base=2, tools=ToolRule("json", ratio=0), n=8)
"""Served without its tools (n=1)."""
_DEEPSEEK_4: Final = _DEEPSEEK._replace(base=82, n=9)
_GLM: Final = _OPEN._replace(
    base=4, message=1, tools=_OPEN_TOOLS._replace(once=96, ratio=0.93, each=9), n=14
)
_GLM_52: Final = _GLM._replace(base=11, n=2)
_KIMI: Final = _OPEN._replace(
    base=2.5, message=4.3, tools=_OPEN_TOOLS._replace(once=10, ratio=0.95, each=8), n=13
)

# Closed models of smaller providers.
_GROK_TOOLS: Final = ToolRule(
    "json", once=166, ratio=0.58, each=5, beside_system=-9, none_is_free=True
)
_GROK: Final = Template(
    148, 4, _GROK_TOOLS, AnswerRule(38), text=0.98, stratum="other", n=43
)
_GROK_43: Final = _GROK._replace(
    base=187,
    tools=_GROK_TOOLS._replace(once=25, ratio=0.95, each=8),
    answer=AnswerRule(18),
    n=9,
)
_GROK_CODE: Final = _GROK._replace(
    base=196, tools=_GROK_TOOLS._replace(once=145, ratio=0.63), n=6
)
_GROK_3: Final = _GROK._replace(base=4, tools=_GROK_TOOLS._replace(once=236), n=1)
_GROK_AZURE: Final = _GROK._replace(base=0, message=0, n=9)
_NOVA: Final = _OPEN._replace(
    base=0,
    message=0,
    tools=ToolRule("json", once=350, ratio=0.7, each=6),
    stratum="other",
    n=15,
)
_NOVA_2: Final = _NOVA._replace(
    base=46, thinking=48, tools=ToolRule("json", once=781, ratio=1.4, each=12), n=44
)
_COMMAND_A: Final = _OPEN._replace(
    base=494,
    message=1,
    text=0.98,
    tools=ToolRule("json", once=880, each=8),
    answer=AnswerRule(107, ratio=0),
    n=7,
)
_COMMAND_A_REASONING: Final = _COMMAND_A._replace(base=1385, n=1)
_COMMAND_A_PLUS: Final = _COMMAND_A._replace(
    base=4, tools=ToolRule("json", once=166, each=8), n=1
)
_COMMAND_R: Final = _COMMAND_A._replace(
    base=198, tools=ToolRule("json", once=600, each=8), n=6
)
_COMMAND: Final = _COMMAND_A._replace(base=61, n=1)
_SONAR: Final = _OPEN._replace(base=1, message=0.5, n=8)
_PALMYRA: Final = _OPEN._replace(
    base=28.5, message=4, tools=_OPEN_TOOLS._replace(once=85, each=9), n=25
)
_TITAN: Final = _OPEN._replace(base=3, message=0, n=5)

_STUDIO: Final = _only("google")
_VERTEX_LIKE: Final = _only("vertex", "vercel", "openrouter")

UNKNOWN: Final = _OPEN._replace(text=1.05, stratum="unknown")
"""For whatever no row fits: the generic framing of a chat template, and the widest interval."""

_ROWS: Final = (
    # Claude, wherever it is served
    _TemplateRow(_CLAUDE_2, r"claude-(v?2|instant)"),
    _TemplateRow(
        _CLAUDE_47, r"opus-(4[-.][789]|[5-9])|(sonnet|haiku)-[5-9]|claude-[5-9]|fable"
    ),
    _TemplateRow(_CLAUDE_45, r"(sonnet|haiku|opus)-4[-.][56]"),
    _TemplateRow(_CLAUDE_4, r"(sonnet|opus)-4|claude-3[-.]7"),
    _TemplateRow(_CLAUDE_3_HAIKU, r"claude-3([-.]5)?-haiku"),
    _TemplateRow(_CLAUDE_35_SONNET, r"claude-3[-.]5"),
    _TemplateRow(_CLAUDE_3_OPUS, r"claude-3-opus"),
    _TemplateRow(_CLAUDE_3_SONNET, r"claude-3-sonnet"),
    _TemplateRow(_CLAUDE_45, r"claude"),
    # Gemini
    _TemplateRow(_STUDIO_2, r"gemini-(1|2\.0)", providers=_STUDIO),
    _TemplateRow(_STUDIO_25, r"gemini-2\.5", providers=_STUDIO),
    _TemplateRow(_STUDIO_3, r"gemini", providers=_STUDIO),
    _TemplateRow(
        _STUDIO_3._replace(text=1, n=1), r"gemini-3", providers=_only("openrouter")
    ),
    _TemplateRow(_VERTEX, r"gemini", providers=_VERTEX_LIKE),
    _TemplateRow(_STUDIO_25, r"gemini-(1|2)"),
    _TemplateRow(_STUDIO_3, r"gemini"),
    _TemplateRow(_STUDIO_25, r"gemma", wires=_only("generateContent")),
    # others, by the name of the model
    _TemplateRow(_OSS._replace(base=67, n=12), r"gpt-oss", providers=_only("groq")),
    _TemplateRow(_OSS, r"gpt-oss"),
    _TemplateRow(_GROK_AZURE, r"grok", providers=_only("azure")),
    _TemplateRow(_GROK_3, r"grok-3"),
    _TemplateRow(_GROK_CODE, r"grok-code"),
    _TemplateRow(_GROK, r"grok-4([-.]1)?-fast|grok-4$"),
    _TemplateRow(_GROK_43, r"grok"),
    _TemplateRow(_MISTRAL_SMALL, r"mistral-small|magistral"),
    _TemplateRow(_MISTRAL, r"mi[sx]tral|ministral|codestral|devstral|pixtral"),
    _TemplateRow(_DEEPSEEK_R1, r"deepseek-r1"),
    _TemplateRow(_DEEPSEEK_4, r"deepseek-v[4-9]"),
    _TemplateRow(_DEEPSEEK, r"deepseek"),
    _TemplateRow(_QWEN_35, r"qwen-?3\.[5-9]|qwen-?[4-9]"),
    _TemplateRow(_QWEN, r"qwen|qwq"),
    _TemplateRow(_GLM_52, r"glm-5\.[2-9]"),
    _TemplateRow(_GLM, r"glm"),
    _TemplateRow(_KIMI, r"kimi|moonshot"),
    _TemplateRow(
        _LLAMA_4._replace(tools=_OPEN_TOOLS, n=1), r"llama-?4", providers=_only("bedrock")
    ),
    _TemplateRow(_LLAMA_4, r"llama-?4"),
    _TemplateRow(
        _LLAMA_31._replace(base=24, n=3), r"llama-?3[.-][1-3]", providers=_only("bedrock")
    ),
    _TemplateRow(
        _LLAMA_31._replace(base=6, n=4),
        r"llama-?3[.-][1-3]",
        providers=_only("openrouter", "snowflake", "ollama"),
    ),
    _TemplateRow(_LLAMA_31, r"llama-?3[.-][1-3]"),
    _TemplateRow(_LLAMA_3, r"llama"),
    _TemplateRow(_NOVA_2, r"nova-2"),
    _TemplateRow(_NOVA, r"nova-"),
    _TemplateRow(_TITAN, r"titan"),
    _TemplateRow(_COMMAND_A_PLUS, r"command-a-plus"),
    _TemplateRow(_COMMAND_A_REASONING, r"command-a-reasoning"),
    _TemplateRow(_COMMAND_A, r"command-a|command-r7b"),
    _TemplateRow(_COMMAND_R, r"command-r"),
    _TemplateRow(_COMMAND, r"command"),
    _TemplateRow(_SONAR, r"sonar"),
    _TemplateRow(_PALMYRA, r"palmyra"),
    # OpenAI's own
    _TemplateRow(_RESPONSES_5, r"gpt-([5-9]|\d\d)|codex", wires=_only("responses")),
    _TemplateRow(_RESPONSES_O, r"(^|/)o\d", wires=_only("responses")),
    _TemplateRow(_RESPONSES, r"gpt|chatgpt", wires=_only("responses")),
    _TemplateRow(_RESPONSES_5, r"gpt-([5-9]|\d\d)", providers=_VERTEX_LIKE),
    _TemplateRow(_CHAT_5, r"gpt-([5-9]|\d\d)|codex"),
    _TemplateRow(_CHAT, r"(^|/)o1-mini"),
    _TemplateRow(_CHAT_O, r"(^|/)o\d"),
    _TemplateRow(_CHAT, r"gpt|davinci|chatgpt"),
    _TemplateRow(
        _RESPONSES, r"", wires=_only("responses"), providers=_only("openai", "azure")
    ),
    _TemplateRow(_CHAT, r"", providers=_only("openai", "azure")),
    _TemplateRow(_OPEN, r"", providers=_only("ollama", "vllm", "llama.cpp", "lmstudio")),
)
PLAIN: Final = Template(0, 0, ToolRule("json"), stratum="unknown")
"""Nothing but the text: for an estimator of the application's own."""


@lru_cache(maxsize=1024)
def template_for(wire: str, provider: str, model: str) -> Template:
    """The framing of a model behind a wire at a provider; ``UNKNOWN`` for a simulated one and what no row fits."""
    lowered = model.lower()
    served_by = canonical(provider)
    if re.search(SIMULATED, lowered):
        return UNKNOWN
    for row in _ROWS:
        is_asked = (not row.wires or wire in row.wires) and (
            not row.providers or served_by in row.providers
        )
        if is_asked and re.search(row.model, lowered):
            return row.template
    return UNKNOWN
