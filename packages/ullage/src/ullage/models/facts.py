"""What is known of single models, as tables beside this file: limits, framings and templates, each row with its source.

A row is an object of one line, which names the models that it holds for by a regular expression. The first that fits is
taken. ``n`` is the number of recorded requests or pairs of calls that a row was measured on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def facts(name: str, kind: type[T]) -> list[T]:
    """The rows of the table ``name.json``. A field that ``kind`` does not have is an error, but for ``note``."""
    path = Path(__file__).with_name(f"{name}.json")
    return msgspec.json.decode(path.read_bytes(), type=list[kind])  # type: ignore[valid-type]
