"""The status lines of qwen-code and Copilot CLI, from the JSON that they give.

Seen with qwen-code 0.24.4 and Copilot CLI 1.0.102 against a simulator. The shares and the reserve are those of
``ullage.clients.qwen_code`` and ``ullage.clients.copilot_cli``, which have their sources; a test holds them together.
"""

from __future__ import annotations

import os
import re
import sys

from ullage_line.drawing import LineContent, draw
from ullage_line.fields import amount, count, mapping, text
from ullage_line.look import read_object, write_object
from ullage_line.places import session_file
from ullage_line.status import read_settings
from ullage_line.threshold import Threshold

QWEN_SHARE, QWEN_RESERVE, QWEN_SINCE = 0.85, 33_000, (0, 24)
COPILOT_SHARE = 0.8
COPILOT_VARIABLE = "COPILOT_BACKGROUND_COMPACTION_THRESHOLD"


def print_line(content: LineContent) -> None:
    """Print one line by the user's settings."""
    line = draw(content, read_settings())
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")


def qwen_code(status: dict[str, object]) -> LineContent:
    """``current_usage`` is the last call's input, or what qwen-code itself expects after a compaction."""
    context = mapping(status, "context_window")
    window = count(context, "context_window_size")
    used = count(context, "current_usage")
    directory = text(mapping(status, "workspace"), "current_dir")
    files = []
    for place in (directory, os.path.expanduser("~")):
        files.append(read_object(os.path.join(place, ".qwen", "settings.json")))
    point = qwen_threshold(window, text(status, "version"), files)
    return _content(used, window, point, is_reported=False)


def qwen_threshold(window: int, version: str, files: list[dict[str, object]]) -> int:
    """The input at which qwen-code compacts; 0 where it is unknown. ``files`` are its settings, the strongest first."""
    numbers = tuple(int(each) for each in re.findall("[0-9]{1,6}", version)[:3])
    if numbers < QWEN_SINCE:
        return 0
    share = 0.0
    for file in files:
        share = share or amount(mapping(file, "context"), "autoCompactThreshold")
    if not 0 < share <= 1:
        share = QWEN_SHARE
    point = int(window * share)
    if 0 < window - QWEN_RESERVE < point:
        return window - QWEN_RESERVE
    return point


def copilot_cli(status: dict[str, object]) -> LineContent:
    """The last call's usage, and what its own count grew by since. Its ``current_usage`` is the whole session's."""
    context = mapping(status, "context_window")
    window = count(context, "context_window_size")
    reported = count(context, "last_call_input_tokens")
    reported += count(context, "last_call_output_tokens")
    counted = count(context, "current_context_tokens")
    if not reported:
        return _content(0, window, 0, is_reported=False)
    growth = _growth(text(status, "session_id"), reported, counted)
    used = max(1, reported + growth)
    point = copilot_threshold(window, os.environ.get(COPILOT_VARIABLE, ""))
    return _content(used, window, point, is_reported=not growth)


def copilot_threshold(window: int, share: str) -> int:
    """The tokens at which Copilot CLI begins to compact. ``share`` is what the environment sets."""
    try:
        chosen = float(share)
    except ValueError:
        chosen = COPILOT_SHARE
    if not 0 < chosen < 1:
        chosen = COPILOT_SHARE
    return int(window * chosen)


def _growth(session: str, reported: int, counted: int) -> int:
    """What came or went by Copilot's own count since the last call was first seen: results, or a compaction."""
    place = session_file(session, ".copilot.json")
    seen = read_object(place)
    if not counted or not session:
        return 0
    if count(seen, "reported") != reported:
        write_object(place, {"reported": reported, "counted": counted})
        return 0
    return counted - count(seen, "counted")


def _content(used: int, window: int, point: int, *, is_reported: bool) -> LineContent:
    threshold = Threshold(point, is_observed=False) if point else None
    return LineContent(
        tokens=used or None,
        is_reported=is_reported,
        window=window,
        threshold=threshold,
        largest=0,
        largest_name="",
        cost=0.0,
        is_compacted=False,
    )
