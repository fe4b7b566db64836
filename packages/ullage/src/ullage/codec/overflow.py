"""Whether an error, or an answer without one, means that the request did not fit; and the numbers it names.

The wordings of a wire's servers are in its folder (``reports.py``), those of other servers are here. All are tried on
every error, for a gateway passes on what another server wrote. Each row has its source beside it: an issue or a test
that quotes what the server really sent. Groups named ``limit``, ``count``, ``output`` and ``total`` are tokens;
``total`` is input and output together; ``most`` is bytes or images. A number that is none of these (MiniMax's error
code, Ollama's difference, Titan's characters) is not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from ullage.codec.rules import Wording, wordings
from ullage.codec.stream import Answer
from ullage.codec.wires import WIRES


@dataclass(frozen=True, slots=True)
class Measures:
    """Tokens that an overflow named: what fits, what was sent, and the output that was asked for beside it.

    ``most`` is how many bytes or images are taken, where the wording is about those.
    """

    limit: int | None = None
    count: int | None = None
    max_output: int | None = None
    most: int | None = None


_VALS: Final = "vals-ai/model-library (tests: messages collected from the providers)"

_OTHERS: Final[tuple[Wording, ...]] = (
    *wordings(
        {
            r"too many tokens: size limit exceeded by \d+ tokens\..*?limit for this model is {limit} tokens": _VALS,
        },
        input_alone=True,
    ),
    *wordings(
        {
            r"sent message larger than max \(\d+ vs\. \d+\)": _VALS,
            r"request entity too large|payload too large|content too large": _VALS,
        },
        in_bytes=True,
    ),
    *wordings(
        {
            r"images, exceeding the maximum of {most} allowed": "anomalyco/opencode/issues/47721",
            r"too many images in request.{0,60}\bmax(?:imum)?\b[a-z ]{0,12}{most}": "microsoft/vscode/issues/306919",
        },
        in_images=True,
    ),
    *wordings(
        {
            r"input is too long for requested model": "aws-samples/bedrock-chat/issues/95",
            r"number of input tokens exceeds maximum length": _VALS,
            r"malformed input request: expected maxlength: \d+, actual:"
            r" \d+": "ryanadoty/Amazon-Bedrock-Amazon-RDS-POC/issues/9",
            r"total number of tokens \(prompt and prediction\) cannot exceed"
            r" {limit} - received {count}": "cohere-ai/sandbox-topically/issues/4",
            r"the total length of all messages is too long": _VALS,
            r"prompt is too long": "NanmiCoder/cc-haha/issues/860",
            r"maximum context length is {limit} tokens": "ogx-ai/ogx/issues/4534",
            r"context_length_exceeded|exceed_context_size_error": "openai/openai-python",
            r"model_context_window_exceeded": "mozilla-ai/any-llm/issues/1200",
        },
    ),
)

DENIALS: Final = {
    r"tokens? per (?:min|day|hour)|\(TPM\)|\bTPM\b": "DrShushen/climb/issues/13",
    r"rate[ _]limit|throttl|too many requests": "OpenHands/OpenHands/issues/9259",
    r"please wait before trying again": "RooCodeInc/Roo-Code/issues/5050",
    r"current quota|quota exceeded|insufficient_quota|RESOURCE_EXHAUSTED": "google-gemini/gemini-cli/issues/13112",
    r"more credits|can only afford|monthly limit": "anomalyco/opencode/issues/12219",
    r"extra usage is required|long context beta": "Wei-Shaw/sub2api/issues/572",
    r"content management policy|content_filter": "stanford-crfm/helm/pull/3327",
}
"""What says that an error is none of this, whatever else it says: rate limits, money, filters. By places on GitHub."""

_NEVER: Final = frozenset({401, 402, 403, 404, 408, 429, 529})
"""Statuses that say something else whatever the text."""

WORDINGS: Final = (
    *chain.from_iterable(wire.overflows for wire in WIRES.values()),
    *_OTHERS,
)
"""The first that fits counts: general ones come last."""

_NUMBER: Final = re.compile(r"\{(limit|count|output|total|most)\}")
_PATTERNS: Final = tuple(
    re.compile(_NUMBER.sub(r"(?P<\1>\\d[\\d,]*)", row.pattern), re.IGNORECASE | re.DOTALL)
    for row in WORDINGS
)
_DENIES: Final = re.compile("|".join(DENIALS), re.IGNORECASE)
_LLAMA_CPP: Final = re.compile(r"n_prompt_tokens\D{1,4}(\d+)\D{1,8}n_ctx\D{1,4}(\d+)")


class Verdict(NamedTuple):
    """A recognised overflow: the row that fitted, and the numbers it named."""

    wording: Wording
    measures: Measures

    @property
    def is_of_tokens(self) -> bool:
        """Whether the request had too many tokens, as against bytes or images."""
        return not self.wording.in_bytes and not self.wording.in_images

    @property
    def limits(self) -> dict[str, int]:
        """The limit of tokens that was named, as ``LimitLearnt`` has it; empty where none was."""
        if not self.is_of_tokens or not self.measures.limit:
            return {}
        kind = "input_cap" if self.wording.input_alone else "window"
        return {kind: self.measures.limit}


def recognise(status: int | None, text: str) -> Verdict | None:
    """What an error's text says about its request's length; ``None`` when that is not what it is about.

    ``text`` is all the server said, without what it may have repeated of the request; ``status`` is ``None`` inside a
    stream. A 413 without a word is an overflow (Cerebras, by
    https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts).
    """
    if status in _NEVER or _DENIES.search(text):
        return None
    for row, pattern in zip(WORDINGS, _PATTERNS, strict=True):
        match = pattern.search(text)
        if match:
            return Verdict(row, _measures(match, text, row.most))
    if status == 413:
        return Verdict(Wording("", "", in_bytes=bool(text.strip())), Measures())
    return None


def overflowed(answer: Answer) -> bool:
    """Whether an answer without an error means that the window was full with the input alone.

    The model then ends for ``length`` before its first token
    (https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts: MiMo), or says so in as many
    words (GLM's and Anthropic's ``model_context_window_exceeded``).
    """
    is_empty = not answer.message.parts and not answer.usage.output
    is_full = answer.stop in ("length", "context_full")
    return answer.outcome == "finished" and is_full and is_empty


def _measures(match: re.Match[str], text: str, most: int | None) -> Measures:
    found: dict[str, int] = {}
    for name, value in match.groupdict().items():
        if value is not None:
            found[name] = int(value.replace(",", ""))
    if not found and (named := _LLAMA_CPP.search(text)):
        return Measures(int(named[2]), int(named[1]))
    count, output = found.get("count"), found.get("output")
    if count is None and "total" in found and output is not None:
        count = found["total"] - output
    return Measures(found.get("limit"), count, output, found.get("most", most))
