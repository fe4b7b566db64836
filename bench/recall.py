"""How much of what left the window of real sessions `recall` finds: asked by three words of a line that has a value.

    uv run python -m bench.recall LOG...                 # logs of other programs, also as .gz
    uv run python -m bench.recall --cases 120 LOG...

A line is one of less than 300 characters with a value (`ullage.context.values`) and three words more. The first
question is three of its first six words, in any order, never the value. The second one has three more of its words, or
three others in their place. Found is a line whose value stands in the answer of at most 300 tokens. Whatever an answer
quotes is compared with the log, character by character. A log without a compaction is cut: its first four fifths left.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ullage.context.rendering import shown
from ullage.context.values import values_in
from ullage.events import CompactionCommitted, DroppedMessage, Event, MessageAdded
from ullage.importers import ImportedSession, read
from ullage.messages import Message
from ullage.meter.meter import Meter
from ullage.store.policy import RECALL_TOKENS
from ullage.store.recall import Recalled, RecallIndex, states
from ullage.tokens.truncation import estimated_tokens

LONGEST = 300
SEED = 4


class Case(NamedTuple):
    """A value, and the words that are asked for: at first, with three more, and three others."""

    value: str
    first: str
    more: str
    other: str


class Score(NamedTuple):
    """How many cases there were and how many were found, and what the answers cost."""

    cases: int = 0
    first: int = 0
    more: int = 0
    other: int = 0
    largest: float = 0.0
    quoted: int = 0
    wrong: int = 0
    ms: float = 0.0

    def plus(self, other: Score) -> Score:
        """Both together."""
        return Score(
            self.cases + other.cases,
            self.first + other.first,
            self.more + other.more,
            self.other + other.other,
            max(self.largest, other.largest),
            self.quoted + other.quoted,
            self.wrong + other.wrong,
            self.ms + other.ms,
        )


@dataclass(frozen=True, slots=True)
class OldLog:
    """What left a log: its messages by their ids, and where to ask for it."""

    messages: dict[str, Message]
    index: RecallIndex
    in_view: dict[str, bool]

    def ask(self, query: str) -> Recalled:
        return self.index.recall(query, in_view=self.in_view)


def old_of(path: Path) -> OldLog:
    """What left the window of a log."""
    events = list(_read(path).events)
    if not any(isinstance(event, CompactionCommitted) for event in events):
        events.append(_cut(events))
    meter, index = Meter(), RecallIndex()
    left: dict[str, Message] = {}
    for event in events:
        meter.emit(event)
        index.apply(event)
        if isinstance(event, MessageAdded) and event.message.origin != "summary":
            left[event.message.id] = event.message
    in_view = states(meter.state.view)
    index.recall("nothing", in_view=in_view)
    kept = {each: message for each, message in left.items() if each not in in_view}
    return OldLog(kept, index, in_view)


def _read(path: Path) -> ImportedSession:
    if path.suffix != ".gz":
        return read(path)
    with tempfile.TemporaryDirectory() as place:
        plain = Path(place) / path.stem
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        return read(plain)


def _cut(events: Iterable[Event]) -> CompactionCommitted:
    ids = [event.message.id for event in events if isinstance(event, MessageAdded)]
    gone = dict.fromkeys(ids[: 4 * len(ids) // 5])
    dropped = tuple(DroppedMessage(id=each, reason="cut") for each in gone)
    return CompactionCommitted(compaction="cut", dropped=dropped)


def cases_of(messages: Iterable[Message], count: int) -> list[Case]:
    """Cases of these messages, the same ones in every run."""
    drawn = random.Random(SEED)
    lines: list[tuple[str, list[str]]] = []
    for message in messages:
        text = "\n".join(shown(part) for part in message.parts)
        for line in text.splitlines():
            values = values_in(line) if len(line) < LONGEST else ()
            plain = re.sub("|".join(map(re.escape, values)) or "$", " ", line)
            words = list(dict.fromkeys(re.findall(r"[A-Za-z]{4,}", plain)))
            if values and len(words) >= 3:
                lines.append((values[0], words))
    cases: list[Case] = []
    for value, words in drawn.sample(lines, min(count, len(lines))):
        first = drawn.sample(words[:6], 3)
        rest = [word for word in words if word not in first]
        more = drawn.sample(rest, min(3, len(rest)))
        other = (more + first)[:3]
        asked = (first, [*first, *more], other)
        questions = (" ".join(each) for each in asked)
        cases.append(Case(value, *questions))
    return cases


def score_of(old: OldLog, cases: Sequence[Case]) -> Score:
    """Asks for each case: once, and once more where it was not found."""
    total = Score()
    texts = {
        each: "\n".join(text for part in message.parts if (text := shown(part)))
        for each, message in old.messages.items()
    }
    for case in cases:
        started = time.perf_counter()
        answer = old.ask(case.first)
        took = time.perf_counter() - started
        is_first = case.value in answer.text
        is_more = is_first or case.value in old.ask(case.more).text
        is_other = is_first or case.value in old.ask(case.other).text
        wrong = sum(not _is_exact(piece, texts) for piece in _pieces(answer))
        largest = estimated_tokens(answer.text)
        total = total.plus(
            Score(
                1,
                is_first,
                is_more,
                is_other,
                largest,
                len(answer.lines),
                wrong,
                1000 * took,
            )
        )
    return total


def _pieces(answer: Recalled) -> Iterator[tuple[str, str]]:
    for line in answer.lines:
        for piece in line.text.split("…"):
            yield line.message, piece


def _is_exact(piece: tuple[str, str], texts: dict[str, str]) -> bool:
    message, text = piece
    whole = re.compile(
        r".*?".join(map(re.escape, re.split(r"\[key\]|\\u[0-9a-f]{4}", text)))
    )
    return text in texts[message] or bool(whole.search(texts[message]))


def row(name: str, score: Score) -> str:
    share = [
        100 * found / max(1, score.cases)
        for found in (score.first, score.more, score.other)
    ]
    return (
        f"{name[:28]:28} {score.cases:5} {share[0]:7.1f} % {share[1]:7.1f} % {share[2]:7.1f} % "
        f"{score.largest:6.0f} {score.quoted:7,} {score.wrong:5} {score.ms / max(1, score.cases):7.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--cases", type=int, default=60, help="of each log")
    given = parser.parse_args()
    print(
        f"at most {RECALL_TOKENS} tokens an answer; found by the first question, within two (three words more; three"
    )
    print(
        "others), tokens of the largest answer, lines quoted, of these not as in the log, milliseconds a question"
    )
    total = Score()
    for path in given.logs:
        old = old_of(path)
        score = score_of(old, cases_of(old.messages.values(), given.cases))
        print(row(path.name.split(".")[0], score), flush=True)
        total = total.plus(score)
    print(row("all", total))


if __name__ == "__main__":
    main()
