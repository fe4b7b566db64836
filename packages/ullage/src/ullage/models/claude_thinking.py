"""Which ways to think a Claude model refuses, by its name."""

from __future__ import annotations

import re
from typing import Final

ADAPTS_ALONE: Final = re.compile(r"fable|mythos|opus-(4[-.][7-9]|5)|(sonnet|haiku)-5")
"""Models that refuse a budget of thinking: they take ``adaptive`` and an effort
(https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html; Claude 5:
https://docs.memberjunction.org/v6.2/api/functions/_memberjunction_ai-anthropic.UsesAdaptiveThinking.html)."""

ALWAYS_THINKS: Final = re.compile(r"(fable|mythos)-5|opus-5[-.]5")
"""Models that refuse ``disabled``: the least is ``adaptive`` with an effort of ``low``
(https://platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5)."""

THINKS_BETWEEN_TOOLS: Final = re.compile(r"sonnet-5[-.]5")
"""Models that refuse ``disabled``, whose least is ``between_tools``; the same page."""
