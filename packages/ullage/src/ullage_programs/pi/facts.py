"""pi's compaction threshold: the window less ``reserveTokens``.

https://github.com/badlogic/pi-mono, ``packages/coding-agent/docs/compaction.md`` and ``docs/settings.md`` (the same in
the package of 0.87.1). Its window is that of its own list of models, which its log does not name: 0.87.1 has 1M for
claude-sonnet-4-5, and compacts later than its rule gives for the model's 200,000. It compacts at the end of a turn.
"""

from __future__ import annotations

from ullage_programs.facts import (
    Circumstances,
    ClientLimit,
    LogPlaces,
    ProgramFacts,
    SettingsPlaces,
    in_home,
    turned_off,
)

RESERVE = 16_384


def threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """The window less the reserve that is set for the model, for all models, or by default."""
    if off := turned_off(known, "compaction.enabled"):
        return off
    model = f"{known.provider}/{known.model}"
    for name in (
        f"compaction.modelOverrides.{model}.reserveTokens",
        "compaction.reserveTokens",
    ):
        reserve = known.number(name)
        if reserve is not None:
            left = max(0, size - int(reserve.value))
            return ClientLimit(left, "settings", reserve.place)
    return ClientLimit(
        max(0, size - RESERVE), "documented", f"{RESERVE:,} below the window"
    )


FACTS = ProgramFacts(
    "pi",
    "pi",
    "pi",
    "@earendil-works/pi-coding-agent",
    LogPlaces(in_home(".pi/agent", "PI_CODING_AGENT_DIR"), ("sessions/*/*.jsonl",)),
    threshold=threshold,
    settings=SettingsPlaces(
        logs="sessions",
        levels=1,
        own=("settings.json",),
        project=(".pi/settings.json",),
        keys=(
            "compaction.enabled",
            "compaction.reserveTokens",
            "compaction.modelOverrides.",
        ),
    ),
    checks_every_request=True,
)
