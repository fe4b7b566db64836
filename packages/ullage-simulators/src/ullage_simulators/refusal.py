"""What a provider refuses: a rule with its words and where they were read, and the refusal that breaks off a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

QUOTED: Final = "quoted in public code that handles it"
"""The source of words that several projects quote from the provider, none of them with a page to point to."""
OWN: Final = "the simulator's own words"
"""The source of words for what the provider refuses too, in words that are not known."""

Confidence = Literal["documented", "quoted", "assumed"]
"""How sure it is that the provider refuses this: its documentation shows it; an issue or public code shows an answer of
the provider; or neither shows it for all requests that the rule refuses here."""

_DOCUMENTATION: Final = (
    "https://platform.claude.com/",
    "https://developers.openai.com/",
    "https://ai.google.dev/",
    "https://api-docs.deepseek.com/",
)


class Rule(NamedTuple):
    """One thing a provider refuses.

    ``text`` is its answer with named gaps; ``source`` is the page or issue the words were read in. ``kind``, ``code``
    and ``param`` are the fields of the error object, where the wire has them. ``is_assumed``: the source has the words,
    but doesn't show that all requests that meet the rule here are refused.
    """

    text: str
    source: str
    status: int = 400
    kind: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    is_assumed: bool = False

    @property
    def confidence(self) -> Confidence:
        if self.is_assumed or self.source == OWN:
            return "assumed"
        if self.source.startswith(_DOCUMENTATION):
            return "documented"
        return "quoted"


@dataclass(frozen=True, slots=True)
class Refused:
    """A rule whose gaps are filled; ``name`` is the rule's name in its table."""

    name: str
    text: str
    status: int
    kind: str
    code: str | None
    param: str | None
    confidence: Confidence = "documented"


class CallRefused(Exception):
    """Breaks off a call; the wire turns ``refused`` into its error object."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.text)
        self.refused = refused


def refuse(rules: Mapping[str, Rule], name: str, /, **gaps: object) -> CallRefused:
    """The refusal by the rule ``name``; ``gaps`` fill its text and its ``param``."""
    rule = rules[name]
    param = rule.param.format(**gaps) if rule.param else rule.param
    text = rule.text.format(**gaps)
    return CallRefused(
        Refused(name, text, rule.status, rule.kind, rule.code, param, rule.confidence)
    )
