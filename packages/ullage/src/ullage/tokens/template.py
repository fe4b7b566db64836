"""What a request costs beyond its text: the chat template of each model, as constants.

One row a family of models behind a wire in ``models/templates.json``; the first row that fits is taken. All constants
are tokens and were fitted to recorded first calls (``bench/accuracy_first_call.py`` measures what they are worth);
``n`` is the number of recorded requests a row rests on, 0 where it rests on its source. Text is counted as the model's
family counts it (``ullage.tokens.families``) and multiplied by ``text``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

import msgspec

from ullage.models.facts import facts
from ullage.models.providers import SIMULATED, canonical

Style = Literal["json", "function", "typescript", "words", "declaration"]
"""The form in which declarations reach the model (``ullage.tokens.schemas``)."""


class ToolRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What declared tools cost. ``once`` is for the whole batch: the hidden tool prompt, headings, brackets."""

    style: Style
    once: float = 0.0
    ratio: float = 1.0
    """Tokens per token of the rendered declarations, counted as ``ullage.tokens.tools`` says."""
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


class AnswerRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a JSON Schema for the answer costs (``response_format``, ``output_format``, ``responseSchema``)."""

    once: float = 0.0
    ratio: float = 1.0
    harmony: bool = False
    """Rendered as OpenAI does, else as compact JSON."""
    beside_system: float = 0.0
    beside_tools: float = 0.0


class Template(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class TemplateRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A template and the calls it holds for. ``model`` is a regular expression searched in the name, in lower case."""

    model: str
    template: Template
    wires: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()
    note: str = ""


_rows: Final = msgspec.json.Decoder(list[TemplateRow])


@lru_cache(maxsize=1)
def template_rows() -> list[TemplateRow]:
    """The rows of ``models/templates.json``."""
    return facts("templates", _rows)


UNKNOWN: Final = Template(
    base=3,
    message=4.5,
    tools=ToolRule("json", once=60, each=6, none_is_free=True),
    answer=AnswerRule(ratio=0),
    text=1.05,
    stratum="unknown",
    n=1,
)
"""For whatever no row fits: the generic framing of a chat template, and the widest interval."""

PLAIN: Final = Template(0, 0, ToolRule("json"), stratum="unknown")
"""Nothing but the text: for an estimator of the application's own."""


@lru_cache(maxsize=1024)
def template_for(wire: str, provider: str, model: str) -> Template:
    """The framing of a model behind a wire at a provider; ``UNKNOWN`` for a simulated one and what no row fits."""
    lowered = model.lower()
    served_by = canonical(provider)
    if re.search(SIMULATED, lowered):
        return UNKNOWN
    for row in template_rows():
        is_asked = (not row.wires or wire in row.wires) and (
            not row.providers or served_by in row.providers
        )
        if is_asked and re.search(row.model, lowered):
            return row.template
    return UNKNOWN
