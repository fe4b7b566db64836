"""Colours and type of the picture: those of the page (``ullage_server/page/base.css``), in light and dark.

Shapes have their colour by a class, without variables of CSS: resvg and some viewers of SVG know none.
"""

from __future__ import annotations

from typing import Final, Literal

Scheme = Literal["auto", "light", "dark"]
"""``auto`` follows the reader's own: ``prefers-color-scheme``."""

COLOURS: Final = """\
paper #faf8f4 #181716
sunk #efeae0 #2a2826
ink #20241f #e9e5dd
dim #5f625b #a9a49a
line #ddd6c8 #3a3733
accent #8a2f3f #dd8f97
warn #8a5300 #dba75f
bad #a8231b #f48f84
bar #cfa3a6 #8a5a60
on #fffefc #171312
s0 #8a2f3f #c97a83
s1 #a8545c #e3adaf
s2 #3f5f7d #8fb0d0
s3 #6f5b86 #b9a3d3
s4 #3c6a4d #86b797
s5 #7a5a2a #d0ae78
s6 #8f5a1c #dba75f
s7 #2f6b70 #7fbcc0
s8 #5f6a2c #b3bf78
s9 #6b665c #b5aea2
"""
"""Each class with its colour in light and in dark. ``s0`` to ``s9`` are categories, ``on`` is text on them."""

SHADES: Final = "Tool results,Tool calls,Assistant,Reasoning,You,System prompt,Tools,Summary,Instruction files"
"""The categories of ``s0`` to ``s8``."""

TYPE: Final = """\
.ullage{font-family:-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans","Noto Sans","DejaVu Sans",\
sans-serif;font-size:12px;font-variant-numeric:tabular-nums lining-nums}
.ullage .serif{font-family:Charter,"Bitstream Charter","Iowan Old Style","Palatino Linotype",Georgia,\
"Liberation Serif","Noto Serif","DejaVu Serif",serif}
.ullage .strong{font-weight:600}.ullage .small{font-size:11px}.ullage .end{text-anchor:end}
.ullage .mid{text-anchor:middle}.ullage .veil{opacity:.3}.ullage .clear{opacity:0}.ullage text{unicode-bidi:isolate}
"""


def style(scheme: Scheme) -> str:
    """The style sheet in the colours of one scheme, or of both."""
    light = dark = ""
    for line in COLOURS.splitlines():
        name, bright, deep = line.split()
        rule = f".ullage .{name}{{{{fill:{{0}};color:{{0}}}}}}"
        light += rule.format(bright)
        dark += rule.format(deep)
    if scheme == "auto":
        return f"{TYPE}{light}@media (prefers-color-scheme:dark){{{dark}}}"
    return TYPE + (dark if scheme == "dark" else light)


def shade(category: str) -> str:
    """The class of a category's colour."""
    return f"s{[*SHADES.split(','), category].index(category)}"
