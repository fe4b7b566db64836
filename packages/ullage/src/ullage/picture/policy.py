"""Sizes of the picture. Lengths are pixels at the size it is drawn for."""

from typing import Final

CARD: Final = (1000, 620)
"""Width and height of the card: the width of a README on GitHub is 830 to 1,012."""

MARGIN: Final = 28
GAP: Final = 24
GAUGE_HEIGHT: Final = 52
GROWTH_LEFT: Final = 44
GROWTH_TOP: Final = 40
GROWTH_BOTTOM: Final = 34
PAGE: Final = 1064
"""Width of the drawings of a page; below ``NARROW_BELOW`` they are drawn for ``PHONE``."""

PHONE: Final = 400
NARROW_BELOW: Final = 720

LETTER: Final = 0.56
"""Width of a letter in font sizes: DejaVu Sans, the widest of the usual fonts, has 0.53 to 0.6 in running text."""

MOST_TILES: Final = 36
"""Items of the map that have a tile of their own."""

TILE_TEXT: Final = 34
"""Width from which on a tile has its name."""

MOST_BARS: Final = 150
"""Bars of the growth: of more calls, neighbours share one."""

NARROWEST_BAR: Final = 4.0
WIDEST_BAR: Final = 28.0

FAR_THRESHOLD: Final = 3.0
"""Times the largest call beyond which the threshold is written above the growth and not drawn in it."""

MOST_LINES: Final = 5
"""Lines of grid in the growth."""

MOST_CALLS: Final = 1_000
"""Rows of the table of calls, the newest: 180 bytes each."""

MOST_ROWS: Final = 100
"""Rows of the other tables."""

LONGEST_NAME: Final = 160
"""Characters of a name or title from a log."""

PIXELS: Final = 2
"""Pixels of a PNG for each of the card, so that it is sharp on today's screens."""
