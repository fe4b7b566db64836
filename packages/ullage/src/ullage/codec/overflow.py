"""Whether an error, or an answer without one, means that the request did not fit; and the numbers it names.

The wordings of a wire's servers are in its folder (``reports.py``), those of other servers are here. All are tried on
every error, for a gateway passes on what another server wrote. Each row has its source beside it: an issue or a test
that quotes what the server really sent. Groups named ``limit``, ``count``, ``output`` and ``total`` are tokens;
``total`` is input and output together; ``most`` is bytes or images. A number that is none of these (MiniMax's error
code, Ollama's difference, Titan's characters) is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from ullage.codec.rules import Wording
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


_GH: Final = "https://github.com/"
_VALS: Final = (
    _GH + "vals-ai/model-library (tests: messages collected from the providers)"
)
_PI: Final = _GH + "badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts"

_OTHERS: Final[tuple[Wording, ...]] = (
    # Amazon Bedrock
    Wording(
        "bedrock",
        r"input is too long for requested model",
        _GH + "aws-samples/bedrock-chat/issues/95",
    ),
    Wording("bedrock", r"number of input tokens exceeds maximum length", _VALS),
    Wording(
        "bedrock",
        r"malformed input request: expected maxlength: \d+, actual: \d+",
        _GH + "ryanadoty/Amazon-Bedrock-Amazon-RDS-POC/issues/9",
    ),
    Wording(
        "cohere",
        r"total number of tokens \(prompt and prediction\) cannot exceed {limit} - received {count}",
        _GH + "cohere-ai/sandbox-topically/issues/4",
    ),
    Wording(
        "cohere",
        r"too many tokens: size limit exceeded by \d+ tokens\..*?limit for this model is {limit} tokens",
        _VALS,
        input_alone=True,
    ),
    Wording("ai21", r"the total length of all messages is too long", _VALS),
    Wording(
        "xai-grpc", r"sent message larger than max \(\d+ vs\. \d+\)", _VALS, in_bytes=True
    ),
    Wording(
        "",
        r"images, exceeding the maximum of {most} allowed",
        _GH + "anomalyco/opencode/issues/47721",
        in_images=True,
    ),
    Wording(
        "",
        r"too many images in request.{0,60}\bmax(?:imum)?\b[a-z ]{0,12}{most}",
        _GH + "microsoft/vscode/issues/306919",
        in_images=True,
    ),
    Wording("", r"prompt is too long", _GH + "NanmiCoder/cc-haha/issues/860"),
    Wording(
        "", r"maximum context length is {limit} tokens", _GH + "ogx-ai/ogx/issues/4534"
    ),
    Wording(
        "",
        r"context_length_exceeded|exceed_context_size_error",
        _GH + "openai/openai-python",
    ),
    Wording("", r"model_context_window_exceeded", _GH + "mozilla-ai/any-llm/issues/1200"),
    Wording(
        "",
        r"request entity too large|payload too large|content too large",
        _VALS,
        in_bytes=True,
    ),
)

DENIALS: Final[tuple[tuple[str, str], ...]] = (
    (r"tokens? per (?:min|day|hour)|\(TPM\)|\bTPM\b", _GH + "DrShushen/climb/issues/13"),
    (r"rate[ _]limit|throttl|too many requests", _GH + "OpenHands/OpenHands/issues/9259"),
    (r"please wait before trying again", _GH + "RooCodeInc/Roo-Code/issues/5050"),
    (
        r"current quota|quota exceeded|insufficient_quota|RESOURCE_EXHAUSTED",
        _GH + "google-gemini/gemini-cli/issues/13112",
    ),
    (
        r"more credits|can only afford|monthly limit",
        _GH + "anomalyco/opencode/issues/12219",
    ),
    (r"extra usage is required|long context beta", _GH + "Wei-Shaw/sub2api/issues/572"),
    (r"content management policy|content_filter", _GH + "stanford-crfm/helm/pull/3327"),
)
"""What says that an error is none of this, whatever else it says: rate limits, money, filters."""

_NEVER: Final = frozenset({401, 402, 403, 404, 408, 429, 529})
"""Statuses that say something else whatever the text."""

_NUMBER: Final = r"\d[\d,]*"


class _Row(NamedTuple):
    wording: Wording
    pattern: re.Pattern[str]


def _compiled(rows: Iterable[Wording]) -> tuple[_Row, ...]:
    fields = {
        name: f"(?P<{name}>{_NUMBER})"
        for name in ("limit", "count", "output", "total", "most")
    }
    made = []
    for row in rows:
        pattern = row.pattern
        for name, group in fields.items():
            pattern = pattern.replace("{" + name + "}", group)
        made.append(_Row(row, re.compile(pattern, re.IGNORECASE | re.DOTALL)))
    return tuple(made)


WORDINGS: Final = (
    *chain.from_iterable(wire.overflows for wire in WIRES.values()),
    *_OTHERS,
)
"""The first that fits counts: general ones come last."""
_ROWS: Final = _compiled(WORDINGS)
_DENIES: Final = re.compile("|".join(pattern for pattern, _ in DENIALS), re.IGNORECASE)
_LLAMA_CPP: Final = re.compile(r"n_prompt_tokens\D{1,4}(\d+)\D{1,8}n_ctx\D{1,4}(\d+)")


class Verdict(NamedTuple):
    """A recognised overflow: the row that fitted, and the numbers it named."""

    wording: Wording
    measures: Measures


def recognise(status: int | None, text: str) -> Verdict | None:
    """What an error's text says about its request's length; ``None`` when that is not what it is about.

    ``text`` is all the server said, without what it may have repeated of the request; ``status`` is ``None`` inside a
    stream. A 413 without a word is an overflow (Cerebras).
    """
    if status in _NEVER or _DENIES.search(text):
        return None
    for row in _ROWS:
        match = row.pattern.search(text)
        if match:
            return Verdict(row.wording, _measures(match, text, row.wording.most))
    if status == 413:
        return Verdict(Wording("", "", _PI, in_bytes=bool(text.strip())), Measures())
    return None


def overflowed(answer: Answer, window: int | None = None) -> Measures | None:
    """The numbers of an overflow that came without an error; ``None`` when the answer is none.

    Three are known. The model ended for ``length`` before its first token, for the window was full with the input alone
    (https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts: MiMo); the same in so many
    words (GLM's and Anthropic's ``model_context_window_exceeded`` with no output); and an input larger than the
    ``window``, of which the server kept only a part (GLM).
    """
    if answer.outcome != "finished":
        return None
    sent = answer.usage.context
    empty = not answer.message.parts and not answer.usage.output
    if answer.stop in ("length", "context_full") and empty:
        return Measures(window, sent, None)
    if window is not None and sent is not None and sent > window:
        return Measures(window, sent, None)
    return None


def _measures(match: re.Match[str], text: str, most: int | None) -> Measures:
    found = {
        name: int(value.replace(",", ""))
        for name, value in match.groupdict().items()
        if value is not None
    }
    if not found and "n_ctx" in text:
        named = _LLAMA_CPP.search(text)
        return (
            Measures() if named is None else Measures(int(named[2]), int(named[1]), None)
        )
    count, output = found.get("count"), found.get("output")
    if count is None and "total" in found and output is not None:
        count = found["total"] - output
    return Measures(found.get("limit"), count, output, found.get("most", most))
