"""Claude Code's session log as a running size: lines in, tokens of the next call out. Pure.

``log.py`` says where the format comes from and reads all of it. This one reads what the size of the next call needs.
"""

from __future__ import annotations

from json import dumps, loads

from ullage_programs.claude_code.lines import (
    SILENT_KINDS,
    LoggedCompaction,
    compaction_of,
    is_of_program,
    is_only_shown,
    is_placeholder,
    is_summary,
)
from ullage_programs.fields import count, mapping, objects, text
from ullage_programs.limits import SeenSizes

DENSE_EXTRA = 2.0
"""A digit or a punctuation mark weighs this much more than a letter. Fitted on one real session (Claude Code 2.1.7,
Opus 4.5, 226 calls) and two of 2.1.330 on the simulator."""

WEIGHT_PER_TOKEN = 3.75
"""Used until the session has shown its own: median of the 112 calls of that session that added a weight over 1,000."""

LEARNS_FROM = 400
"""Weight that a call must have added for its growth to count: below it, the frames of the messages dominate."""

LEAST_WEIGHT, MOST_WEIGHT = 1.0, 10.0
"""Per token. A growth outside these bounds has another cause than the text that was added."""

CHARS_PER_OUTPUT_TOKEN = 2.4
"""Of text and arguments: the median of the final counts of a recorded session (n=112)."""

MESSAGE_TOKENS = 4
"""The frame of a message or tool result beside its text."""

IMAGE_TOKENS = 1_500
"""About the most that an image costs: https://platform.claude.com/docs/en/build-with-claude/vision."""

MORE_FOLLOWS = frozenset({"", "tool_use", "pause_turn"})
"""Why a call ended whose turn goes on; empty in the lines of versions before 2.1.77."""

NAMES_KEPT, RESULTS_KEPT, MARKS_KEPT, NAME_LENGTH = 64, 32, 500, 28

SILENT = tuple(
    f'{{"type":"{kind}"'.encode()
    for kind in sorted(SILENT_KINDS | {"ai-title", "cost-state"})
)
"""How lines begin that don't change the size. They are passed over undecoded: ``api-request-blob`` repeats every
message."""

SHAPE = b'{"type":"api-request-shape"'
SNAPSHOT = b'"attachment":{"type":"prompt_snapshot"'
"""The system prompt and tools once more, in the first bytes of the line."""

_LETTERS = bytes(
    each for each in range(256) if each >= 128 or each == 32 or chr(each).isalpha()
)


class SessionSize:
    """What the lines so far say about the next call. All of it is plain JSON, so that it can be kept between looks."""

    def __init__(self) -> None:
        self.lines = 0
        self.is_partial = False
        """Whether the first line continues a conversation that is not in view."""
        self.input = 0
        """The last reported input; 0 before the first report and after a compaction."""
        self.reported = self.calls = 0
        """The same as the program repeats it, kept after a compaction; 0 where it may repeat any earlier call's. And
        how many calls reported one since the start or a compaction."""
        self.output = 0
        """The output of the call that reported it, and the characters that the log shows of this output."""
        self.shown = 0
        self.reports = 0
        self.is_unchanged = True
        self.has_stopped = self.is_turn_over = False
        """Of the lines that reported it, and whether the model ended its turn with that call."""
        self.call = ""
        self.since = 0
        """Weight of what the last reported call did not see, and tokens that are added to it."""
        self.frames = 0
        self.pending = 0
        """Weight of the largest result among them."""
        self.first_input = 0
        self.first_since = 0
        self.first_frames = 0
        """The first report of a context that is known from its start, and the messages in it: the rest is the
        system prompt and the tools."""
        self.learnt_weight = 0
        self.learnt_tokens = 0
        self.largest = 0
        self.largest_name = ""
        """Tokens of the largest tool result in view, those not yet sent included, and where it came from."""
        self.compactions = 0
        self.kept = 0
        """Tokens of the messages that the last compaction kept."""
        self.stated = 0
        """The program's own count after it: of the summary and of what comes back, without system prompt and tools."""
        self.model = ""
        self.seen_last = self.seen_passed = self.seen_compacted_at = 0
        """What ``seen`` gives, as plain numbers."""
        self.shape = 0
        """Weight of the system prompt and the tools, where they are logged."""
        self.names: dict[str, object] = {}
        """What each of the last tool calls read or ran, by its id."""
        self.results: dict[str, object] = {}
        """Tokens of each of the last tool results, by the call's id."""
        self.unsent = 0
        """How many of them the last reported call did not see."""
        self.marks: dict[str, object] = {}
        """The size after each of the last lines, by the line's id, for rewinds."""
        self.tip = ""

    @classmethod
    def restored(cls, kept: dict[str, object]) -> SessionSize | None:
        """The state that ``vars`` gave; ``None`` for anything else."""
        size = cls()
        for name, default in vars(size).items():
            value = kept.get(name)
            if type(value) is not type(default):
                return None
            setattr(size, name, value)
        return size

    # -- results --

    def tokens(self, weight: float) -> int:
        """Tokens of a text of this weight, at the rate that this session has shown."""
        rate = WEIGHT_PER_TOKEN
        if self.learnt_tokens >= 500:
            rate = self.learnt_weight / self.learnt_tokens
        return round(weight / min(max(rate, LEAST_WEIGHT), MOST_WEIGHT))

    def added(self) -> int:
        """Tokens that came since the last report."""
        return self.frames + self.tokens(self.since)

    def answered(self) -> int:
        """Tokens of the last answer. An output too small for what is shown was reported before the stream ended."""
        if is_placeholder(
            self.output,
            self.shown,
            lines=self.reports,
            is_unchanged=self.is_unchanged,
            has_stopped=self.has_stopped,
        ):
            return round(self.shown / CHARS_PER_OUTPUT_TOKEN)
        return self.output

    def next_input(self) -> int | None:
        """Tokens of the next call's input; ``None`` where nothing tells them.

        It rests on a report while ``input`` is not 0; else on the system prompt and the tools of an earlier context.
        """
        if self.input:
            return self.input + self.answered() + self.added()
        messages = max(self.stated, self.added())
        if self.first_input:
            return self.overhead() + messages
        if self.shape:
            return self.tokens(self.shape) + messages
        return None

    def lacks(self, usage: dict[str, object]) -> bool:
        """Whether the program tells its status line of a call that is not in the log yet.

        Its ``current_usage`` is of the last answer, and older versions repeat it after a compaction.
        """
        told = _sum_of_input(usage)
        if not told or told == self.reported:
            return False
        return bool(self.reported) or not (self.input or self.compactions)

    def seen(self) -> SeenSizes:
        """What the calls so far show of the program's limits."""
        return SeenSizes(
            last=self.seen_last,
            passed=self.seen_passed,
            compacted_at=self.seen_compacted_at,
        )

    def overhead(self) -> int:
        """Tokens of the system prompt and the tools, by the first report."""
        messages = self.first_frames + self.tokens(self.first_since)
        return max(0, self.first_input - messages)

    # -- lines --

    def feed(self, line: bytes) -> None:
        """One line of the log. Lines that can't be read, and kinds without a meaning here, change nothing."""
        if line.startswith(SILENT) or SNAPSHOT in line[:600]:
            return
        if line.startswith(SHAPE):
            self.shape = weigh(line)
            return
        try:
            entry = loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(entry, dict) or entry.get("isSidechain") is True:
            return
        uuid = text(entry, "uuid")
        if uuid in self.marks:
            return
        if uuid and not self.lines:
            self.is_partial = bool(text(entry, "parentUuid"))
        self.lines += 1
        self._read(entry)
        if uuid:
            self._mark(uuid)

    def _read(self, entry: dict[str, object]) -> None:
        kind = text(entry, "type")
        if kind == "assistant":
            self._assistant(entry)
        elif kind == "user":
            self._user(entry)
        elif kind == "attachment":
            self.since += weight_of_attachment(entry)
        elif kind == "system":
            self._system(entry)

    def _see(self, seen: SeenSizes) -> None:
        self.seen_last, self.seen_passed = seen.last, seen.passed
        self.seen_compacted_at = seen.compacted_at

    def _mark(self, uuid: str) -> None:
        self.tip = uuid
        self.marks[uuid] = self.next_input() or 0
        if len(self.marks) > MARKS_KEPT:
            del self.marks[next(iter(self.marks))]

    def _assistant(self, entry: dict[str, object]) -> None:
        message = mapping(entry, "message")
        if is_of_program(entry):
            return
        usage = mapping(message, "usage")
        reported = reported_input(usage)
        if not reported:
            return
        name = text(message, "id")
        if name != self.call or not name:
            self._meet(text(message, "model"))
            self._report(reported)
            self.reported = _sum_of_input(usage)
            self.call = name
        output = count(usage, "output_tokens")
        self.is_unchanged = not self.reports or (
            self.is_unchanged and output == self.output
        )
        self.reports += 1
        stop = text(message, "stop_reason")
        self.has_stopped = self.has_stopped or bool(stop)
        self.is_turn_over = stop not in MORE_FOLLOWS
        self.output = max(self.output, output)
        self._see(self.seen().after_call(reported, self.output))
        for block in objects(message.get("content")):
            self.shown += len(text(block, "text"))
            if block.get("type") == "tool_use":
                self.shown += len(dumps(block.get("input")))
                self._name(block)

    def _meet(self, model: str) -> None:
        """A new call: the sizes of another model's calls say nothing about its limits."""
        seen = self.seen().after_request()
        if self.model and model != self.model:
            seen = SeenSizes()
        self.model = model
        self._see(seen)

    def _report(self, reported: int) -> None:
        """A call saw everything so far: what is known of its size is replaced by what was reported."""
        if self.input:
            self._learn(reported - self.input - self.answered() - self.frames)
        elif self._is_opening():
            self.first_input = reported
            self.first_since, self.first_frames = self.since, self.frames
        self.input = reported
        self.calls += 1
        self._forget_answer()
        self.since = self.frames = self.pending = self.unsent = 0

    def _forget_answer(self) -> None:
        self.output = self.shown = self.reports = 0
        self.has_stopped = False

    def _is_opening(self) -> bool:
        """Whether the first report tells the system prompt and the tools from the messages."""
        if not self.compactions:
            return not self.is_partial
        return not (self.kept or self.stated) or not self.first_input

    def _learn(self, grown: int) -> None:
        if self.since < LEARNS_FROM or grown <= 0:
            return
        if not LEAST_WEIGHT <= self.since / grown <= MOST_WEIGHT:
            return
        self._measure_results(grown / self.tokens(self.since))
        if self.pending:
            self.largest = round(grown * self.pending / self.since)
        self.learnt_weight += self.since
        self.learnt_tokens += grown

    def _measure_results(self, factor: float) -> None:
        """The results that this call saw first have the size that it shows."""
        unsent = list(self.results)[-self.unsent :] if self.unsent else []
        for call in unsent:
            self.results[call] = round(count(self.results, call) * factor)

    def _name(self, block: dict[str, object]) -> None:
        given = mapping(block, "input")
        path = text(given, "file_path") or text(given, "notebook_path")
        subject = path.replace("\\", "/").rsplit("/", 1)[-1]
        for key in ("command", "pattern", "url", "description"):
            subject = subject or text(given, key)
        first = subject.strip().split("\n")[0]
        called = f"{text(block, 'name')} {first}".strip()
        self.names[text(block, "id")] = called[:NAME_LENGTH]
        if len(self.names) > NAMES_KEPT:
            del self.names[next(iter(self.names))]

    def _user(self, entry: dict[str, object]) -> None:
        if is_only_shown(entry):
            return
        content = mapping(entry, "message").get("content")
        results = [each for each in objects(content) if each.get("type") == "tool_result"]
        if not results and not is_summary(entry):
            self._follow(entry)
        self.frames += MESSAGE_TOKENS
        self.since += weight_of(content)
        for block in results:
            self._result(block)

    def _follow(self, entry: dict[str, object]) -> None:
        """A prompt that follows an older line is a rewind: what came after that line is no longer sent."""
        parent = text(entry, "parentUuid")
        kept = self.marks.get(parent)
        if parent == self.tip or not self.input or not isinstance(kept, int) or kept <= 0:
            return
        self.input = kept
        self.reported = 0
        self._forget_answer()
        self.since = self.frames = self.pending = self.unsent = 0
        self.largest, self.largest_name = 0, ""

    def _result(self, block: dict[str, object]) -> None:
        weight = weight_of(block.get("content"))
        self.frames += MESSAGE_TOKENS
        self.results[text(block, "tool_use_id")] = self.tokens(weight)
        self.unsent += 1
        if len(self.results) > RESULTS_KEPT:
            del self.results[next(iter(self.results))]
        if self.tokens(weight) <= self.largest:
            return
        self.largest = self.tokens(weight)
        self.pending = weight
        name = self.names.get(text(block, "tool_use_id"))
        self.largest_name = name if isinstance(name, str) else ""

    def _system(self, entry: dict[str, object]) -> None:
        kind = text(entry, "subtype")
        if kind == "compact_boundary":
            self._compacted(compaction_of(entry))
        elif kind == "microcompact_boundary" and self.input:
            saved = count(mapping(entry, "microcompactMetadata"), "tokensSaved")
            self.input = max(1, self.input - saved)

    def _compacted(self, compaction: LoggedCompaction) -> None:
        is_automatic = compaction.is_automatic
        seen = self.seen().after_compaction(compaction.before, is_automatic=is_automatic)
        self._see(seen)
        self.kept = self._preserved(compaction)
        self.stated = compaction.after
        self.compactions += 1
        self.input = self.calls = 0
        self._forget_answer()
        self.since = self.pending = self.unsent = 0
        self.frames = self.kept
        self.largest, self.largest_name = 0, ""

    def _preserved(self, compaction: LoggedCompaction) -> int:
        """Tokens of the messages that a compaction kept as they were: they are not logged again."""
        ends = compaction.listed or (compaction.head, compaction.tail)
        head = ends[0]
        tail = self.marks.get(ends[-1])
        if not isinstance(tail, int) or head not in self.marks:
            return 0
        before: object = 0
        for uuid, mark in self.marks.items():
            if uuid == head:
                break
            before = mark
        if not isinstance(before, int):
            return 0
        return max(0, tail - (before or self.overhead()))


def reported_input(usage: dict[str, object]) -> int:
    """The whole input that a usage object reports; of several sampling passes the last one's."""
    for last in objects(usage.get("iterations"))[-1:]:
        if "iterations" not in last and reported_input(last):
            return reported_input(last)
    return _sum_of_input(usage)


def _sum_of_input(usage: dict[str, object]) -> int:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(count(usage, name) for name in names)


def weigh(data: bytes) -> int:
    """The weight of UTF-8 text: its bytes, of which digits and punctuation count more than letters and blanks."""
    dense = len(data.translate(None, _LETTERS))
    return len(data) + round(dense * DENSE_EXTRA)


def weight_of(content: object) -> int:
    """The weight of message content in the next request. Answers are not weighed: their output is reported."""
    if isinstance(content, str):
        return weigh(content.encode("utf-8", "replace"))
    total = 0
    for block in objects(content):
        kind = block.get("type")
        if kind == "text":
            total += weight_of(block.get("text"))
        elif kind == "tool_result":
            total += weight_of_result(block.get("content"))
        elif kind in ("image", "document"):
            total += round(IMAGE_TOKENS * WEIGHT_PER_TOKEN)
    return total


def weight_of_result(content: object) -> int:
    """The weight of a tool result, which holds text and images but no further results."""
    if isinstance(content, str):
        return weight_of(content)
    inside = [each for each in objects(content) if each.get("type") != "tool_result"]
    return weight_of(inside)


def weight_of_attachment(entry: dict[str, object]) -> int:
    """What the program itself put into the context: as it was sent, where the line holds that."""
    rendered = objects(entry.get("rendered"))
    if rendered:
        return sum(weight_of(each.get("content")) for each in rendered)
    attachment = mapping(entry, "attachment")
    values = [value for name, value in attachment.items() if name != "type"]
    return weight_of_texts(values, 0)


def weight_of_texts(value: object, depth: int) -> int:
    """The weight of all text in a value, a few levels deep."""
    if isinstance(value, str):
        return weight_of(value)
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list) or depth > 6:
        return 0
    return sum(weight_of_texts(each, depth + 1) for each in value)
