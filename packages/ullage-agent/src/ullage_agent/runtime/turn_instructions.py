"""Instructions that a function of the program writes when a turn begins: for this user, at this hour, from its data.

def greet(turn: ullage.TurnContext[Cellar]) -> str:
    return f"You work for {turn.deps.owner}."

agent = ullage.Agent("anthropic:claude-haiku-4-5", deps_type=Cellar, instructions=[greet])
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple

from ullage.display.text import quoted
from ullage.errors import WrongType
from ullage.messages import SystemBlock, clean_text
from ullage_agent.tools.type_variables import Deps_co, DepsT


@dataclass(frozen=True, slots=True)
class TurnContext(Generic[Deps_co]):
    """What a function that writes instructions may use: the session, and what it was opened with."""

    session: str
    root: Path
    """The directory that file tools are confined to."""
    model: str
    deps: Deps_co
    """The object that the session was opened with: a database, a client, the user. It is not stored."""


InstructionWriter = Callable[[TurnContext[DepsT]], str | Awaitable[str]]
"""Writes instructions for one turn; an empty text is none. It may be async."""


class Instructions(NamedTuple):
    """What ``Agent(instructions=…)`` was given: its texts as one block, and the functions that write the rest."""

    fixed: tuple[SystemBlock, ...] = ()
    writers: tuple[InstructionWriter[Any], ...] = ()


def read_instructions(given: object) -> Instructions:
    """The texts and functions that an agent was given. Raises ``WrongType``, also for a text that is a file's name."""
    texts: list[str] = []
    writers: list[InstructionWriter[Any]] = []
    for one in given if isinstance(given, list | tuple) else (given,):
        if callable(one):
            writers.append(one)
        elif isinstance(one, Path) or (isinstance(one, str) and _is_file_name(one)):
            raise WrongType(
                f"`instructions` are texts and functions, and {quoted(str(one))} is a file's name: write "
                f"instruction_files=[{str(one)!r}]."
            )
        elif isinstance(one, str):
            texts.append(one)
        elif one is not None:
            raise WrongType(
                f"`instructions` takes a text, a function that writes one, or a list of them, and not "
                f"{type(one).__name__}."
            )
    text = clean_text("\n\n".join(texts)).text
    fixed = (SystemBlock(text=text, name="instructions"),) if text.strip() else ()
    return Instructions(fixed, tuple(writers))


def _is_file_name(text: str) -> bool:
    """``AGENTS.md`` and ``docs/rules.txt``: a model could do nothing with such a text."""
    return not re.search(r"\s", text) and bool(Path(text).suffix)


class WrittenInstructions(NamedTuple):
    """What the functions of an agent wrote for one turn."""

    turn: str
    agent: str
    blocks: tuple[SystemBlock, ...]


async def written(
    writers: Sequence[InstructionWriter[Any]], context: TurnContext[Any]
) -> tuple[SystemBlock, ...]:
    """The texts of the functions, one after the other. Raises what they raise, and ``WrongType`` for another result."""
    blocks: list[SystemBlock] = []
    for writer in writers:
        text = writer(context)
        if inspect.isawaitable(text):
            text = await text
        name = writer_name(writer)
        if not isinstance(text, str):
            raise WrongType(
                f"The instructions {name} have to be a str, and not {type(text).__name__}."
            )
        if text.strip():
            blocks.append(SystemBlock(text=clean_text(text).text, name=name))
    return tuple(blocks)


def writer_name(writer: object) -> str:
    """How the part of the system prompt is called that a function writes: ``greet()``."""
    return f"{getattr(writer, '__name__', type(writer).__name__)}()"


def deps_of(writer: Callable[..., object]) -> object:
    """The parameter's type, as ``TurnContext[Cellar]``; ``None`` where it is not annotated."""
    try:
        hints = typing.get_type_hints(writer)
    except (NameError, TypeError):
        return None
    hints.pop("return", None)
    return next(iter(hints.values()), None)
