"""Sizes of the picture. Lengths are pixels at the size it is drawn for."""

from typing import Final

LETTER: Final = 7.0
"""Width of a letter of 12 pixels: DejaVu Sans, the widest of the usual fonts, has 6.4 to 7.2 in running text."""

LONGEST: Final = 160
"""Letters of a name from a log."""

MOST_TILES: Final = 16
"""Names of a category that have a tile of their own."""

NARROWEST_BAR: Final = 5
WIDEST_BAR: Final = 28
"""Width of a bar of the growth with its gap. Calls that have no room share the bar of their neighbours."""

FAR_THRESHOLD: Final = 3
"""Times the largest call beyond which the growth leaves out the threshold, which the gauge shows."""

MOST_ROWS: Final = 1_000
"""Rows of a table: 250 bytes each."""
