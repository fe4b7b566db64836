"""What a request holds, in pieces, and how many tokens they are by this run's numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ullage_simulators.answer_format import AnswerSchema
from ullage_simulators.body import Body
from ullage_simulators.drawn import Drawn
from ullage_simulators.models import Model


@dataclass(frozen=True, slots=True)
class Piece:
    """One counted piece.

    ``framing`` names the number of ``Drawn`` it costs beside its ``text``; ``hidden`` are tokens nobody can see,
    counted as they are. ``reasoning`` may be left out by the model's rules. A cache is written behind a ``marked``
    piece.
    """

    text: str = ""
    framing: str = ""
    hidden: int = 0
    reasoning: bool = False
    marked: bool = False
    schema: str = ""
    """JSON of a declaration, which is counted by ``Drawn.declared``."""


class DeclaredTool(NamedTuple):
    """A declared tool: its name and the JSON schema of its arguments, or none for the plain text of a custom tool."""

    name: str
    schema: Body
    is_custom: bool = False


@dataclass(frozen=True, slots=True)
class ScriptContext:
    """What a script looks at: which model call of the conversation this is, and what came last.

    ``pieces`` is the whole request.
    """

    step: int
    text: str = ""
    results: tuple[tuple[str, str], ...] = ()
    tools: tuple[DeclaredTool, ...] = ()
    pieces: Sequence[Piece] = ()
    answer_schema: Body | None = None
    """The JSON schema that the answer has to follow."""


@dataclass(slots=True)
class PromptPieces:
    """A request in pieces. ``turn_begins`` is the index of the first piece of the current turn's own answers.

    ``keeps_reasoning``: earlier reasoning of the request stays, whatever the model does unasked.
    """

    pieces: list[Piece] = field(default_factory=list)
    turn_begins: int = 0
    keeps_reasoning: bool = False
    ask: ScriptContext = field(default_factory=lambda: ScriptContext(1))

    def add(self, text: str = "", **more: Any) -> None:
        """One more piece. Raises ``TypeError`` for a request's text that is no text."""
        if not isinstance(text, str):
            raise TypeError(f"no text: {text!r}")
        self.pieces.append(Piece(text, **more))

    def mark_last(self) -> None:
        """A cache is written behind the last piece that is no reasoning."""
        for index in reversed(range(len(self.pieces))):
            if not self.pieces[index].reasoning:
                self.pieces[index] = replace(self.pieces[index], marked=True)
                return

    def add_answer_schema(self, asked: AnswerSchema) -> None:
        """The schema of the answer, which stands in front of the rest: OpenAI puts it before the system message.

        https://platform.openai.com/docs/guides/prompt-caching: "it serves as a prefix to the system message".
        """
        self.ask = replace(self.ask, answer_schema=asked.schema)
        if asked.is_billed:
            text, bare = declaration(asked.schema)
            self.pieces.insert(1, Piece(text, schema=bare, hidden=asked.hidden))
            self.turn_begins += 1

    def add_tools(self, tools: Sequence[Any]) -> None:
        """The declared tools, and what it costs to declare any."""
        if tools:
            self.add(framing="tools")
        for tool in tools:
            self.add_tool(tool)

    def add_tool(self, tool: Any) -> None:
        """One declared tool."""
        text, schema = declaration(tool)
        self.add(text, framing="tool", schema=schema)


def declaration(tool: Any) -> tuple[str, str]:
    """The descriptions in a tool's declaration, and the JSON around them: providers charge them differently."""
    texts: list[str] = []
    bare = _without_descriptions(tool, texts)
    return "\n".join(texts), json.dumps(bare, separators=(",", ":"))


def _without_descriptions(value: Any, texts: list[str]) -> Any:
    if isinstance(value, list):
        return [_without_descriptions(each, texts) for each in value]
    if not isinstance(value, dict):
        return value
    bare = {}
    for name, each in value.items():
        if name == "description" and isinstance(each, str):
            texts.append(each)
        else:
            bare[name] = _without_descriptions(each, texts)
    return bare


@dataclass(frozen=True, slots=True)
class InputCount:
    """Input in tokens; ``ends`` are running totals behind the kept pieces, ``keys`` the names of those prefixes."""

    input: int
    kept: int
    dropped: int
    pieces: tuple[Piece, ...]
    ends: tuple[int, ...]
    keys: tuple[str, ...]


def count(
    prompt: PromptPieces, model: Model, drawn: Drawn, *, stream: bool
) -> InputCount:
    """The prompt in tokens, after the model's rules for reasoning."""
    loop = stream if "counts-when-streaming" in model.traits else drawn.loop
    pieces, kept, dropped = [], 0, 0
    for index, piece in enumerate(prompt.pieces):
        if piece.reasoning:
            size = piece.hidden + round(drawn.factor * drawn.count(piece.text))
            is_counted = loop if index >= prompt.turn_begins else drawn.turns
            if not is_counted and not prompt.keeps_reasoning:
                dropped += size
                continue
            kept += size
        pieces.append(piece)
    text_tokens = schema_tokens = fixed = size = 0
    ends = []
    for piece in pieces:
        text_tokens += drawn.count(piece.text)
        schema_tokens += drawn.count(piece.schema)
        fixed += piece.hidden
        if piece.framing:
            fixed += getattr(drawn, piece.framing)
        counted = drawn.factor * text_tokens + drawn.declared * schema_tokens
        size = round(counted) + fixed
        ends.append(size)
    return InputCount(
        size, kept, dropped, tuple(pieces), tuple(ends), _keys(model.name, pieces)
    )


def _keys(model: str, pieces: Sequence[Piece]) -> tuple[str, ...]:
    chain, keys = hashlib.sha256(model.encode()), []
    for piece in pieces:
        chain.update(
            f"{piece.framing}\0{piece.hidden}\0{piece.schema}\0{piece.text}\0".encode(
                "utf-8", "surrogatepass"
            )
        )
        keys.append(chain.hexdigest()[:24])
    return tuple(keys)


class PrefixCache:
    """Which prefixes were seen. Nothing is forgotten by itself: a run is shorter than a cache lives."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def read(self, counted: InputCount, *, at_least: int, block: int = 1) -> int:
        """Tokens of the longest prefix that was seen, in whole blocks; 0 below ``at_least``."""
        for key, end in zip(reversed(counted.keys), reversed(counted.ends), strict=True):
            if key in self._seen:
                if end < at_least:
                    return 0
                return end // block * block
        return 0

    def write(self, counted: InputCount, *, marked_only: bool = False) -> int:
        """Keep the prefixes, or only those behind a mark; gives the tokens up to the last one kept."""
        last = 0
        for piece, key, end in zip(
            counted.pieces, counted.keys, counted.ends, strict=True
        ):
            if piece.marked or not marked_only:
                self._seen.add(key)
                last = end
        return last
