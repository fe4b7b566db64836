"""Tokens of content that is more than a text: tool arguments and tool results, as a family counts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ullage.bounds import json_excess
from ullage.tokens.families import Family
from ullage.tokens.policy import DEEPEST
from ullage.tokens.text import TextCounter


class Arguments(NamedTuple):
    """The arguments of one tool call: their tokens, and how many there are where they are counted apart."""

    tokens: float
    parameters: int


def text_tokens(text: str, family: Family, counter: TextCounter) -> float:
    """Tokens of a text as the family's provider charges them, without any wrapping."""
    return counter.count(text, family.vocabulary) if text else 0.0


def is_exact(family: Family, counter: TextCounter) -> bool:
    """Whether text is counted in the models' own vocabulary."""
    return family.is_own and counter.is_exact(family.vocabulary)


def argument_tokens(arguments: str, family: Family, counter: TextCounter) -> Arguments:
    """Tokens of a tool call's arguments. Text that is not a JSON object is counted as it stands."""
    if not family.answering.unpacked:
        return Arguments(text_tokens(arguments, family, counter), 0)
    values = _decoded(arguments)
    if not isinstance(values, dict):
        return Arguments(text_tokens(arguments, family, counter), 0)
    written = (text for key, value in values.items() for text in (key, _written(value)))
    return Arguments(
        sum(text_tokens(text, family, counter) for text in written), len(values)
    )


def result_tokens(text: str, family: Family, counter: TextCounter) -> float:
    """Tokens of a tool result's text, without its wrapping."""
    factor = family.framing.leaves
    if not text:
        return family.framing.empty
    if not factor or text[0] not in "{[":
        return text_tokens(text, family, counter)
    value = _decoded(text)
    if not isinstance(value, dict | list):
        return text_tokens(text, family, counter)
    return sum(
        text_tokens(leaf, family, counter) * (1.0 if is_key else factor)
        for leaf, is_key in _leaves(value)
    )


def _decoded(text: str) -> object:
    if json_excess(text):
        return None
    try:
        value: object = msgspec.json.decode(text.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return None
    return value


def _written(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _leaves(value: object, depth: int = 0) -> Iterator[tuple[str, bool]]:
    """Keys and values of a JSON document; True with the keys."""
    if depth > DEEPEST:
        yield _written(value), False
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key), True
            yield from _leaves(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, depth + 1)
    else:
        yield _written(value), False
