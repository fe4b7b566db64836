"""What a provider adds around the text of a request, per message, tool result and tool call.

Tokens, measured as the median of (B.input - A.input - A.output kept - text) over the recorded conversations; ``n`` is
from how many pairs of calls. A constant from fewer than three pairs is an anecdote, and its family's interval is wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """Tokens of the wrapping of what is added after an answer.

    ``step`` once per call, for closing the answer and opening the next. ``user`` per message that is no tool result.
    A single tool result costs ``result``; two cost ``pair`` in all, each further one ``further``. ``name`` is what
    each token of the tool's name costs again in its result, ``names`` the same where there are several results.
    ``empty`` is what stands in for a result without text.
    """

    step: float = 0.0
    user: float = 0.0
    result: float = 0.0
    name: float = 0.0
    pair: float = 0.0
    further: float = 0.0
    names: float = 0.0
    empty: float = 0.0
    leaves: float = 0.0
    """Above 0: a result that is JSON is counted by its keys and values alone, and its text by this factor."""
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """Tokens of the wrapping of an answer, as output and as input again.

    ``text`` once for an answer with text, ``call`` per tool call, ``several`` once where there are two calls or more,
    ``parameter`` per argument. With ``unpacked`` the arguments are counted as values, not as JSON, since the model
    writes them so.
    """

    once: float = 0.0
    text: float = 0.0
    call: float = 0.0
    several: float = 0.0
    parameter: float = 0.0
    unpacked: bool = False
    n: int = 0


NOTHING: Final = Framing()
BARE: Final = Answering()

OPENAI_CHAT: Final = Framing(step=4, user=4, result=2, name=1, pair=10, n=86)
OPENAI_CHAT_REASONING: Final = Framing(step=0, user=4, result=3, name=1, pair=9, n=13)
OPENAI_CHAT_LATER: Final = Framing(
    step=4, user=4, result=5, name=1, pair=10, names=1, n=1
)
"""gpt-5.4 and later."""
OPENAI_RESPONSES: Final = Framing(
    step=4, user=3, result=2, name=1, pair=-17, names=1, n=25
)
"""The pair is negative since the wrapper of parallel calls is charged as output and not sent back."""
OPENAI_RESPONSES_KEPT: Final = Framing(step=4, user=3, result=2, name=1, pair=5, n=4)
"""o-series and gpt-5, reasoning sent back."""
OPENAI_RESPONSES_DROPPED: Final = Framing(
    step=3, user=3, result=-2, name=1, pair=-1, further=1, n=13
)
"""The same models, reasoning not sent back."""
OPENAI_RESPONSES_LATER: Final = Framing(
    step=4, user=3, result=5, name=1, pair=10, names=1, n=3
)

CLAUDE: Final = Framing(user=1, result=13, pair=57.5, further=29, empty=16, n=847)
CLAUDE_5: Final = Framing(user=1, result=20, pair=75, further=40, empty=16, n=0)
"""Claude 4.7 and later: the older constants scaled by the newer tokenizer's ratio."""

GEMINI: Final = Framing(user=3, result=9, name=1, pair=18, further=9, names=1, n=68)
GEMINI_PRO: Final = Framing(user=-15, result=9, name=1, pair=18, further=9, names=1, n=5)
"""Gemini 2.5 Pro: about 15 tokens of an answer are not charged again at a user turn (n=2)."""
GEMINI_2: Final = Framing(result=2, name=1, pair=4, further=2, names=1, leaves=1.0, n=8)
GEMINI_VERTEX: Final = Framing(
    user=2, result=3.5, name=1, pair=7, further=4, names=1, leaves=1.1, n=43
)
GEMINI_VERCEL: Final = Framing(user=2, result=1, pair=130, further=60, n=7)
"""Through Vercel's gateway two results cost about 130 tokens, whatever their text (n=4)."""
GEMINI_CHAT: Final = Framing(user=2, result=20, pair=40, further=20, n=3)

GROK_CHAT: Final = Framing(step=7, user=4, result=4, pair=9, further=6, n=14)
GROK_RESPONSES: Final = Framing(step=7, user=4, pair=7, further=7, n=6)
NOVA: Final = Framing(user=2, result=26, pair=40, further=20, n=8)
MISTRAL: Final = Framing(user=2, result=3, pair=5, further=3, n=4)
KIMI: Final = Framing(step=3, user=5, result=13, pair=32, further=16, n=8)
GLM: Final = Framing(user=1.5, result=3, pair=6, further=3, n=7)
SONAR: Final = Framing(result=5, pair=10, further=5, n=2)
DEEPSEEK: Final = Framing(user=5, result=12.5, pair=20, further=8, n=6)
DEEPSEEK_R1: Final = Framing(user=3.5, result=12.5, pair=20, further=8, n=2)
GPT_OSS: Final = Framing(step=3, user=6, result=9, pair=20, further=8, n=9)
QWEN: Final = Framing(step=3, user=6, result=8, pair=16, further=8, n=4)
COMMAND: Final = Framing(step=1, user=6, result=8, pair=16, further=8, n=2)
GENERIC: Final = Framing(step=2, user=4, result=7, pair=14, further=7, n=0)
"""The median of the families above."""

CLAUDE_ANSWER: Final = Answering(
    once=1.8, call=30.5, several=-17.5, parameter=15.3, unpacked=True, n=629
)
GPT_ANSWER: Final = Answering(call=7.5, several=16, n=95)
GPT_REASONING_ANSWER: Final = Answering(text=3, call=16, n=30)
GPT_LATER_ANSWER: Final = Answering(text=3, call=11, n=14)
GROK_ANSWER: Final = Answering(call=17, n=30)
NOVA_ANSWER: Final = Answering(call=8, n=34)
KIMI_ANSWER: Final = Answering(call=11, n=6)
GLM_ANSWER: Final = Answering(call=6, n=6)
GENERIC_ANSWER: Final = Answering(call=10, n=0)
"""Also for families without a row of their own."""
