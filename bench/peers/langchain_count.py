"""langchain-core's ``count_tokens_approximately`` on a history, as message objects that were made beforehand.

Run by ``bench.reading`` in an environment of its own: python bench/peers/langchain_count.py HISTORY.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from langchain_core.messages import convert_to_messages  # type: ignore[import-not-found]
from langchain_core.messages.utils import count_tokens_approximately  # type: ignore[import-not-found]
from timing import report

history = convert_to_messages(json.loads(Path(sys.argv[1]).read_text()))
report(
    ["langchain-core"],
    {
        "count_tokens_approximately (length/4)": lambda: count_tokens_approximately(
            history
        )
    },
)
