"""litellm's ``token_counter`` on a history: the real o200k tokenizer, everything at every call.

Run by ``bench.reading`` in an environment of its own: python bench/peers/litellm_count.py HISTORY.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import litellm  # type: ignore[import-not-found]
from timing import report

history = json.loads(Path(sys.argv[1]).read_text())
report(
    ["litellm", "tiktoken"],
    {
        "token_counter (o200k)": lambda: litellm.token_counter(
            model="gpt-4o", messages=history
        )
    },
)
