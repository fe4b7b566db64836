"""The status line as text. Pure."""

from __future__ import annotations

from ullage_programs.facts import ClientLimit
from ullage_programs.line.policy import CELLS, LARGE_SHARE, WIDE_SHARE
from ullage_programs.line.settings import LineSettings
from ullage_programs.record import Record

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

GREEN = "\x1b[32m"
YELLOW = "\x1b[33m"
RED = "\x1b[31m"
PLAIN = "\x1b[0m"


class LineContent(Record):
    """What one line shows."""

    tokens: int | None
    """The next call's input; ``None`` while nothing tells it."""
    is_reported: bool
    window: int
    """0 where it is unknown."""
    threshold: ClientLimit | None
    largest: int = 0
    largest_name: str = ""
    cost: float = 0.0
    is_compacted: bool = False
    """Whether the context was compacted and no call was made since."""
    low: int = 0
    high: int = 0
    """The ends of its interval; 0 where none is known."""
    proven_high: int = 0
    """The tokens by which a compaction is due, where they are more."""
    said_by: str = ""
    """The program, where the number is what it says and its log does not hold it."""

    @property
    def end(self) -> int:
        """The tokens at which the program compacts or the window ends; 0 where neither is known."""
        if self.threshold is None or self.threshold.tokens is None:
            return self.window
        return self.threshold.tokens

    @property
    def compacts(self) -> bool:
        """Whether the program compacts there, before the provider refuses a request."""
        limit = self.threshold
        return limit is not None and limit.tokens not in (None, self.window)


def draw(content: LineContent, settings: LineSettings) -> str:
    """The line, without an end of line. Control characters from outside are left out."""
    made = {
        "bar": _bar(content, settings),
        "next": _next(content),
        "left": _left(content),
        "largest": _largest(content),
        "cost": _cost(content),
    }
    bar = ""
    others = []
    for item in settings.items:
        if item == "bar":
            bar = made[item]
        elif made[item]:
            others.append(made[item])
    separator = " - " if settings.ascii else " · "
    drawn = " ".join(part for part in (bar, separator.join(others)) if part)
    return drawn.replace("±", "+-") if settings.ascii else drawn


def amount(tokens: int) -> str:
    """Tokens in a few letters: 940, 1.2k, 154k, 1M."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 9_950:
        return f"{tokens / 1_000:.1f}k"
    if tokens < 999_500:
        return f"{tokens / 1_000:.0f}k"
    return f"{tokens / 1_000_000:.1f}M".replace(".0M", "M")


def grouped(tokens: int) -> str:
    """Tokens in full, with their thousands set apart: 154,000."""
    return f"{tokens:,}"


def interval(
    tokens: int, low: int, high: int, spell: Callable[[int], str] = grouped
) -> str:
    """An interval as ``± 140``, by its wider side; empty where the number is exact.

    As its ends, ``14 to 286``, where one side is less than half of the other or more than half of the number.
    """
    below, above = tokens - low, high - tokens
    wide, narrow = max(below, above), min(below, above)
    if wide == 0:
        return ""
    if wide <= max(1, 2 * narrow) and 2 * wide <= tokens:
        return f"± {spell(wide)}"
    return f"{spell(low)} to {spell(high)}"


def clean(words: str) -> str:
    """Text from outside for a terminal: without control characters, on one line."""
    return "".join(letter for letter in words if letter.isprintable()).strip()


def _share(content: LineContent) -> float:
    """How much of the way to compaction is used, or of the window where no threshold is known."""
    return (content.tokens or 0) / content.end if content.end else 0.0


def _bar(content: LineContent, settings: LineSettings) -> str:
    if not content.window or content.tokens is None:
        return ""
    full, empty, mark = "█", "░", "│"
    if settings.ascii:
        full, empty, mark = "#", ".", "|"
    filled = min(CELLS, round(CELLS * content.tokens / content.window))
    cells = full * filled + empty * (CELLS - filled)
    if content.compacts:
        at = min(CELLS - 1, CELLS * content.end // content.window)
        cells = cells[:at] + mark + cells[at + 1 :]
    if not settings.color:
        return cells
    color = GREEN
    if _share(content) >= settings.warn:
        color = YELLOW
    if _share(content) >= settings.alert:
        color = RED
    return color + cells + PLAIN


def _next(content: LineContent) -> str:
    if content.tokens is None:
        if content.is_compacted:
            return "compacted, size known at the next answer"
        return "size known at the first answer"
    about = "" if content.is_reported else "~"
    shown = f"next {about}{amount(content.tokens)}"
    if content.window:
        percent = round(100 * content.tokens / content.window)
        shown += f"/{amount(content.window)} ({percent} %)"
    if content.high - content.low > WIDE_SHARE * content.tokens:
        shown += f", {interval(content.tokens, content.low, content.high, amount)}"
    return f"{shown}, as {content.said_by} says" if content.said_by else shown


def _left(content: LineContent) -> str:
    limit = content.threshold
    if limit is None or not content.end or content.tokens is None:
        return ""
    name = "compaction" if content.compacts else "the end"
    is_known = limit.tokens is None or limit.source == "observed"
    about = "" if is_known else "~"
    left = content.end - max(content.tokens, content.proven_high)
    if left <= 0:
        return f"{name} is due{about}"
    return f"{amount(left)} to {name}{about}"


def _largest(content: LineContent) -> str:
    least = LARGE_SHARE * content.window
    if content.largest <= least or not content.largest:
        return ""
    name = clean(content.largest_name)
    return f"largest {name} {amount(content.largest)}".replace("  ", " ")


def _cost(content: LineContent) -> str:
    return f"${content.cost:.2f}" if content.cost else ""
