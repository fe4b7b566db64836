"""What is known of providers and single models, as tables beside this file, each row with its source.

A row is an object on a line. In tables of models it names those that it holds for by a regular expression, and the
first that fits is taken; ``n`` is the number of recorded requests or pairs of calls that it was measured on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def facts(name: str, rows: msgspec.json.Decoder[T]) -> T:
    """The rows of the table ``name.json``. Its decoder is made at import (docs/why/index.md#types-and-events)."""
    return rows.decode(Path(__file__).with_name(f"{name}.json").read_bytes())
