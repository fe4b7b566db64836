"""A log through ``Compactor``: at the places where its program compacted, and at a smaller window, again and again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, Final

from bench.quality.facts import facts_in
from bench.quality.files_trail import FilesOutcome, files_before
from bench.quality.logs import LoggedSession, paired
from bench.quality.used_next import Recall, UsedOutcome, next_facts
from ullage import Compactor
from ullage.compaction import STRATEGIES
from ullage.compactor.compactor import THREAD
from ullage.errors import InputError
from ullage.events import CompactionCommitted, Event
from ullage_simulators.tokenizer import tokens

TRIGGER: Final = 0.8
SYSTEM: Final = {"role": "system", "content": "You write programs."}
TOOL: Final = {
    "type": "function",
    "function": {"name": "use", "parameters": {"type": "object"}},
}
FORGOTTEN: Final = 0.1
"""Lines that a summary made from the log leaves out by chance."""
CURVE: Final = 8


@cache
def text_tokens(text: str) -> int:
    return tokens(text)


def size_of(messages: Iterable[dict[str, Any]]) -> int:
    return sum(text_tokens(json.dumps(each, ensure_ascii=False)) for each in messages)


class Replay:
    """One log, given to a Compactor as far as it goes. ``summaries`` counts the compactions that left one."""

    def __init__(self, session: LoggedSession, window: int, *, asked: bool) -> None:
        self.session = session
        self.summary = ""
        self.summaries = 0
        self.sent = 0
        self.asked = 0
        self.index = new_index()
        summarising = [each for each in STRATEGIES if each.name in ("summary", "pieces")]
        self.compactor = Compactor(
            "gpt-4.1",
            wire="chat",
            window=window,
            trigger=TRIGGER,
            summarise=self.summarise,
            strategies=summarising if asked else None,
            on_event=self.note,
        )

    def note(self, event: Event) -> None:
        if self.index is not None:
            self.index.apply(event)
        self.summaries += (
            isinstance(event, CompactionCommitted) and event.summary is not None
        )

    def summarise(self, body: dict[str, Any]) -> str:
        self.asked += 1
        return self.summary or made_from(body, self.asked)

    def give(self, place: int) -> list[dict[str, Any]]:
        """Send a request with all items in front of ``place``; what is sent."""
        messages = [SYSTEM, *paired(self.session.items[:place])]
        fitted = self.compactor.fit_sync(
            {"model": "gpt-4.1", "messages": messages, "tools": [TOOL]}
        )
        given: list[dict[str, Any]] = list(fitted.body["messages"])
        size = size_of(given)
        self.sent += size
        self.compactor.after(
            {"prompt_tokens": size, "completion_tokens": 1, "total_tokens": size + 1}
        )
        return given

    def compact(self, summary: str) -> None:
        """Compact now, with this for the model's summary."""
        self.summary = summary
        THREAD.run(lambda: self.compactor._compact("asked"))

    def recall(self) -> Recall | None:
        """What the Agent's tool of that name gives, in versions that have it."""
        index = self.index
        if index is None:
            return None
        from ullage.store.recall import states

        in_view = states(self.compactor.meter.state.view)

        def ask(query: str, most: int) -> str:
            try:
                return str(index.recall(query, in_view=in_view, tokens=most).text)
            except InputError:  # no word to look for
                return ""

        return ask


def new_index() -> Any:
    """An index of what left; ``None`` in versions without one."""
    try:
        from ullage.store.recall import RecallIndex
    except ImportError:
        return None
    return RecallIndex()


@dataclass(slots=True)
class Behind:
    """What is left behind a compaction, by its number in the session."""

    number: int
    facts: UsedOutcome
    files: FilesOutcome


def at_own_places(session: LoggedSession) -> Iterator[tuple[Behind, Behind]]:
    """For each compaction of the log's program: what its own left, and what ours would have with the same summary."""
    if not session.compactions:
        return
    places = [0, *(each.place for each in session.compactions)]
    longest = max(size_of(paired(session.items[a:b])) for a, b in pairwise(places))
    replay = Replay(session, round(longest / TRIGGER * 1.5), asked=True)
    for number, each in enumerate(session.compactions, 1):
        wanted = next_facts(session, each.place)
        trail = files_before(session, each.place)
        view = [each.summary, *each.kept]
        own = wanted.outcome(view, sum(map(text_tokens, view)))
        replay.give(each.place)
        replay.compact(each.summary)
        given = replay.give(each.place)
        texts = [text(message) for message in given]
        ours = wanted.outcome(texts, size_of(given), replay.recall())
        yield (
            Behind(number, own, trail.left_in(view)),
            Behind(number, ours, trail.left_in(texts)),
        )


def curve(session: LoggedSession, window: int) -> Iterator[Behind]:
    """What is left behind each summary of a replay at ``window``.

    The calls of the log were made with all of it in view, so what they use next owes nothing to a summary.
    """
    replay = Replay(session, window, asked=False)
    number = summaries = 0
    for place, item in enumerate(session.items):
        if not item.is_call:
            continue
        given = replay.give(place)
        if replay.summaries == summaries:
            continue
        number += 1
        summaries = replay.summaries
        texts = [text(message) for message in given]
        facts = next_facts(session, place).outcome(texts, size_of(given), replay.recall())
        yield Behind(number, facts, files_before(session, place).left_in(texts))


def made_from(body: dict[str, Any], seed: int) -> str:
    """A summary in the words of what it is shown, as long as the request allows: for logs that hold none.

    It tells each line that has facts in short, those first whose facts stand in most messages, and leaves some out by
    chance: the summary of a model that knows what matters and forgets a little.
    """
    texts = [text(each) for each in body["messages"] if each["role"] != "system"]
    room = re.search(r"at most ([\d,]+) words", texts[-1])
    left = int(room.group(1).replace(",", "")) if room else 300
    count: Counter[str] = Counter()
    lines: dict[str, int] = {}
    for each in texts[:-1] if len(texts) > 1 else texts:
        count.update(fact.text for fact in facts_in(each))
    for each in texts:
        for line in each.splitlines():
            facts = sorted(fact.text for fact in facts_in(line[:400]))
            if facts:
                begin = " ".join(line.split()[:4])[:40]
                told = f"- {', '.join(facts)} ({begin})"
                lines[told] = max(count[fact] for fact in facts)
    chosen = Random(seed)
    ranked = sorted(lines, key=lambda line: -lines[line])
    kept: list[str] = []
    for line in ranked:
        words = len(line.split()) + line.count("/")
        if chosen.random() >= FORGOTTEN and words <= left:
            kept.append(line)
            left -= words
    return "## State\n" + "\n".join(kept)


def text(message: dict[str, Any]) -> str:
    """What a message of a Chat request says."""
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text", "") for part in content)
    calls = [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return "\n".join([content, *calls])
