"""Outcomes of what does not change with this checkout, kept: other libraries, and ours at an earlier commit.

The bench itself may change: then delete the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from bench.environments import OUT

KEPT: Final = OUT / "compaction_quality.jsonl"


def kept(key: Mapping[str, Any], made: Callable[[], Any], *, file: Path = KEPT) -> Any:
    """What ``made`` gave for this key, now or in an earlier run. Both are JSON."""
    lines = file.read_text().splitlines() if file.exists() else []
    for line in lines:
        row = json.loads(line)
        if row["key"] == key:
            return row["outcome"]
    outcome = made()
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as writing:
        writing.write(json.dumps({"key": key, "outcome": outcome}) + "\n")
    return outcome
