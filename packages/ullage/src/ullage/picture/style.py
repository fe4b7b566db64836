"""Colours and type of the picture: those of the page (``ullage_server/page/base.css``), in light and dark.

Rules are written out for each scheme, without variables of CSS: resvg and some viewers of SVG know none.
"""

from __future__ import annotations

from string import Template
from typing import Final, Literal

Scheme = Literal["auto", "light", "dark"]
"""``auto`` follows the reader's own: ``prefers-color-scheme``."""

LIGHT: Final = {
    "paper": "#faf8f4", "raised": "#fffefc", "sunk": "#efeae0", "ink": "#20241f", "dim": "#5f625b", "line": "#ddd6c8",
    "accent": "#8a2f3f", "warn": "#8a5300", "bad": "#a8231b", "bar": "#cfa3a6", "on": "#fffefc",
    "s0": "#8a2f3f", "s1": "#a8545c", "s2": "#3f5f7d", "s3": "#6f5b86", "s4": "#3c6a4d", "s5": "#7a5a2a",
    "s6": "#8f5a1c", "s7": "#2f6b70", "s8": "#5f6a2c", "s9": "#6b665c",
}  # fmt: skip
DARK: Final = {
    "paper": "#181716", "raised": "#201f1d", "sunk": "#2a2826", "ink": "#e9e5dd", "dim": "#a9a49a", "line": "#3a3733",
    "accent": "#dd8f97", "warn": "#dba75f", "bad": "#f48f84", "bar": "#7d4d53", "on": "#171312",
    "s0": "#dd8f97", "s1": "#eab3b4", "s2": "#8fb0d0", "s3": "#b9a3d3", "s4": "#86b797", "s5": "#d0ae78",
    "s6": "#dba75f", "s7": "#7fbcc0", "s8": "#b3bf78", "s9": "#b5aea2",
}  # fmt: skip

FONTS: Final = """\
.ullage{font-family:-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans","Noto Sans","DejaVu Sans",\
sans-serif;font-variant-numeric:tabular-nums lining-nums}
.ullage .serif{font-family:Charter,"Bitstream Charter","Iowan Old Style","Palatino Linotype",Georgia,\
"Liberation Serif","Noto Serif","DejaVu Serif",serif}
.ullage .strong{font-weight:600}
.ullage text{unicode-bidi:isolate}
"""

COLOURS: Final = Template("""\
.ullage .paper{fill:$paper}.ullage .sunk{fill:$sunk}.ullage .ink{fill:$ink}.ullage .dim{fill:$dim}
.ullage .accent{fill:$accent}.ullage .warn{fill:$warn}.ullage .bad{fill:$bad}.ullage .bar{fill:$bar}
.ullage .on{fill:$on}.ullage .rule{fill:none;stroke:$line}.ullage .point{fill:none;stroke:$ink}
.ullage .edge{stroke:$paper}.ullage .hollow{fill:$paper;stroke:$ink}.ullage .line{fill:$line}
.ullage .interval{fill:$ink;opacity:.28}.ullage .tick{fill:none;stroke:$ink;stroke-width:1.5}
.ullage .hit{fill:$paper;opacity:0}
.ullage .s0{fill:$s0}.ullage .s1{fill:$s1}.ullage .s2{fill:$s2}.ullage .s3{fill:$s3}.ullage .s4{fill:$s4}
.ullage .s5{fill:$s5}.ullage .s6{fill:$s6}.ullage .s7{fill:$s7}.ullage .s8{fill:$s8}.ullage .s9{fill:$s9}
""")


def rules(scheme: Scheme, colours: Template = COLOURS) -> str:
    """A style sheet in the colours of one scheme, or of both."""
    if scheme == "dark":
        return colours.substitute(DARK)
    light = colours.substitute(LIGHT)
    if scheme == "light":
        return light
    dark = colours.substitute(DARK)
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"
