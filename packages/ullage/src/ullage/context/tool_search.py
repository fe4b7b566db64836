"""Finds tools by words: the search behind deferred tools. Pure.

    find("list open issues", tools)     # the tools, best first

Searched are names, descriptions and the names of parameters, as in Anthropic's and OpenAI's tool search
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool,
https://developers.openai.com/api/docs/guides/tools-tool-search).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from math import log1p
from typing import Final, NamedTuple

from ullage.messages import Tool
from ullage.tokens import schemas

MOST_FOUND: Final = 5
"""How many tools a search returns: Anthropic's search returns 3 to 5 (see the page above)."""

MOST_WORDS: Final = 30
"""Words of a query that count; further ones are ignored."""

MOST_CHARACTERS: Final = 4_000
MOST_PARAMETERS: Final = 100
"""What is searched of one description, and of one tool's parameters: both are a server's, and it may send megabytes."""

MOST_MISSPELT: Final = 5
MOST_COMPARED: Final = 10_000
"""Words of a query that match nothing and are compared with so many known words: each comparison is slow."""

IN_NAME: Final = 4.0
IN_PARAMETER: Final = 1.5
IN_DESCRIPTION: Final = 1.0
"""The weight of a word by its place. Chosen on the table of ``packages/ullage/tests/context/test_tool_search.py``."""

PREFIX: Final = 0.7
TYPO: Final = 0.6
CLOSE: Final = 0.8
"""How much a match counts that is only a beginning, or only close by this ratio of ``difflib``."""

LEAST_OF_BEST: Final = 0.3
"""A tool with less than this share of the best one's score is left out."""

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W_]+")
_EMPTY_WORDS: Final = frozenset(
    re.findall(
        r"\w+", "a an and by for from i in is it me my of on or the this to tool with"
    )
)


class _Indexed(NamedTuple):
    """A tool, and the weight of each of its words."""

    tool: Tool
    weights: Mapping[str, float]


class _Scored(NamedTuple):
    """A tool and how well it matches."""

    tool: Tool
    score: float


def find(query: str, tools: Sequence[Tool], *, most: int = MOST_FOUND) -> list[Tool]:
    """The tools that match the query, best first, at most ``most``; none if nothing matches.

    A query that consists of names of tools finds exactly these. Plurals, beginnings and small typing errors match too.
    """
    if named := _named(query, tools):
        return named[:most]
    indexed = [_indexed(tool) for tool in tools]
    spread = _spread(indexed)
    wanted = _wanted(_content_words(query), spread)
    scored: list[_Scored] = []
    for one in indexed:
        score = _score(wanted, one, spread, len(indexed))
        if score > 0:
            scored.append(_Scored(one.tool, score))
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
    return (useful or list(found))[:MOST_WORDS]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")):
        return word[:-1]
    return word


def _indexed(tool: Tool) -> _Indexed:
    declared = schemas.declared(tool)
    properties = declared.schema.get("properties")
    weights: dict[str, float] = {}
    description = declared.description[:MOST_CHARACTERS]
    _weigh(weights, words(description), IN_DESCRIPTION)
    if isinstance(properties, dict):
        parameters = " ".join(map(str, islice(properties, MOST_PARAMETERS)))
        _weigh(weights, words(parameters[:MOST_CHARACTERS]), IN_PARAMETER)
    _weigh(weights, words(declared.name), IN_NAME)
    return _Indexed(tool, weights)


def _weigh(weights: dict[str, float], found: Iterable[str], weight: float) -> None:
    for word in found:
        weights[word] = max(weight, weights.get(word, 0.0))


def _spread(indexed: Sequence[_Indexed]) -> dict[str, int]:
    """In how many tools each word occurs."""
    spread: dict[str, int] = {}
    for one in indexed:
        for word in one.weights:
            spread[word] = spread.get(word, 0) + 1
    return spread


def _wanted(asked: Iterable[str], known: Mapping[str, int]) -> list[dict[str, float]]:
    """The known words that each word of a query may mean; for a misspelt one, those that are close to it."""
    compared = list(islice(known, MOST_COMPARED))
    left = MOST_MISSPELT
    wanted: list[dict[str, float]] = []
    for word in asked:
        near = _near(word, known)
        if not near and left:
            left -= 1
            close = get_close_matches(word, compared, n=3, cutoff=CLOSE)
            near = dict.fromkeys(close, TYPO)
        wanted.append(near)
    return wanted


def _near(word: str, known: Mapping[str, int]) -> dict[str, float]:
    """The known words that a word may mean, each with how much a match of it counts."""
    near: dict[str, float] = {}
    if len(word) >= 3:
        for other in known:
            if len(other) >= 3 and (other.startswith(word) or word.startswith(other)):
                near[other] = PREFIX
    if word in known:
        near[word] = 1.0
    return near


def _score(
    wanted: Sequence[Mapping[str, float]],
    one: _Indexed,
    spread: Mapping[str, int],
    count: int,
) -> float:
    """A tool's score: a word that few tools have says more, and so does a tool that has more of the words."""
    total, matched = 0.0, 0
    for near in wanted:
        best = 0.0
        for word, factor in near.items():
            weight = one.weights.get(word, 0.0)
            best = max(best, factor * weight * log1p(count / spread[word]))
        total += best
        matched += best > 0
    return total * matched / max(1, len(wanted))
