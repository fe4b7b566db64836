"""Models without a network, for tests: ``ScriptedModel`` and ``FunctionModel``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import count

from ullage.display.text import quoted
from ullage.errors import WrongType
from ullage.messages import ReasoningPart, Request, TextPart, ToolCallPart
from ullage.meter.meter import Meter
from ullage.models.providers import ProviderRow
from ullage.provider import AnswerPiece, Provider
from ullage.usage import Usage
from ullage_agent.testing.answers import Script, last_words, pieces_of, usual_usage
from ullage_agent.testing.policy import WINDOW
from ullage_agent.testing.simulated import MODEL, SimulatedScript


class FunctionModel(Provider):
    """Answers by a function of the request: ``Agent(FunctionModel(lambda request: request.messages[-1].text))``.

    Args:
        function: Gets the ``Request`` and gives what an item of ``ScriptedModel`` may be. It may be async, or an async
            generator of such items. What it raises is raised to the agent's caller inside ``InternalError``; a
            ``ProviderError`` is a failed call.
        name: The model's name, and its provider's.
        window: The context window in tokens; ``None``: unknown.
        max_output: The largest answer in tokens.
        pause_s: Seconds before each word.
    """

    learns = False

    def __init__(
        self,
        function: Callable[[Request], object],
        *,
        name: str = "function",
        window: int | None = WINDOW,
        max_output: int | None = None,
        pause_s: float = 0.0,
    ) -> None:
        self._function = function
        self.name = self.model = name
        self.window = window
        self.max_output = max_output
        self.requests: list[Request] = []
        """The requests so far, oldest first: ``system``, ``messages``, ``tools``, ``params``."""
        self._pause_s = pause_s
        self._ids = count(1)
        self._meter = Meter(name, provider=name, window=window)

    async def stream(self, request: Request) -> AsyncGenerator[AnswerPiece, None]:
        """See ``Provider``. Where the answer holds no usage, the one that Ullage expects is reported."""
        self.requests.append(request)
        written, has_usage = "", False
        answer = pieces_of(self._function, request, self._ids, self._pause_s)
        async for piece in answer:
            match piece:
                case Usage():
                    has_usage = True
                case str():
                    written += piece
                case TextPart() | ReasoningPart():
                    written += piece.text
                case ToolCallPart():
                    written += f"{piece.name} {piece.arguments}"
            yield piece
        if not has_usage:
            yield usual_usage(self._meter, request, written)


class ScriptedModel(FunctionModel):
    """Answers by a list, one item for each call of the model: ``Agent(ScriptedModel(["Hello."]))``.

    An item is a text; ``tool_call(…)``; ``reasoning(…)``; an object of the agent's ``output_type``; ``Usage``; a
    ``Delay``; an exception, which is raised (``ullage.errors.RateLimited("…")``); a function of the request that gives
    one of these; or a list of them, which are one answer. Text streams word by word.

    A call too many fails with an ``AssertionError`` inside ``InternalError``. Answers that are left fail the end of
    ``agent.override(model=…)``, or ``assert_used_up``.

    Args:
        answers: The answers in order.
        name: The model's name, and its provider's.
        window: The context window in tokens; ``None``: unknown.
        max_output: The largest answer in tokens.
        pause_s: Seconds before each word.
        simulated: Whether a strict simulator of Anthropic says the script, on this machine and over HTTP, so that
            requests go over the real wire and what a provider would refuse is refused. It takes texts, calls,
            reasoning (said where the agent sets ``effort``), typed answers, and errors that have a status; ``requests``
            stays empty (``capture`` has them). Needs ``ullage[simulators]``.

    Raises:
        WrongType: ``answers`` is one text.
    """

    def __init__(
        self,
        answers: Sequence[object],
        *,
        name: str = "scripted",
        window: int | None = WINDOW,
        max_output: int | None = None,
        pause_s: float = 0.0,
        simulated: bool = False,
    ) -> None:
        if isinstance(answers, str):
            raise WrongType(
                f"ScriptedModel takes a list of answers: write ScriptedModel([{quoted(answers)}])."
            )
        self._script = script = Script(answers)
        super().__init__(
            lambda request: script.next(last_words(request)),
            name=name,
            window=window,
            max_output=max_output,
            pause_s=pause_s,
        )
        self._simulated: SimulatedScript | None = None
        if simulated:
            self._simulated = SimulatedScript(
                self, script, window=window, pause_s=pause_s
            )

    def served(self) -> tuple[ProviderRow, str] | None:
        """The simulator that speaks the script, and its model; ``None`` where this object answers itself."""
        return None if self._simulated is None else (self._simulated.row(), MODEL)

    def add(self, *answers: object) -> None:
        """More answers, behind those that are left.

        Args:
            answers: As the model's own.
        """
        self._script.add(answers)

    def assert_used_up(self) -> None:
        """Raise ``AssertionError`` if answers are left."""
        self._script.assert_used_up()
