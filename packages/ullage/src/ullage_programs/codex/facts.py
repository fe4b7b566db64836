"""Codex's window and compaction threshold.

Its log names the window (``model_context_window``), which is 95 % of the model's. It compacts at 90 % of that one,
or at ``model_auto_compact_token_limit`` where that is lower: https://github.com/openai/codex,
``codex-rs/protocol/src/openai_models.rs``. Settings: https://developers.openai.com/codex/config-reference.
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

EFFECTIVE = 95
"""Percent of the model's window that Codex works with."""

COMPACTS_AT = 90
"""Percent of the model's window at which it compacts."""

WINDOW = 258_400
"""95 % of 272,000, which Codex 0.169 has for all but two of its models (its own list, n=12)."""


def window(known: Circumstances) -> ClientLimit | None:
    """95 % of the window that is set, or of the one that Codex has for the models of OpenAI."""
    chosen = known.number("model_context_window")
    if chosen is not None:
        size = int(chosen.value) * EFFECTIVE // 100
        return ClientLimit(size, "settings", f"{EFFECTIVE} % of {chosen.place}")
    if known.model.startswith(("gpt-5", "gpt-6")):
        return ClientLimit(
            WINDOW, "documented", "95 % of 272,000, Codex's own list of models"
        )
    return None


def threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """90 % of the model's window, or the limit that is set below it."""
    scope = known.settings.get("model_auto_compact_token_limit_scope")
    if scope is not None and scope.value != "total":
        return None  # what is before the conversation does not count then, and the log does not say how much it is
    model_window = -(-size * 100 // EFFECTIVE)
    point = model_window * COMPACTS_AT // 100
    limit = known.number("model_auto_compact_token_limit")
    if limit is not None and limit.value < point:
        return ClientLimit(int(limit.value), "settings", limit.place)
    note = f"{COMPACTS_AT} % of the model's window of {model_window:,}"
    return ClientLimit(point, "documented", note)


FACTS = ProgramFacts(
    "codex",
    "Codex",
    "codex",
    "@openai/codex",
    LogPlaces(
        in_home(".codex", "CODEX_HOME"),
        ("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
    ),
    window,
    threshold,
    SettingsPlaces(
        logs="sessions",
        levels=3,
        own=("config.toml",),
        keys=(
            "model_context_window",
            "model_auto_compact_token_limit",
            "model_auto_compact_token_limit_scope",
        ),
    ),
    checks_every_request=True,
)
