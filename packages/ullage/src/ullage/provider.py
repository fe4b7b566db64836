"""A model that is called by Python code of the program's own, in the place of one of the wires.

class Echo(ullage.Provider):
    model = "echo-1"

    async def stream(self, request):
        yield request.messages[-1].text
        yield ullage.Usage(input=12, output=3)

agent = ullage.Agent(Echo())
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from ullage.messages import ReasoningPart, Request, Stopped, TextPart, ToolCallPart
from ullage.usage import Usage

AnswerPiece = str | TextPart | ReasoningPart | ToolCallPart | Usage | Stopped
"""What a ``Provider`` yields.

A ``str`` is more text. Of parts that follow each other, those of one type and one ``id`` are pieces of the same part:
so reasoning and the arguments of a call can stream. ``Usage`` is what the provider reported so far; a later one
replaces it.
"""


@runtime_checkable
class Provider(Protocol):
    """A model behind any API: ``Agent(MyProvider())``, and in ``fallback`` and ``summary_model``.

    Make a subclass, which has the defaults below. The object may be used by several sessions at the same time, and, in
    ``run_sync``, in another event loop than the caller's. A session stores ``name:model`` and not the object: a
    program that opens the session later gives its agent a provider of the same name.
    """

    name: str = ""
    """Names the provider in ledgers, prices and traces; by default the class's name in lower case."""
    model: str = ""
    """The model's name, which each request holds; by default ``name``."""
    window: int | None = None
    """The context window in tokens; ``None``: as the catalogue or a setting says."""
    max_output: int | None = None
    """The largest answer in tokens; ``None``: unknown."""
    learns: bool = True
    """Whether what sessions learn about the size of its requests is kept for later sessions."""

    def stream(self, request: Request) -> AsyncIterator[AnswerPiece]:
        """One call: an async generator (``async def`` with ``yield``) that gives the answer piece by piece.

        Args:
            request: What to send, in an order that every API takes: each call has its result. Bytes of images and
                files stand in ``source`` as ``data:`` URLs. ``params`` hold the settings of the call that are set:
                ``max_output`` and ``thinking_budget`` in tokens, ``temperature``, ``effort``, and those of the
                agent's ``params``.

        Raises:
            ProviderError: The call failed. What its subclass promises is done: ``RateLimited`` and ``ServerError``
                are tried again before the first piece, ``Overflow`` leads to a compaction. Any other exception is
                taken for a bug and stops the turn with ``InternalError``.

        A cancel is raised inside the generator as ``asyncio.CancelledError``; what it gave before is kept.
        """
        ...
