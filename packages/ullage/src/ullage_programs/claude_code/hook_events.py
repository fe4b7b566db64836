"""Claude Code's hooks: a warning about a large tool result, and what the model is told before a compaction.

https://code.claude.com/docs/en/hooks. A hook's ``tool_response`` is not what the model gets: of an output of 31,048
characters Claude Code 2.1.197 sent 2,236. So sizes come from the log, which holds a result only after the hooks of its
own call have ended (2.1.330): a warning comes at the next call, or when the turn ends.
"""

from __future__ import annotations

import sys
from json import dumps

from ullage_programs.claude_code.facts import LONG_WINDOW, WINDOW
from ullage_programs.claude_code.look import look
from ullage_programs.claude_code.size import SessionSize
from ullage_programs.claude_code.status import threshold_of
from ullage_programs.fields import count, text
from ullage_programs.files import read_object, write_object
from ullage_programs.line.drawing import amount, clean
from ullage_programs.line.places import session_file
from ullage_programs.line.print import read_input, read_settings
from ullage_programs.line.room import answer_of, room_note
from ullage_programs.line.settings import LineSettings


def main() -> None:
    """Answer one event. Prints JSON, or nothing."""
    event = read_input()
    log = text(event, "transcript_path")
    size = look(log) if log else None
    if size is None:
        return
    found = warning(event, size, read_settings())
    if found:
        sys.stdout.write(dumps(found) + "\n")


def warning(
    event: dict[str, object], size: SessionSize, settings: LineSettings
) -> dict[str, object]:
    """The answer about results that are new since the last event, and about the room; empty when nothing is to say."""
    log = text(event, "transcript_path")
    seen_file = session_file(log, ".seen.json")
    seen = read_object(seen_file)
    write_object(seen_file, dict.fromkeys(size.results))
    window = known_window(log, size)
    told = read_object(session_file(log, ".window.json"))
    end = threshold_of({**told, **event}, window, size)
    if end is None:
        return {}
    most = end.tokens or window
    left = most - (size.next_input() or 0)
    large = []
    for call in size.results:
        tokens = count(size.results, call)
        if call not in seen and tokens >= settings.large_share * max(0, left + tokens):
            large.append((tokens, call))
    answer: dict[str, object] = {}
    told_model = ""
    if large:
        tokens, call = max(large)
        name = size.names.get(call)
        said = describe(name if isinstance(name, str) else "", tokens, left)
        answer["systemMessage"] = f"ullage: {said}"
        if settings.tell_model:
            told_model = (
                f"{said} Read less at a time: a range of lines, a search, the head."
            )
    if text(event, "hook_event_name") != "PostToolUse":
        return answer
    if settings.tell_room:
        told_model = f"{told_model} {room_note(log, left, most)}".strip()
    if told_model:
        answer.update(answer_of(told_model))
    return answer


def describe(name: str, tokens: int, left: int) -> str:
    """One sentence about a large result, ``left`` being what is left behind it."""
    taken = f"{clean(name) or 'A tool result'} took {amount(tokens)} tokens"
    if left <= 0:
        return f"{taken}, more than was left before compaction."
    share = round(100 * tokens / (left + tokens))
    return (
        f"{taken}, {share} % of what was left; {amount(left)} are left before compaction."
    )


def known_window(log: str, size: SessionSize) -> int:
    """The window that Claude Code last told the status line, else its usual one."""
    told = count(read_object(session_file(log, ".window.json")), "window")
    if told:
        return told
    return LONG_WINDOW if size.input > WINDOW else WINDOW
