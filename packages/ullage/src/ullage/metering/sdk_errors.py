"""What an exception of a provider's SDK, or of a framework around it, says that can be mended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ullage.codec.foreign import as_plain
from ullage.codec.problems import read_problem
from ullage.errors import Overflow, ProviderError, WrongConversation
from ullage.metering.policy import MOST_CAUSES

_STATUS: Final = ("status_code", "http_status", "code", "status")
_BODIES: Final = ("body", "details", "response_json")


MENDED: Final = (Overflow, WrongConversation)
"""Errors after which another request is sent in the place of the refused one."""


def problem_of(
    error: BaseException, *, wire: str, provider: str = "", model: str = ""
) -> ProviderError | None:
    """The error of these kinds that an exception is or was caused by; ``None`` if it is about something else.

    Read by shape: openai and anthropic have ``status_code`` and ``body``, google-genai has ``code`` and ``details``.
    """
    for one in _causes(error):
        if isinstance(one, MENDED):
            return one
        for body in _bodies(one):
            problem = read_problem(
                wire, _status(one), {}, body, provider=provider, model=model
            )
            if isinstance(problem, MENDED):
                return problem
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, and those that it was raised from or during."""
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in seen and len(seen) < MOST_CAUSES:
        seen.append(one)
        yield one
        one = one.__cause__ or one.__context__


def _status(error: BaseException) -> int:
    for holder in (error, getattr(error, "response", None)):
        for name in _STATUS:
            found = getattr(holder, name, None)
            if isinstance(found, int) and 100 <= found < 600:
                return found
    return 400


def _bodies(error: BaseException) -> Iterator[bytes]:
    """What the server said, as far as the exception has it, and the exception's own text."""
    for name in _BODIES:
        found = getattr(error, name, None)
        if isinstance(found, dict):
            inner = found if "error" in found else {"error": found}
            yield msgspec.json.encode(as_plain(inner))
    yield str(error).encode("utf-8", "replace")
