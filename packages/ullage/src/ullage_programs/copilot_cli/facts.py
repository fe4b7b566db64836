"""Copilot CLI's compaction threshold. Its log names the window (``maxPromptTokens``).

It begins to summarise at a share of the window, while the conversation goes on, and waits for the summary at a larger
one (``backgroundCompactionThreshold`` 0.80 and ``bufferExhaustionThreshold`` 0.95 in
https://docs.rs/github-copilot-sdk/1.0.0-beta.4/github_copilot_sdk/types/struct.InfiniteSessionConfig.html).
Version 1.0.102 began at 32,042, 32,069, 35,323 and 35,362 of 40,000 tokens by its own count, and not at 25,000 (n=4).
That count (``currentTokens``) goes by the reported usage: with a window of 21,000 it began at 17,487,
when its estimate of the same (``preCompactionTokens``) was 14,021.
"""

from __future__ import annotations

from ullage_programs.facts import (
    Circumstances,
    ClientLimit,
    LogPlaces,
    ProgramFacts,
    SettingsPlaces,
    in_home,
)

SHARE = 0.8

VARIABLE = "COPILOT_BACKGROUND_COMPACTION_THRESHOLD"
"""A share, named in the program of version 1.0.102."""


def threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """A share of the window."""
    share = known.number(VARIABLE)
    if share is not None and share.value < 1:
        return ClientLimit(int(size * share.value), "settings", share.place)
    return ClientLimit(int(size * SHARE), "documented", "80 % of its window")


FACTS = ProgramFacts(
    "copilot-cli",
    "Copilot CLI",
    "copilot",
    "@github/copilot",
    LogPlaces(in_home(".copilot"), ("session-state/*/events.jsonl",)),
    threshold=threshold,
    settings=SettingsPlaces(variables=(VARIABLE,)),
)
