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

    ``text`` once for an answer with text, ``calling`` once for one with tool calls and ``several`` for two or more,
    ``call`` per tool call, ``parameter`` per argument. With ``unpacked`` the arguments are counted as values, not as
    JSON, since the model writes them so.
    """

    once: float = 0.0
    text: float = 0.0
    calling: float = 0.0
    call: float = 0.0
    several: float = 0.0
    parameter: float = 0.0
    unpacked: bool = False
    n: int = 0


NOTHING: Final = Framing()
BARE: Final = Answering()

GENERIC: Final = Framing(step=2, user=4, result=7, pair=14, further=7, n=0)
GENERIC_ANSWER: Final = Answering(call=10, n=0)
"""The medians of the families that were measured (``models/families.json``)."""
