"""The table of docs/settings.md, made from the settings themselves.

uv run python -c "from ullage.runtime.settings_table import table; print(table())"
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ullage.runtime.settings import EVERYWHERE, KEYS, Meaning, Settings, meaning_of

_IN_WORDS: Final = {
    "argument": "an argument",
    "session": "the session",
    "user file": "the user's file",
    "project file": "a project's file",
    "environment": "the environment",
}


def table() -> str:
    """All keys as Markdown: key, meaning, default, unit, and where each may be said."""
    rows = ["| key | meaning | default | unit | where |", "|---|---|---|---|---|"]
    defaults = Settings()
    for key in KEYS:
        meaning = meaning_of(key)
        default = meaning.default or _shown(getattr(defaults, key))
        rows.append(f"| `{key}` | {meaning.meaning} | {default} | {meaning.unit} | {_where(meaning)} |")
    return "\n".join(rows)


def _where(meaning: Meaning) -> str:
    missing = [place for place in EVERYWHERE if place not in meaning.places]
    if not missing:
        where = "everywhere"
    elif len(missing) < 3:
        where = "not in " + " or ".join(_IN_WORDS[place] for place in missing)
    else:
        where = ", ".join(_IN_WORDS[place] for place in meaning.places)
    return f"{where}; per model" if meaning.per_model else where


def _shown(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}" if value >= 10_000 else str(value)
        case float():
            return f"{value:g}"
        case None | "" | () | {}:
            return "none"
        case Path() | str():
            return f"`{value}`"
        case _:
            return f"`{value!r}`"
