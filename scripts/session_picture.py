"""Draws a session as two lines, what was estimated before each call and what the provider billed, with the interval.

uv run python -m scripts.session_picture LOG [PICTURE]

PICTURE is ``docs/images/session.svg`` unless said otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ullage.cli.session import metered, read_session
from ullage.display.text import number
from ullage.meter.meter import Meter
from ullage.meter.track import Step

ROOT: Final = Path(__file__).parents[1]
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 880, 330, 70, 46, 40
COLOURS: Final = {"estimate": "#b0562b", "bill": "#9db4c8", "interval": "#ecd9cc"}


def picture(steps: Sequence[Step], title: str) -> str:
    """The calls with a bill, from left to right."""
    most = max(max(step.high, step.actual or 0) for step in steps)
    unit = next(
        each for each in (5_000, 10_000, 25_000, 50_000, 250_000) if most <= 5 * each
    )

    def x(place: int) -> float:
        return LEFT + (WIDTH - LEFT - 20) * place / max(1, len(steps) - 1)

    def y(tokens: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * tokens / most

    def points(value: Callable[[Step], int]) -> list[str]:
        return [
            f"{x(place):.1f},{y(value(step)):.1f}" for place, step in enumerate(steps)
        ]

    style = 'font-family="system-ui, sans-serif" font-size="13"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style} fill="#2b2b2b">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="20" y="24" font-weight="600">{title}</text>',
    ]
    for tokens in range(0, most + 1, unit):
        lines.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y(tokens):.1f}" y2="{y(tokens):.1f}" stroke="#dddddd"/>'
            f'<text x="{LEFT - 8}" y="{y(tokens) + 4:.1f}" text-anchor="end">{number(tokens)}</text>'
        )
    band = points(lambda step: step.high) + points(lambda step: step.low)[::-1]
    lines.append(f'<polygon points="{" ".join(band)}" fill="{COLOURS["interval"]}"/>')
    for name, value, width in (
        ("bill", lambda step: step.actual or 0, 4),
        ("estimate", lambda step: step.estimated, 1.5),
    ):
        shown = " ".join(points(value))
        lines.append(
            f'<polyline points="{shown}" fill="none" stroke="{COLOURS[name]}" stroke-width="{width}"/>'
        )
    for place, step in enumerate(steps):
        if "compaction" in step.marks:
            lines.append(
                f'<line x1="{x(place):.1f}" x2="{x(place):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#2b2b2b"'
                f' stroke-dasharray="3 4"/><text x="{x(place) + 5:.1f}" y="{TOP + 10}">compaction</text>'
            )
    for place, (name, colour) in enumerate(COLOURS.items()):
        left = LEFT + 110 * place
        lines.append(
            f'<rect x="{left}" y="{HEIGHT - 20}" width="22" height="8" fill="{colour}"/>'
            f'<text x="{left + 28}" y="{HEIGHT - 12}">{name}</text>'
        )
    lines.append(
        f'<text x="{WIDTH - 20}" y="{HEIGHT - 12}" text-anchor="end">{len(steps)} calls</text>'
    )
    return "\n".join([*lines, "</svg>\n"])


def main(log: Path, to: Path) -> None:
    """Draw one log."""
    meter = metered(read_session(log), Meter()).meter
    steps = [step for step in meter.steps if step.actual is not None]
    program = meter.state.program or log.name
    to.write_text(picture(steps, f"{program}: tokens of each call"), encoding="utf-8")


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        Path(sys.argv[2] if sys.argv[2:] else ROOT / "docs" / "images" / "session.svg"),
    )
