"""Weights of text by class: what one piece or token of a class costs in a vocabulary.

``o200k`` and ``cl100k`` were fitted to OpenAI's own tokenizers over 6,300 texts (code, prose, JSON, logs, listings,
CSV, hex and base64), and their letters of other scripts over 383 texts: translations of one program's messages into
30 languages.
``digits`` is o200k with every digit a token of its own, as Nova and Command write numbers, and in the place of the
vocabularies in ``DIGITS`` where no tokenizer is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Weights = Mapping[str, float]
"""Tokens by class; ``?`` is the class of whatever the table doesn't name."""

ENCODING: Final = {
    "cl100k": "cl100k_base",
    "deepseek": "deepseek_v3",
    "gemma": "gemma4",
    "glm": "glm4",
    "kimi": "kimi_k2",
    "llama": "llama3",
    "o200k": "o200k_base",
    "qwen": "qwen3",
    "tekken": "mistral_v3",
}
"""The tokenizer that counts a published vocabulary, by splintr's name."""

DIGITS: Final = ("digits", "gemma", "qwen", "tekken")
"""Vocabularies in which a digit is a token of its own."""


def _table(text: str, *, unknown: float) -> dict[str, float]:
    pairs = (pair.rsplit("=", 1) for pair in text.split())
    return {name: float(value) for name, value in pairs} | {"?": unknown}


_O200K: Final = _table(
    """
.M10=4.03 .M11=3.00 .M12=3.38 .M3=2.78 .M4=3.14 .M5=3.52 .M6=3.96 .M7=3.48 .M8=3.25 .M9=4.23 .U10=1.91 .U11=2.23
.U12=2.46 .U13=2.57 .U14=3.40 .U2=1.46 .U3=1.41 .U4=1.65 .U5=1.57 .U6=1.59 .U7=1.81 .U8=1.99 .U9=2.23 .X1=1.11
.X2=1.46 .X3=1.57 .X4=1.35 .X5=1.57 .X6=1.65 .X7=2.01 .X8=2.65 .q=2.52 .w1=1.13 .w10=2.08 .w11=2.09 .w12=2.67
.w13=2.95 .w14=3.00 .w15=3.80 .w16=4.56 .w2=1.12 .w3=1.62 .w4=1.20 .w5=1.01 .w6=1.69 .w7=1.48 .w8=1.81 .w9=2.00
M10=3.65 M11=4.25 M12=3.82 M3=2.14 M4=2.45 M5=2.88 M6=3.48 M7=3.90 M8=4.21 M9=4.20 U10=1.38 U11=1.35 U12=1.25
U13=1.59 U14=1.68 U2=1.29 U3=1.28 U4=1.05 U5=1.02 U6=0.93 U7=1.01 U8=1.13 U9=1.12 X1=1.12 X2=1.11 X3=1.44
X4=1.98 X5=2.09 X6=2.17 X7=2.17 X8=2.68 _M10=3.14 _M11=3.09 _M12=3.23 _M3=1.24 _M4=1.81 _M5=1.64 _M6=2.10
_M7=2.04 _M8=2.66 _M9=2.78 _U10=1.38 _U11=1.45 _U12=1.45 _U13=1.30 _U14=1.41 _U2=0.84 _U3=1.05 _U4=1.07 _U5=1.12
_U6=1.06 _U7=1.07 _U8=1.28 _U9=1.32 _X1=0.99 _X2=0.83 _X3=1.09 _X4=1.25 _X5=1.36 _X6=1.33 _X7=1.13 _X8=1.22
_p1=0.99 _p1n=0.83 _p2=1.01 _p2n=0.93 _p3=1.23 _p3n=1.04 _p4=1.71 _p4n=1.78 _p5=1.97 _p5n=2.23 _p6=2.91
_p6n=3.43 _q=1.32 _w1=1.03 _w10=1.08 _w11=1.20 _w12=1.26 _w13=1.21 _w14=1.31 _w15=1.61 _w16=2.64 _w2=0.98
_w3=0.96 _w4=0.94 _w5=1.05 _w6=0.96 _w7=1.09 _w8=1.03 _w9=1.12 d1=1.00 d2=1.00 d3=1.00 nA=0.97 nB=0.49 nC=0.18
nE=1.71 nH=0.55 nJ=0.50 nK=0.38 nL=0.17 nO=0.26 nP=0.99 nV=1.00 nI=0.26 nR=0.15 nT=0.34 nW=0.25 nX=2.83 nl1=1.00
nl2=1.01 nl3=1.00 nlw=1.05 p1=0.95 p1n=0.88 p2=1.04 p2n=0.83 p3=0.93 p3n=1.08 p4=1.69 p4n=1.50 p5=1.79 p5n=1.77
p6=3.31 p6n=3.64 pr=1.94 q=1.44 sp1=1.04 sp2=1.04 sp3=1.00 sp4=1.03 sp5=0.94 sp6=0.94 tab1=0.96 tab2=0.97
tab3=0.94 tab4=0.97 w1=1.03 w10=1.91 w11=1.46 w12=3.22 w13=2.15 w14=2.33 w15=2.89 w16=4.83 w2=1.13 w3=1.15
w4=1.18 w5=1.15 w6=1.17 w7=1.37 w8=1.44 w9=1.50
""",
    unknown=1.2,
)

_CL100K: Final = _table(
    """
.M10=4.23 .M11=2.92 .M12=3.41 .M3=2.87 .M4=3.21 .M5=3.63 .M6=4.06 .M7=3.52 .M8=3.32 .M9=4.29 .U10=1.98 .U11=2.23
.U12=2.41 .U13=2.60 .U14=3.88 .U2=1.49 .U3=1.41 .U4=1.61 .U5=1.48 .U6=1.58 .U7=1.81 .U8=2.01 .U9=2.24 .X1=1.07
.X2=1.37 .X3=1.49 .X4=1.28 .X5=1.49 .X6=1.54 .X7=1.86 .X8=2.45 .q=3.07 .w1=1.11 .w10=2.05 .w11=2.10 .w12=2.63
.w13=2.90 .w14=2.89 .w15=3.73 .w16=4.69 .w2=1.14 .w3=1.43 .w4=1.17 .w5=1.03 .w6=1.53 .w7=1.47 .w8=1.75 .w9=1.94
M10=3.67 M11=4.38 M12=4.03 M3=2.23 M4=2.59 M5=3.01 M6=3.63 M7=4.08 M8=4.37 M9=4.39 U10=1.51 U11=1.42 U12=1.36
U13=1.77 U14=1.74 U2=1.47 U3=1.25 U4=1.06 U5=0.96 U6=0.93 U7=1.05 U8=1.18 U9=1.18 X1=1.15 X2=1.16 X3=1.50
X4=2.01 X5=2.09 X6=2.18 X7=2.12 X8=2.60 _M10=3.15 _M11=3.82 _M12=3.47 _M3=1.25 _M4=1.82 _M5=1.64 _M6=2.15
_M7=1.94 _M8=2.67 _M9=2.88 _U10=1.41 _U11=1.48 _U12=1.49 _U13=1.33 _U14=1.44 _U2=0.80 _U3=1.05 _U4=1.07 _U5=1.14
_U6=1.07 _U7=1.13 _U8=1.28 _U9=1.34 _X1=1.01 _X2=0.82 _X3=1.09 _X4=1.23 _X5=1.18 _X6=1.29 _X7=1.11 _X8=1.20
_p1=0.99 _p1n=0.84 _p2=1.04 _p2n=0.95 _p3=1.18 _p3n=1.03 _p4=1.73 _p4n=1.72 _p5=2.14 _p5n=2.10 _p6=2.87
_p6n=3.39 _q=2.09 _w1=1.02 _w10=1.10 _w11=1.22 _w12=1.25 _w13=1.21 _w14=1.32 _w15=1.67 _w16=2.87 _w2=0.96
_w3=1.00 _w4=0.92 _w5=1.08 _w6=0.93 _w7=1.08 _w8=1.03 _w9=1.13 d1=1.00 d2=1.00 d3=1.00 nA=0.94 nB=0.43 nC=0.39
nE=2.42 nH=0.87 nJ=0.82 nK=0.77 nL=0.50 nO=0.90 nP=0.99 nV=1.00 nI=1.30 nR=0.68 nT=1.33 nW=1.31 nX=2.88 nl1=1.00
nl2=1.02 nl3=1.01 nlw=1.04 p1=0.96 p1n=0.89 p2=1.04 p2n=0.85 p3=0.86 p3n=1.05 p4=1.52 p4n=1.42 p5=1.80 p5n=1.70
p6=3.38 p6n=3.58 pr=1.97 q=2.13 sp1=1.09 sp2=1.02 sp3=0.96 sp4=1.01 sp5=0.92 sp6=0.93 tab1=0.92 tab2=0.96
tab3=0.94 tab4=0.96 w1=1.01 w10=1.93 w11=1.47 w12=3.25 w13=2.20 w14=2.42 w15=2.89 w16=4.79 w2=1.20 w3=1.12
w4=1.14 w5=1.15 w6=1.15 w7=1.46 w8=1.43 w9=1.46
""",
    unknown=1.3,
)

_DIGITS: Final = {"d1": 1.0, "d2": 2.0, "d3": 3.0}

_GEMMA: Final = (
    _DIGITS
    | {name: 1 + _O200K["_" + name[1:]] for name in _O200K if name[0] == "."}
    | {"p1n": 2.2, "p2n": 1.5, "_p1n": 1.5}
)
"""A sign in front of a word, or at the end of a line, is a token of its own: without, 1,500 recorded texts were counted
9 % too low."""

PRETOKEN: Final[Mapping[str, Weights]] = (
    dict.fromkeys(ENCODING, _O200K)
    | dict.fromkeys(DIGITS, _O200K | _DIGITS)
    | {"cl100k": _CL100K, "gemma": _O200K | _GEMMA}
)
"""By vocabulary, over the classes of ``pretoken.classify``."""
