"""OpenCode's window and compaction threshold.

https://github.com/anomalyco/opencode, ``packages/opencode/src/session/overflow.ts`` (what is stated here is the rule of
1.18.33, read in its package); settings: https://opencode.ai/docs/config.
"""

from __future__ import annotations

from collections.abc import Mapping

from ullage_programs.facts import (
    Circumstances,
    ClientLimit,
    K,
    LogPlaces,
    ProgramFacts,
    SetNumber,
    SettingsPlaces,
    is_on,
    turned_off,
)

LARGEST_ANSWER = 32 * K
"""An answer is cut there, whatever the model could give."""

BUFFER = 20 * K
"""Kept free below the limit of an input, unless ``compaction.reserved`` is set or the largest answer is smaller."""


def window(known: Circumstances) -> ClientLimit | None:
    """The window that the user's own model is declared with."""
    chosen = _of_model(known, "context")
    if chosen is None:
        return None
    return ClientLimit(int(chosen.value), "settings", chosen.place)


def threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """A buffer below the model's input limit; without such a limit, the window less the largest answer."""
    if off := turned_off(known, "OPENCODE_DISABLE_AUTOCOMPACT", is_on):
        return off
    if off := turned_off(known, "compaction.auto"):
        return off
    answer = _of_model(known, "output")
    largest = known.max_output if answer is None else int(answer.value)
    output = min(LARGEST_ANSWER, largest or LARGEST_ANSWER)
    own_input = _of_model(known, "input")
    declared = _of_model(known, "context")
    cap = known.input_cap if own_input is None else int(own_input.value)
    if declared is not None and own_input is None:
        cap = None
    if cap is None:
        note = f"{output:,} below the window, kept for the answer"
        return ClientLimit(max(0, size - output), "documented", note)
    reserved = known.number("compaction.reserved")
    if reserved is not None:
        left = max(0, cap - int(reserved.value))
        return ClientLimit(left, "settings", reserved.place)
    buffer = min(BUFFER, output)
    note = f"{buffer:,} below the model's input limit of {cap:,}"
    return ClientLimit(max(0, cap - buffer), "documented", note)


def _of_model(known: Circumstances, kind: str) -> SetNumber | None:
    """A limit with which ``opencode.json`` declares the model, and its place."""
    return known.number(f"provider.{known.provider}.models.{known.model}.limit.{kind}")


def directories(environment: Mapping[str, str], home: str) -> list[str]:
    """The XDG data directory: https://github.com/anomalyco/opencode, ``packages/opencode/src/global``."""
    base = environment.get("XDG_DATA_HOME") or f"{home}/.local/share"
    return [f"{base}/opencode"]


FACTS = ProgramFacts(
    "opencode",
    "OpenCode",
    "opencode",
    "opencode-ai",
    LogPlaces(directories),
    window,
    threshold,
    SettingsPlaces(
        home=(
            ".config/opencode/config.json",
            ".config/opencode/opencode.json",
            ".config/opencode/opencode.jsonc",
        ),
        project=("opencode.json", "opencode.jsonc"),
        variables=("OPENCODE_DISABLE_AUTOCOMPACT",),
        keys=("compaction.auto", "compaction.reserved", "provider."),
    ),
    checks_every_request=True,
)
