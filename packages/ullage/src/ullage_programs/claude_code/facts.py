"""Claude Code's window and compaction threshold.

Documented: https://code.claude.com/docs/en/model-config (``[1m]``), https://code.claude.com/docs/en/settings and
https://code.claude.com/docs/en/env-vars (the settings below). Measured with versions 2.1.197 and 2.1.330 against a
simulator: the window that ``--output-format json`` names for each model (n=10), and the threshold: with
``CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000`` sessions compacted when their next request came to 67,714 and 68,030 tokens
(n=2), claude-opus-4-6 never let a request above 167,000 out (n=3 compactions). Real sessions compacted at 167,094,
167,117, 167,731 and 170,251.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ullage_programs.facts import (
    TOLD_WINDOW,
    Circumstances,
    ClientLimit,
    ClientSetting,
    ClientSettings,
    K,
    LogPlaces,
    ProgramFacts,
    SettingsPlaces,
    is_on,
    number_of,
    turned_off,
)

WINDOW = 200 * K
LONG_WINDOW = 1_000 * K

SUMMARY_RESERVE = 20 * K
"""Kept free for the summary, unless the model's largest answer is smaller."""

SHORT_ANSWERS = {"claude-3-5-": 8_192, "claude-3-haiku": 4_096, "claude-3-opus": 4_096}
"""Models whose largest answer is smaller: https://platform.claude.com/docs/en/about-claude/models/overview."""

SHORT_RESERVE_SINCE = (2, 1, 21)
"""32,000 tokens were kept free before this version: 2.0.76 to 2.1.20 compacted above 155,000 (n=27 in public
logs), 2.1.25 above 167,000."""

BUFFER = 13 * K
"""Kept free below that: together 33,000 (https://github.com/anthropics/claude-code/issues/46331)."""

SMALLEST_WINDOW = 100 * K
"""A smaller ``CLAUDE_CODE_AUTO_COMPACT_WINDOW`` counts as this (measured with 2.1.330)."""

LONG_BY_ITSELF = re.compile(
    r"claude-(opus-(4-[789]|[5-9])|sonnet-[5-9]|haiku-([6-9]|5-5)|fable|mythos)(?!\d)"
)
"""Models with a window of 1M without ``[1m]``, in 2.1.330 (its own list; opus-4-8, opus-5-5 and sonnet-5 measured)."""

LONG_SINCE = (2, 1, 296)
"""Since this version at any address (https://github.com/xsyetopz/claudetto/wiki/Compaction-And-Context). 2.1.197 used
200,000 tokens for the same models at any address but Anthropic's own (measured, n=2)."""

ARMED = re.compile(r"claude-(opus|sonnet)-4-6(?!\d)")
"""Models of 200,000 tokens that are compacted at the threshold in newer versions."""

ARMED_SINCE = (2, 1, 197)
"""From this version on, other models of 200,000 tokens are compacted only when the provider refuses a request, unless a
window is set: claude-sonnet-4-5 sent requests of 189,264 tokens (2.1.330) and 171,124 tokens (2.1.197)."""


def window(known: Circumstances) -> ClientLimit | None:
    """200,000 tokens, or 1M for a model with ``[1m]`` and for newer models. Unknown for models of other vendors."""
    if "claude" not in known.model.lower():
        return None
    disabled = known.settings.get("CLAUDE_CODE_DISABLE_1M_CONTEXT")
    if disabled is not None and is_on(disabled):
        return ClientLimit(WINDOW, "settings", disabled.place)
    told = known.number(TOLD_WINDOW + known.model.removesuffix("[1m]"))
    if told is not None:
        return ClientLimit(int(told.value), "settings", told.place)
    if "[1m]" in known.model.lower():
        return ClientLimit(LONG_WINDOW, "documented", "the model's name ends in [1m]")
    if is_long_by_itself(known):
        return ClientLimit(LONG_WINDOW, "documented", "this model's in Claude Code")
    for name in ("ANTHROPIC_MODEL", "model"):
        chosen = known.settings.get(name)
        if chosen is not None:
            if _is_long_choice(chosen.value, known.model.lower()):
                return ClientLimit(LONG_WINDOW, "settings", chosen.place)
            break
    return ClientLimit(WINDOW, "documented", "larger for models named [1m]")


def _is_long_choice(value: object, model: str) -> bool:
    """Whether the model that is set, such as ``opus[1m]``, is this one with the long window."""
    chosen = value.lower() if isinstance(value, str) else ""
    name = chosen.removesuffix("[1m]")
    return name != chosen and name.removesuffix("plan") in model


def is_long_by_itself(known: Circumstances) -> bool:
    """Whether this version gives the model 1M tokens without being asked to."""
    is_new = not known.version or known.version >= LONG_SINCE
    return is_new and LONG_BY_ITSELF.search(known.model.lower()) is not None


def threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """33,000 tokens below the window or the window that is set; lower by a percentage that is set."""
    for name in ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"):
        if off := turned_off(known, name, is_on):
            return off
    if off := turned_off(known, "autoCompactEnabled"):
        return off
    chosen = _chosen_window(known)
    if chosen is None and not _is_armed(known, size):
        note = "when the provider refuses a request as too long"
        return ClientLimit(size, "documented", note)
    if chosen is not None:
        size = min(size, round(number_of(chosen) or size))
    reserve = _reserve(known)
    room = size - reserve
    point = room - BUFFER
    percentage = known.number("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE")
    if percentage is not None and percentage.value <= 100:
        lower = int(room * percentage.value / 100)
        if lower < point:
            return ClientLimit(lower, "settings", percentage.place)
    below = f"{reserve + BUFFER:,} below the window"
    if chosen is None:
        return ClientLimit(max(0, point), "documented", below)
    return ClientLimit(max(0, point), "settings", f"{below}, {chosen.place}")


def _reserve(known: Circumstances) -> int:
    """What is kept free for the summary."""
    if known.version and known.version < SHORT_RESERVE_SINCE:
        return 32 * K
    for name, largest in SHORT_ANSWERS.items():
        if name in known.model.lower():
            return largest
    return SUMMARY_RESERVE


def _is_armed(known: Circumstances, size: int) -> bool:
    """Whether this version compacts the model before the provider refuses a request."""
    if known.version < ARMED_SINCE:
        return True
    model = known.model.lower()
    if size > WINDOW:
        return is_long_by_itself(known)
    return "[1m]" not in model and ARMED.search(model) is not None


def _chosen_window(known: Circumstances) -> ClientSetting | None:
    """The window for compaction that the environment or the settings set."""
    variable = _size(known.settings.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW"))
    if variable is not None:
        smallest = max(SMALLEST_WINDOW, number_of(variable) or 0)
        return variable._replace(value=smallest)
    own = _of_model(known.settings, known.model)
    for setting in (own, known.settings.get("autoCompactWindow")):
        size = _size(setting)
        if size is not None and (number_of(size) or 0) >= SMALLEST_WINDOW:
            return size
    return None


def _of_model(settings: ClientSettings, model: str) -> ClientSetting | None:
    table = settings.get("modelSettings")
    if table is None or not isinstance(table.value, dict):
        return None
    own = table.value.get(model)
    if not isinstance(own, dict):
        return None
    return table._replace(value=own.get("autoCompactWindow"))


def _size(setting: ClientSetting | None) -> ClientSetting | None:
    """The setting as a number; ``200k`` and ``1m`` are numbers as well."""
    if setting is None:
        return None
    if isinstance(setting.value, str):
        text = setting.value.strip().lower()
        unit = {"k": 1_000, "m": 1_000_000}.get(text[-1:], 1)
        digits = number_of(setting._replace(value=text.rstrip("km")))
        return None if digits is None else setting._replace(value=digits * unit)
    return setting if number_of(setting) is not None else None


def directories(environment: Mapping[str, str], home: str) -> list[str]:
    """``CLAUDE_CONFIG_DIR`` (https://code.claude.com/docs/en/settings), or its two usual places."""
    named = environment.get("CLAUDE_CONFIG_DIR", "")
    usual = [f"{home}/.claude", f"{home}/.config/claude"]
    return [each for each in named.split(",") if each] or usual


FACTS = ProgramFacts(
    "claude-code",
    "Claude Code",
    "claude",
    "@anthropic-ai/claude-code",
    LogPlaces(directories, ("projects/*/*.jsonl",)),
    window,
    threshold,
    SettingsPlaces(
        logs="projects",
        levels=1,
        own=("../.claude.json", "settings.json"),
        project=(".claude/settings.json", ".claude/settings.local.json"),
        variables=(
            "DISABLE_COMPACT",
            "DISABLE_AUTO_COMPACT",
            "CLAUDE_CODE_DISABLE_1M_CONTEXT",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
            "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
            "ANTHROPIC_MODEL",
        ),
        keys=("autoCompactEnabled", "autoCompactWindow", "modelSettings", "model"),
        env="env",
    ),
    checks_every_request=True,
)
