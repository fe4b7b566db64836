"""An item of the window and how long it was there; a model call and what it held."""

from __future__ import annotations

from typing import Literal

import msgspec

from ullage.advice.cause import Cause
from ullage.events import Outcome, Purpose

WhyLeft = Literal["", "compaction", "pruning", "rewind", "edit"]
"""Why an item is no longer sent. ``edit``: it was replaced by other content, such as a changed tool."""


class ItemLife(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item: what it costs in each request that holds it, and which requests do.

    ``category`` is the name of its row in a ``Reading``, without the number of items that some rows name.
    """

    part: str
    """The id of the part; for what is in no message, the name of the block or tool. Not unique: a result and the
    notice that took its place have the same."""
    message: str = ""
    category: str
    label: str = ""
    """What it is, in a few words: ``Read src/app.py``."""
    tokens: int = 0
    low: int = 0
    high: int = 0
    first_call: int
    """The number of the main call whose request was the first to hold it; ``next_call`` where none has yet."""
    last_call: int | None = None
    """The number of the last main call whose request held it; ``None`` while the next request holds it too."""
    why_left: WhyLeft = ""
    tool: str = ""
    server: str = ""
    """The MCP server of the tool."""
    path: str = ""
    """The file that the tool was called for."""
    oversize: float = 0.0
    """The share of an MCP server's result that its pictures have beyond ``policy.SMALL_PICTURE``."""
    is_summed: bool = True
    """False for what is not part of the total, such as tools that are loaded on demand."""

    def is_held_at(self, number: int) -> bool:
        """Whether the request of main call ``number`` held it."""
        is_gone = self.last_call is not None and self.last_call < number
        return self.first_call <= number and not is_gone


class CallRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model call.

    Main calls are numbered from 1 in the order they began. Any other call has the number of the main call before it.
    """

    number: int
    call: str = ""
    at: float = 0
    purpose: Purpose = "main"
    outcome: Outcome = "finished"
    model: str = ""
    used: int = 0
    """Tokens of its input: as reported, else as estimated."""
    cached: int | None = None
    """Tokens of the input that were read from the provider's cache; ``None`` is unknown."""
    written: int | None = None
    """Tokens of the input that were written to the cache."""
    hour_written: int = 0
    """Of these, the tokens that are kept for an hour."""
    output: int | None = None
    usd: float | None = None
    """At list prices; ``None`` where no price is known."""
    new_price: float | None = None
    """US dollars for a million tokens that this call was the first to send; ``None`` where no price is known."""
    old_price: float | None = None
    """The same of what earlier calls had sent as well: the part that was read from the cache at its price."""
    read_price: float | None = None
    """The same of what is read from the cache."""
    marks: tuple[str, ...] = ()
    """What happened since the main call before: ``compaction``, ``prune``, ``rewind``, ``model``, ``uncompact``,
    ``system`` and ``tools`` for changes of these, ``edit`` for a replaced message."""
    cause: Cause | None = None
    """Why it paid again for what an earlier call had sent; ``None`` where it did not."""
