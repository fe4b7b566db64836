"""What single lines of Claude Code's log mean: asked by the reader of whole logs and by the status line's."""

from __future__ import annotations

from ullage_programs.fields import count, mapping, objects, text
from ullage_programs.record import Record

SILENT_KINDS = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "api-request",
        "api-request-blob",
        "atis-latch",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "rate_limit_event",
        "result",
        "saved_hook_context",
        "speculation-accept",
        "started",
        "stream_event",
        "tag",
        "task-summary",
        "tools-used",
        "worktree-state",
    }
)
"""Kinds of lines that say nothing about the context."""

CHARS_PER_TOKEN_AT_MOST = 4.0
"""Characters of text, thinking and arguments per output token above which the count is a streaming placeholder. Final
counts of a recorded session (Opus 4.5) lie at 2.4 in the median and at most at 4.0 (n=112)."""

EARLY_AT_MOST = 15
"""Output tokens of a count from the start of a stream, which all lines of the call repeat."""


def is_placeholder(
    output: int, shown: int, *, lines: int, is_unchanged: bool, has_stopped: bool
) -> bool:
    """Whether the output that a call's lines report is a count from the start of its stream.

    ``shown`` is the characters of the answer. The final count never came where ``lines`` of them are unchanged and none
    says why the model stopped.
    """
    is_early = not has_stopped and lines > 1 and is_unchanged and output <= EARLY_AT_MOST
    return is_early or shown > CHARS_PER_TOKEN_AT_MOST * max(output, 1)


def is_set_to_zero(usage: dict[str, object]) -> bool:
    """Whether the program took the usage of an answer away, and that of its passes tells what it was.

    So 2.1.226 logs answers that a compaction kept, behind it: their input says nothing of what is in view now (n=1).
    """
    fields = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return not any(count(usage, each) for each in (*fields, "output_tokens")) and any(
        count(each, "output_tokens") for each in objects(usage.get("iterations"))
    )


def is_api_error(entry: dict[str, object]) -> bool:
    """Whether an answer is an error of the API, which is not sent back."""
    return entry.get("isApiErrorMessage") is True


def is_of_program(entry: dict[str, object]) -> bool:
    """Whether the program wrote an answer in the model's place."""
    return is_api_error(entry) or mapping(entry, "message").get("model") == "<synthetic>"


def is_summary(entry: dict[str, object]) -> bool:
    """Whether a message is the summary of a compaction."""
    return entry.get("isCompactSummary") is True


def is_only_shown(entry: dict[str, object]) -> bool:
    """Whether a message is for people and is not sent."""
    return entry.get("isVisibleInTranscriptOnly") is True and not is_summary(entry)


class LoggedCompaction(Record):
    """What a ``compact_boundary`` line says. Tokens; 0 is unknown."""

    trigger: str = ""
    before: int = 0
    after: int = 0
    listed: tuple[str, ...] = ()
    """The lines whose messages stay as they are; in other versions a stretch of them."""
    head: str = ""
    tail: str = ""

    @property
    def is_automatic(self) -> bool:
        """Whether the program compacted without being asked."""
        return self.trigger == "auto"


NO_COMPACTION = LoggedCompaction()


def compaction_of(entry: dict[str, object]) -> LoggedCompaction:
    """The compaction that a line tells of, in the spelling of a log or of ``stream-json``."""
    metadata = mapping(entry, "compactMetadata") or mapping(entry, "compact_metadata")
    segment = mapping(metadata, "preservedSegment")
    segment = segment or mapping(metadata, "preserved_segment")
    uuids = mapping(metadata, "preservedMessages").get("uuids")
    listed = uuids if isinstance(uuids, list) else []
    return LoggedCompaction(
        trigger=text(metadata, "trigger"),
        before=count(metadata, "preTokens") or count(metadata, "pre_tokens"),
        after=count(metadata, "postTokens") or count(metadata, "post_tokens"),
        listed=tuple(each for each in listed if isinstance(each, str)),
        head=text(segment, "headUuid") or text(segment, "head_uuid"),
        tail=text(segment, "tailUuid") or text(segment, "tail_uuid"),
    )
