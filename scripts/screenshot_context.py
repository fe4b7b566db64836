"""Draws the picture of ``ullage context`` that the documentation shows.

    uv run python scripts/screenshot_context.py [LOG] [PICTURE]

LOG is ``examples/session.jsonl`` and PICTURE ``docs/images/context.svg`` unless said otherwise. The picture holds the
same lines that a terminal of 100 columns gets.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from rich.console import Console

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
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
    )
    for line in draw(subject_of(session), WIDTH):
        console.print(rich_text(line), soft_wrap=True)
    return console.export_svg(
        title=f"ullage context {log.name}", unique_id="ullage-context"
    )


def main(arguments: list[str]) -> None:
    """Write the picture."""
    log = Path(arguments[0]) if arguments else ROOT / "examples" / "session.jsonl"
    out = (
        Path(arguments[1])
        if len(arguments) > 1
        else ROOT / "docs" / "images" / "context.svg"
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(picture(log), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
