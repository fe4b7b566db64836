from itertools import islice

import msgspec

from bench.claude_log import COMPACTS_AT, FIXED_TOKENS, lines
from ullage.events import CallEnded, CompactionCommitted, MessageAdded
from ullage.messages import ToolResultPart
from ullage_programs.claude_code.log import ClaudeCodeReader

LINES = 1_500


def test_the_importer_reads_every_line() -> None:
    reader = ClaudeCodeReader("bench")
    events = reader.feed(msgspec.json.encode(line) for line in islice(lines(), LINES))
    assert reader.skips.reasons.total() == 0
    added = [event.message for event in events if isinstance(event, MessageAdded)]
    results = [part for message in added for part in message.of_type(ToolResultPart)]
    assert len(results) > len(added) / 3
    assert all(part.name for part in results)
    assert any(isinstance(event, CompactionCommitted) for event in events)


def test_the_usage_stays_between_what_is_fixed_and_the_compaction() -> None:
    reader = ClaudeCodeReader("bench")
    events = reader.feed(msgspec.json.encode(line) for line in islice(lines(), LINES))
    usages = [event.usage for event in events if isinstance(event, CallEnded)]
    inputs = [usage.input or 0 for usage in usages if usage is not None]
    assert len(inputs) == len(usages) > 300
    assert min(inputs) >= FIXED_TOKENS
    assert max(inputs) < 1.5 * COMPACTS_AT


def test_the_log_is_the_same_every_time() -> None:
    assert list(islice(lines(), 40)) == list(islice(lines(), 40))
