"""Which models bind reasoning to the conversation in front of it, and whose reasoning a Claude model reads.

A bound piece of reasoning is of use as long as its *prefix* is what it was when the model wrote it: the system prompt,
the tools that are not deferred, and all messages before it. Behind a changed prefix the provider refuses the request,
or leaves the reasoning out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from ullage.models.providers import provider_named


class Binding(NamedTuple):
    """How the models of one name hold reasoning to its prefix."""

    model: str
    """A regular expression."""
    wire: str
    refuses: bool
    """Whether a request with reasoning behind a changed prefix is refused; otherwise the provider leaves it out."""
    has_system: bool
    """Whether the system prompt is part of the prefix."""
    source: str


_CLAUDE: Final = "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks"

BINDINGS: Final[tuple[Binding, ...]] = (
    # Fable and Mythos 5.2 for every account (https://platform.claude.com/docs/en/models/fable-5-2/whats-new-fable-5-2),
    # the others for accounts from 31 August 2026 on: an older account loses nothing by what a new one has to do.
    Binding(
        r"claude-(fable|mythos)-5[-.][1-9]|claude-(opus|sonnet|haiku)-5[-.]5",
        "messages",
        refuses=True,
        has_system=True,
        source=_CLAUDE,
    ),
    # Instructions are rendered behind the input there.
    Binding(
        r"gpt-6[-.][2-9]",
        "responses",
        refuses=False,
        has_system=False,
        source="https://developers.openai.com/api/docs/guides/keep-prefix-unchanged",
    ),
)

LEARNT: Final = Binding("", "", refuses=True, has_system=True, source=_CLAUDE)
"""A model that no row names, and that has refused such a request."""


@lru_cache(maxsize=512)
def binding_of(wire: str, model: str) -> Binding | None:
    """How this model binds reasoning; ``None`` where it is not known to."""
    name = model.lower()
    for row in BINDINGS:
        if row.wire == wire and re.search(row.model, name):
            return row
    return None


def takes_claude_fields(provider: str) -> bool:
    """Whether Claude has all of its API at this provider, or at one that is not named."""
    return not provider or provider_named(provider).is_whole_claude


WITH_REFERENCES: Final = frozenset({"messages"})
"""Wires on which a result may refer to deferred tools, and so load them."""

SYSTEM_MESSAGES: Final = re.compile(
    r"(fable|mythos)-5|opus-(4[-.]8|5)|(sonnet|haiku)-5[-.]5"
)
"""Claude models that take messages of the role ``system`` behind the first one
(https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages): all that bind reasoning."""


class _Reads(NamedTuple):
    """Models whose thinking these models read or drop. The first row that fits both decides."""

    made_by: str
    asked: str
    is_read: bool


_READS: Final[tuple[_Reads, ...]] = (
    # https://platform.claude.com/docs/en/models/fable-5-2/whats-new-fable-5-2
    _Reads(r"(fable|mythos)-5[-.][2-9]", r"(fable|mythos)-5[-.][2-9]", True),
    _Reads(r"(fable|mythos)-5[-.][2-9]", "", False),
    # https://platform.claude.com/docs/en/build-with-claude/preserved-thinking#switching-models. The rows on Haiku:
    # https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-block-binding.html
    _Reads("", r"haiku-5[-.]5", False),
    _Reads(r"haiku-5[-.]5", "", True),
    _Reads("fable|mythos", r"opus-5[-.]5", False),
    _Reads("", r"(fable|mythos)-5[-.][1-9]", True),
    _Reads(r"(fable|mythos)-5[-.][1-9]|(opus|sonnet)-5[-.]5", "", False),
)


@lru_cache(maxsize=512)
def reads_thinking(made_by: str, asked: str) -> bool:
    """Whether a Claude model reads the thinking of another one, which it is sent; what it can't read it drops."""
    if not made_by or not asked or made_by == asked:
        return True
    for row in _READS:
        if re.search(row.made_by, made_by) and re.search(row.asked, asked):
            return row.is_read
    return True
