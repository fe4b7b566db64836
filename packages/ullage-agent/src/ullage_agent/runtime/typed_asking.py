"""Reads answers of a type, and asks again for one that does not fit.

What is asked again is a message of the ledger like any other, so it survives a restart: tries are counted in the
messages since the person's own one.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from ullage.errors import AnswerInvalid, SettingError
from ullage.messages import Message
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.output_type import AnswerMisfit, OutputType

OUTPUT_RETRIES: Final = 2
"""How often an answer that does not fit is asked for again."""

AGAIN: Final = ".again-"
"""In the id of a message that asks again: what stands before it is the person's own message's."""


class TypedSession(Protocol):
    """The methods of a session that are used here."""

    async def messages(self) -> tuple[Message, ...]:
        """The messages in view."""
        ...

    async def _send_text(self, text: str, id: str) -> None:
        """Send a message of this id, once."""
        ...

    async def _wait(self) -> Result[Any]:
        """Wait until the session rests; a failed turn is the result's error."""
        ...

    async def _instruction(self, output: OutputType[Any]) -> str:
        """What tells the model how to give an answer of this type."""
        ...


def check_retries(retries: object) -> None:
    """Raises ``SettingError`` for what is no number of tries."""
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise SettingError(
            f"output_retries is a whole number from 0 on, and not {retries!r:.60}."
        )


async def settled(
    session: TypedSession, output: OutputType[Any], retries: int
) -> Result[Any]:
    """The result once the answer fits. Raises ``AnswerInvalid`` after so many wrong answers more.

    A turn that failed or waits for a person is its result, without an output.
    """
    tries = 0  # those in view are fewer where a compaction took some
    while True:
        result = await session._wait()
        tries += 1
        if result.error is not None or result.is_paused:
            return result._replace(missing=output.name)
        try:
            parsed = output.read(result.text)
        except AnswerMisfit as problem:
            how = await session._instruction(output)
            words = f"That answer can't be used: {problem}. Answer again. {how}"
            if tries <= retries + 1 and await _asked_again(session, words, retries):
                continue
            raise AnswerInvalid(
                f"The answer does not fit {output.name}, after {retries} more tries: {problem}. "
                "Its text is in `text` of this error. Describe the fields in the type, raise output_retries, or ask "
                "another model.",
                text=result.text,
            ) from problem
        return result._replace(parsed=parsed, is_parsed=True)


async def _asked_again(session: TypedSession, words: str, most: int) -> bool:
    """Whether the model was asked once more: at most so often for one message of the person."""
    asked = 0
    first = ""
    for message in reversed(await session.messages()):
        if message.role != "user" or message.origin != "said":
            continue
        before, found, _ = message.id.partition(AGAIN)
        first = before
        if not found:
            break
        asked += 1
    if asked >= most:
        return False
    await session._send_text(words, f"{first}{AGAIN}{asked + 1}")
    return True
