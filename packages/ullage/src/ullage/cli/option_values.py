"""What the text behind an option stands for. Each function refuses other texts with ``ArgumentTypeError``."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError

_MULTIPLES = {"k": 1_000, "m": 1_000_000}
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def tokens(text: str) -> int:
    """At least one token, as written by a person: ``200000``, ``200,000``, ``200k``, ``1M``."""
    value = _count(text)
    if value < 1:
        raise ArgumentTypeError(
            f"{text!r} is no number of tokens: give one like 200000 or 200k"
        )
    return value


def reserve(text: str) -> int:
    """Tokens, or none."""
    return 0 if text.strip() == "0" else tokens(text)


def trigger(text: str) -> float:
    """A share up to 1 (``0.8``, ``80%``), or tokens above 1."""
    is_percent = text.endswith("%")
    if is_percent:
        value = _finite(text[:-1]) / 100
    elif text[-1:].isalpha():
        value = float(_count(text))
    else:
        value = _finite(text)
    if value <= 0 or (is_percent and value > 1):
        raise ArgumentTypeError(
            f"{text!r} is no trigger: give a share like 0.8 or 80%, or tokens like 150k"
        )
    return value


def whole(text: str) -> int:
    """A whole number, which may be negative."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no whole number") from None


def positive(text: str) -> int:
    """A whole number above 0."""
    value = _digits(text)
    if value < 1:
        raise ArgumentTypeError(f"{text!r} is no whole number above 0")
    return value


def port(text: str) -> int:
    """A port of TCP, or 0 for a free one."""
    value = _digits(text)
    if not 0 <= value <= 65_535:
        raise ArgumentTypeError(
            f"{text!r} is no port: give one from 1 to 65535, or 0 for a free one"
        )
    return value


def place_name(text: str) -> str:
    """The name of a place where sessions' files are, or nothing."""
    from ullage.store.store import PLACE_PATTERN

    if text and re.search(PLACE_PATTERN, text) is None:
        raise ArgumentTypeError(
            f"{text!r} is no name of a place: give at most 40 of a-z, 0-9, - and _, a letter or digit first"
        )
    return text


def days(text: str) -> float:
    """Days; 0 is for ever."""
    value = _finite(text)
    if value < 0:
        raise ArgumentTypeError(
            f"{text!r} is no number of days: give one like 30, or 0 to keep everything"
        )
    return value


def period(text: str) -> float:
    """Seconds of a time such as ``30m``, ``8h`` or ``2d``."""
    count = text[:-1]
    unit_s = _UNITS_S.get(text[-1:].lower(), 0)
    seconds_in_all = _digits(count) * unit_s
    if seconds_in_all < 1 or len(count) > 6:
        raise ArgumentTypeError(f"{text!r} is no time: write one like 30m, 8h or 2d")
    return float(seconds_in_all)


def seconds(text: str) -> float:
    """Seconds, at least a hundredth."""
    value = _finite(text)
    if value < 0.01:
        raise ArgumentTypeError(f"{text!r} is no number of seconds: give one like 0.25")
    return value


def patience(text: str) -> float:
    """Seconds, or none."""
    return 0.0 if text == "0" else seconds(text)


def _count(text: str) -> int:
    written = text.strip().lower().replace(",", "").replace("_", "")
    multiple = _MULTIPLES.get(written[-1:], 1)
    number = written[:-1] if multiple > 1 else written
    return round(_finite(number, multiple))


def _finite(text: str, multiple: int = 1) -> float:
    """So many times ``multiple``; -1, which no option takes, for a text that is no number or infinite."""
    try:
        value = multiple * float(text)
    except ValueError:
        return -1.0
    return value if math.isfinite(value) else -1.0


def _digits(text: str) -> int:
    """The number that these digits write; -1, which no option takes, for any other text."""
    is_number = text.isascii() and text.isdigit()
    return int(text) if is_number else -1
