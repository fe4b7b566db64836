"""Draw the house: the distributions with their floors, from the tables that are checked.

uv run python -m scripts.house_picture            writes docs/images/house.svg
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final, NamedTuple

from scripts.house.layers import FLOORS, PURE, distributions
from scripts.repository import ROOT

WIDTH: Final = 880
MARGIN: Final = 20
LINE: Final = 20
PALE: Final = "#f4f1ea"
CORE: Final = "#dfe9dc"
INK: Final = "#2b2b2b"

ROWS: Final = (
    ("ullage-cluster",),
    ("ullage-server", "ullage-proxy"),
    ("ullage-agent", "ullage-simulators"),
    ("ullage",),
)
"""The distributions from the roof down: each stands on those below it that it depends on."""

ABOUT: Final[Mapping[str, str]] = {
    "ullage-cluster": "PostgreSQL, workers, Restate, tenants",
    "ullage-server": "HTTP and the page",
    "ullage-proxy": "a relay that meters",
    "ullage-agent": "the loop, tools, sessions, chat",
    "ullage-simulators": "strict providers; shares nothing",
    "ullage": "accounting, codecs, compaction, programs' logs, plug-ins, the ledger",
}


class Box(NamedTuple):
    """A distribution's place in the picture."""

    x: float
    y: float
    width: float
    height: float


def floors_of(name: str) -> list[list[str]]:
    """The floors of a distribution from the roof down; none where it has no table."""
    table = FLOORS.get(name.replace("-", "_"), ())
    left_out = {"__main__", "compaction"}
    rows = [[each for each in floor if each not in left_out] for floor in reversed(table)]
    return [row for row in rows if row]


def boxes() -> dict[str, Box]:
    """Where each distribution stands."""
    found = {}
    y = float(MARGIN)
    for row in ROWS:
        height = max(3 * LINE + len(floors_of(name)) * (LINE + 4) for name in row)
        width = (WIDTH - 2 * MARGIN - (len(row) - 1) * MARGIN) / len(row)
        for place, name in enumerate(row):
            found[name] = Box(MARGIN + place * (width + MARGIN), y, width, height)
        y += height + MARGIN
    return found


def drawn() -> str:
    """The picture as SVG."""
    places = boxes()
    height = max(box.y + box.height for box in places.values()) + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="{INK}">',
        "<title>The distributions of Ullage, each on those that it depends on</title>",
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>',
    ]
    for name, box in places.items():
        lines += _distribution(name, box)
    return "\n".join([*lines, "</svg>", ""])


def _distribution(name: str, box: Box) -> Iterator[str]:
    needs = sorted(
        each.replace("_", "-")
        for each in distributions()[name].may_import
        if each in distributions()
    )
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="6" fill="{PALE}" '
        f'stroke="{INK}"/>'
    )
    yield _text(box.x + 12, box.y + 20, name, "font-weight='bold'")
    yield _text(box.x + 12, box.y + 38, ABOUT[name])
    stands = f"on {', '.join(needs)}" if needs else "on nothing of ours"
    yield _text(
        box.x + box.width - 12,
        box.y + 20,
        stands,
        "text-anchor='end' font-size='11'",
    )
    for place, row in enumerate(floors_of(name)):
        y = box.y + 48 + place * (LINE + 4)
        width = (box.width - 24 - 6 * (len(row) - 1)) / len(row)
        for column, each in enumerate(row):
            x = box.x + 12 + column * (width + 6)
            is_pure = f"{name.replace('-', '_')}/{each}" in PURE
            fill = CORE if is_pure else "white"
            yield (
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE}" rx="3" fill="{fill}" '
                f'stroke="#999"/>'
            )
            yield _text(
                x + width / 2, y + 14, each, "text-anchor='middle' font-size='12'"
            )


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def main() -> int:
    (ROOT / "docs" / "images" / "house.svg").write_text(drawn(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
