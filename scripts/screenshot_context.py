"""Draws the picture of ``ullage context`` that the documentation shows.

    uv run python -m scripts.screenshot_context [LOG] [PICTURE]

LOG is ``examples/session.jsonl`` and PICTURE ``docs/images/context.svg`` unless said otherwise. The picture holds the
same lines that a terminal of 100 columns gets.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.terminal_pictures import svg, write
from ullage.cli.context import subject_of
from ullage.cli.drawing import draw
from ullage.cli.session import metered, read_session
from ullage.display.styles import rich_text
from ullage.meter.meter import Meter

ROOT = Path(__file__).parents[1]
WIDTH = 100


def picture(log: Path) -> str:
    """The reading of a log as an SVG picture, without anything of the machine it was drawn on."""
    session = metered(read_session(log), Meter(estimator="pretoken"))
    lines = map(rich_text, draw(subject_of(session), WIDTH))
    return svg(lines, f"ullage context {log.name}", WIDTH, "ullage-context")


if __name__ == "__main__":
    given = sys.argv[1:2] or [str(ROOT / "examples" / "session.jsonl")]
    write("context.svg", picture(Path(given[0])), sys.argv[2:])
