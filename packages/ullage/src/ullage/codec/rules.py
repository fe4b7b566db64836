"""The rules of a wire as values: what its requests must keep, which parameters they take, what its answers report.

Each wire fills these in its ``rules.py``. The code that applies them knows no wire or provider by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Legal:
    """Which names a wire accepts: their characters, and the longest and shortest length."""

    pattern: re.Pattern[str]
    longest: int
    shortest: int = 1

    def allows(self, name: str) -> bool:
        return (
            self.shortest <= len(name) <= self.longest
            and self.pattern.fullmatch(name) is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The rules for one request.

    ``call_ids`` and ``tool_names`` are the accepted ones; ``empty_ids`` allows a call without an id.
    ``blank_text`` is whether text of white space alone is taken. ``user_first``, ``user_last`` and ``alternates`` ask
    for user messages at the begin, at the end and between two answers; ``answer_after_tools`` for an answer between a
    tool's result and a user message, ``answer_after_user`` for one between two user
    messages; ``space_at_end`` is whether an answer that is to be continued may end with white
    space. ``signed_thinking`` refuses thinking without its signature, ``sealed_reasoning``
    reasoning without its encrypted content; ``reasoning_last`` is whether an answer may end with reasoning,
    ``item_ids`` whether items are named and refused without the reasoning before them. ``signed_calls`` asks for a
    signature on the first call of each step, ``every_reasoning`` for reasoning in each answer,
    ``thinking_from_begin`` for thinking in the first answer of a tool loop, ``named_reasoning`` for the name of the
    field that reasoning came in. ``signed_text`` is whether an empty text may carry a signature.
    ``system_messages`` is whether a system message may stand behind a user message, before an answer or at the end.
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
    answer_after_user: bool = False
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
    system_messages: bool = False


PLAIN_CHARACTERS: Final = re.compile(r"[a-zA-Z0-9_-]+")
_PRINTABLE: Final = re.compile(r"[!-~]+")

LENIENT_IDS: Final = Legal(_PRINTABLE, 64)
"""Servers that hand out ids such as Kimi's ``functions.read:0`` and want them back."""

OPENAI_NAMES: Final = Legal(PLAIN_CHARACTERS, 64)
"""https://platform.openai.com/docs/api-reference/chat/create, ``tools[].function.name``."""

FieldTree = Mapping[str, "FieldTree | None"]
"""Names of fields; behind each the fields that an object there may have, ``None`` for a value of any shape."""


class WireParams(NamedTuple):
    """Which fields of a request body ``params`` may set on one wire. ``source`` documents the fields.

    ``owned`` fields are written by the encoder from the session, and no setting replaces them: the conversation, the
    tools, the model, what the provider stores. ``open`` fields shape the answer and nothing else, so that a project, a
    caller or a session may set them. Every other field is the operator's: it may attach servers, keep data on the
    provider's side, or cost extra.
    """

    owned: frozenset[str]
    open: FieldTree
    source: str

    def owned_in(self, params: Mapping[str, object]) -> tuple[str, ...]:
        """The names in ``params`` of fields that the encoder writes itself.

        Some servers read names without regard to case or underscores, so neither makes another field of one.
        """
        if not params:
            return ()
        owned = frozenset(map(_folded, self.owned))
        return tuple(name for name in params if _folded(name) in owned)

    def unowned(self, params: Mapping[str, object]) -> Mapping[str, object]:
        """``params`` without the encoder's own fields; the same mapping where there are none."""
        owned = self.owned_in(params)
        return (
            {name: value for name, value in params.items() if name not in owned}
            if owned
            else params
        )


def fields(*names: str) -> dict[str, FieldTree | None]:
    """Fields that take a value of any shape."""
    return dict.fromkeys(names)


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


Path = tuple[str, ...]

CacheIs = Literal["inside", "outside"]
"""Whether the input field already includes cache reads and writes."""
ReasoningIs = Literal["inside", "outside", "detect", "remainder"]
"""Whether the output field already includes reasoning.

``detect`` reads it from the object: outside when total = input + output + reasoning, or when reasoning > output; inside
otherwise. ``remainder``: reasoning is not reported at all, but is in the total: what the total holds beyond input and
output is reasoning.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One way of reporting usage.

    A field is a tuple of alternatives, the first one present counts; ``a.b`` is a nested field. ``source`` is the
    public page that the convention was checked against; ``n`` is the number of recorded calls it was tried on.
    """

    name: str
    source: str
    input: Path
    output: Path
    total: Path = ()
    cache_read: Path = ()
    cache_write: Path = ()
    reasoning: Path = ()
    more_input: Path = ()
    """Prompt tokens reported in a field of their own, to be added to the input."""
    passing_input: Path = ()
    """The same, where they are gone from the window after the call."""
    cache: CacheIs = "inside"
    thinking: ReasoningIs = "inside"
    """Whether the counts of input and of output have these in them, as they mostly do."""
    omits_zero: bool = False
    """True when a field that is zero is left out of the object (protobuf JSON)."""
    more_cache_write: Path = ()
    """Cache writes reported in fields of their own, to be added to ``cache_write``."""
    cache_write_parts: str = ""
    """The field that holds cache writes by their lifetime; they are added where their sum is left out."""
    passes: str = ""
    """The field that lists several passes inside one call, each with a usage of its own."""
    begins_with_placeholder: bool = False
    """True when the output of a stream's first report is not a count."""
    n: int = 0


class Wording(NamedTuple):
    """How a server says that a request is too long: a pattern, and a page that quotes it.

    ``in_bytes``: what was too long is the body, not the tokens. ``in_images``: there were too many of them, and of
    files where they are counted with them; ``{most}`` is how many are taken, of either, and ``most`` the same where the
    wording does not say it. ``input_alone``: the limit it names is not the window but the most that may be sent,
    without the output.
    """

    pattern: str
    source: str
    in_bytes: bool = False
    in_images: bool = False
    input_alone: bool = False
    most: int | None = None


def wordings(sources: Mapping[str, str], **about: Any) -> tuple[Wording, ...]:
    """Wordings that are about the same, each with its source, a place on GitHub."""
    rows: list[Wording] = []
    for pattern, source in sources.items():
        rows.append(Wording(pattern, f"https://github.com/{source}", **about))
    return tuple(rows)
