"""What OpenAI's models have from which version on."""

from __future__ import annotations

import re
from typing import Final

_GPT: Final = re.compile(r"gpt-(\d{1,3})(?:\.(\d{1,3}))?")


def has_new_cache(model: str) -> bool:
    """Whether its prompt cache is that of GPT-5.6 and later: kept for half an hour at least, with diagnostics.

    https://developers.openai.com/api/docs/guides/prompt-caching
    """
    version = _GPT.search(model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 6)
