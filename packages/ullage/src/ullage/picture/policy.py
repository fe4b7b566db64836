"""Sizes of the picture. Lengths are pixels at the size it is drawn for."""

from typing import Final

CARD: Final = 1000
"""Width of the card: GitHub shows a README 830 to 1,012 wide."""

PAGE: Final = 1064
PHONE: Final = 400
"""Widths that the drawings of a page are made for; ``html.LAYOUT`` chooses by the width of the window."""

LETTER: Final = 0.56
"""Width of a letter in font sizes: DejaVu Sans, the widest of the usual fonts, has 0.53 to 0.6 in running text."""

MOST_TILES: Final = 36
"""Items of the map that have a tile of their own."""

NARROWEST_BAR: Final = 5
WIDEST_BAR: Final = 28
"""Width of a bar of the growth with its gap. Calls that have no room share the bar of their neighbours."""

FAR_THRESHOLD: Final = 3
"""Times the largest call beyond which the threshold is written above the growth and not drawn in it."""

MOST_ROWS: Final = 1_000
"""Rows of a table, the newest: 250 bytes each."""

LONGEST: Final = 160
"""Characters of a name from a log."""

ZOOM: Final = 2
"""Pixels of a PNG for each of the card, so that it is sharp on today's screens."""
