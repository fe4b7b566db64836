"""What a wire and the model behind it accept: one row of rules for each kind of target.

Each wire gives its targets in its ``rules.py``; the validator knows no wire or provider by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Legal:
    """Which names may stand on a wire: the characters, and the longest and shortest length."""

    pattern: re.Pattern[str]
    longest: int
    shortest: int = 1

    def allows(self, name: str) -> bool:
        return self.shortest <= len(name) <= self.longest and self.pattern.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The rules for one request.

    ``call_ids`` and ``tool_names`` say what may stand there; ``empty_ids`` that a call may go without one.
    ``blank_text`` is whether text of white space alone is taken. ``user_first``, ``user_last`` and ``alternates`` ask
    for user messages at the begin, at the end and between two answers; ``answer_after_tools`` for an answer between a
    tool's result and a user message; ``space_at_end`` is whether an answer that is to be continued may end with white
    space. ``signed_thinking`` refuses thinking without its signature, ``sealed_reasoning``
    reasoning without its encrypted content; ``reasoning_last`` is whether an answer may end with reasoning,
    ``item_ids`` whether items are named and refused without the reasoning before them. ``signed_calls`` asks for a
    signature on the first call of each step, ``every_reasoning`` for reasoning in each answer,
    ``thinking_from_begin`` for thinking in the first answer of a tool loop, ``named_reasoning`` for the name of the
    field that reasoning came in. ``signed_text`` is whether an empty text may carry a signature.
    """

    wire: str
    provider: str
    model: str
    family: str
    call_ids: Legal
    tool_names: Legal
    empty_ids: bool = False
    blank_text: bool = True
    user_first: bool = False
    user_last: bool = False
    alternates: bool = False
    answer_after_tools: bool = False
    space_at_end: bool = True
    signed_thinking: bool = False
    sealed_reasoning: bool = False
    reasoning_last: bool = False
    item_ids: bool = False
    signed_calls: bool = False
    every_reasoning: bool = False
    thinking_from_begin: bool = False
    signed_text: bool = False
    named_reasoning: bool = False


PLAIN_CHARACTERS: Final = re.compile(r"[a-zA-Z0-9_-]+")
_PRINTABLE: Final = re.compile(r"[!-~]+")

LENIENT_IDS: Final = Legal(_PRINTABLE, 64)
"""Servers that hand out ids such as Kimi's ``functions.read:0`` and want them back."""

OPENAI_NAMES: Final = Legal(PLAIN_CHARACTERS, 64)
"""https://platform.openai.com/docs/api-reference/chat/create, ``tools[].function.name``."""
