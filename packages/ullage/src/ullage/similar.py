"""The known name that a mistyped one probably stands for, as the end of an error message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CLOSE = 0.65
"""``difflib``'s ratio above which a name is suggested: ``contxt`` has 0.92 with ``context``."""

TYPO = 0.8
"""The ratio above which a name must be mistyped and is no other library's: ``max_tokens`` has 0.64 with
``reattach_tokens``."""


def similar(typed: str, known: Iterable[str], *, cutoff: float = CLOSE) -> str:
    """The known name most like ``typed``, or the only one that begins so; empty where none is like it."""
    names = {name.lower(): name for name in known}
    lowered = typed.strip().lower()
    close = difflib.get_close_matches(lowered, names, n=1, cutoff=cutoff)
    if not close and len(lowered) > 1:
        longer = [name for name in names if name.startswith(lowered)]
        close = longer if len(longer) == 1 else []
    return names[close[0]] if close else ""


def did_you_mean(typed: str, known: Iterable[str], *, cutoff: float = CLOSE) -> str:
    """`` Did you mean 'context'?``, with a space before it; empty where no known name is like ``typed``."""
    name = similar(typed, known, cutoff=cutoff)
    return f" Did you mean {name!r}?" if name else ""
