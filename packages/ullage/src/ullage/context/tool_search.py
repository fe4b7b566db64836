"""Finds tools by words: the search behind deferred tools. Pure.

    find("list open issues", tools)     # the tools, best first

Searched are names, descriptions and the names of parameters, as in Anthropic's and OpenAI's tool search
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool,
https://developers.openai.com/api/docs/guides/tools-tool-search).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from math import log1p
from typing import Final, NamedTuple

from ullage.context.policy import (
    IN_DESCRIPTION,
    IN_NAME,
    IN_PARAMETER,
    LEAST_OF_BEST,
    MOST_FOUND,
    PREFIX_WEIGHT,
    QUERY_WORDS,
    SEARCHED_CHARACTERS,
    SEARCHED_PARAMETERS,
)
from ullage.messages import Tool
from ullage.tokens import schemas

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W_]+")
_EMPTY_WORDS: Final = frozenset(
    re.findall(
        r"\w+", "a an and by for from i in is it me my of on or the this to tool with"
    )
)


class _Scored(NamedTuple):
    """A tool and how well it matches."""

    tool: Tool
    score: float


def find(query: str, tools: Sequence[Tool], *, most: int = MOST_FOUND) -> list[Tool]:
    """The tools that match the query, best first, at most ``most``; none if nothing matches.

    A query that consists of names of tools finds exactly these. Plurals and beginnings match too.
    """
    if named := _named(query, tools):
        return named[:most]
    asked = _content_words(query)
    indexed = [_weights(tool) for tool in tools]
    spread = Counter(word for weights in indexed for word in weights)
    scored: list[_Scored] = []
    for tool, weights in zip(tools, indexed, strict=True):
        score = _score(asked, weights, spread, len(tools))
        if score > 0:
            scored.append(_Scored(tool, score))
    scored.sort(key=lambda one: -one.score)
    found: list[Tool] = []
    for good in scored[:most]:
        if good.score >= LEAST_OF_BEST * scored[0].score:
            found.append(good.tool)
    return found


def words(text: str) -> list[str]:
    """The words of a text or a name in lower case and without plural endings."""
    return [_singular(word.lower()) for word in _WORD.findall(_CAMEL.sub(" ", text))]


def _named(query: str, tools: Sequence[Tool]) -> list[Tool]:
    """The tools that a query names, if it consists of names."""
    asked = query.removeprefix("select:").replace(",", " ").split()
    by_name = {tool.name: tool for tool in tools}
    if not asked or not all(name in by_name for name in asked):
        return []
    return [by_name[name] for name in dict.fromkeys(asked)]


def _content_words(query: str) -> list[str]:
    found = dict.fromkeys(words(query))
    useful = [word for word in found if word not in _EMPTY_WORDS]
    return (useful or list(found))[:QUERY_WORDS]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")):
        return word[:-1]
    return word


def _weights(tool: Tool) -> dict[str, float]:
    """The words of a tool, each with its weight."""
    declared = schemas.declared(tool)
    properties = declared.schema.get("properties")
    named = (
        islice(properties, SEARCHED_PARAMETERS) if isinstance(properties, dict) else ()
    )
    parameters = " ".join(map(str, named))
    weights: dict[str, float] = {}
    for text, weight in (
        (declared.description[:SEARCHED_CHARACTERS], IN_DESCRIPTION),
        (parameters[:SEARCHED_CHARACTERS], IN_PARAMETER),
        (declared.name, IN_NAME),
    ):
        weights |= dict.fromkeys(words(text), weight)
    return weights


def _score(
    asked: Sequence[str],
    weights: Mapping[str, float],
    spread: Mapping[str, int],
    count: int,
) -> float:
    """A tool's score: a word that few tools have says more, and so does a tool that has more of the words."""
    total, matched = 0.0, 0
    for word in asked:
        best = 0.0
        for other, weight in weights.items():
            factor = _likeness(word, other)
            best = max(best, factor * weight * log1p(count / spread[other]))
        total += best
        matched += best > 0
    return total * matched / max(1, len(asked))


def _likeness(word: str, other: str) -> float:
    if word == other:
        return 1.0
    shorter, longer = sorted((word, other), key=len)
    return PREFIX_WEIGHT if len(shorter) >= 3 and longer.startswith(shorter) else 0.0
