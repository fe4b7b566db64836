"""Writes docs/all-settings.md, made from the settings themselves.

    uv run python -m scripts.settings_tables

A test compares the page with what this makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ullage.codec.rules import FieldTree
from ullage.codec.wires import WIRES
from ullage_agent.runtime.authority import ANYONE, PROJECT_KEYS, Authority
from ullage_agent.runtime.settings import KEYS, TABLES, Meaning, Settings, meaning_of

PAGE = Path(__file__).parents[1] / "docs" / "all-settings.md"


def page() -> str:
    return f"""# All settings

<!-- Made by `uv run python -m scripts.settings_tables`. -->

`Agent(…, reserve="16k")`, `ULLAGE_RESERVE=16k`, `/set reserve 16k`, or a line of your `ullage.toml`:
[where they are set](settings.md).

{table()}

## Who may set what

{authority_table()}

### What a project's file may set

Whatever it says: no key and no conversation goes to another address, nothing runs or is approved, and no
limit of what is spent rises.

{project_table()}

### Fields of params

The fields of the second column come from the session itself, for every caller.

{params_table()}
"""


def table() -> str:
    """All keys as Markdown: key, meaning, default, unit, and what is special about where it may be set."""
    rows = ["| key | meaning | default | unit | notes |", "|---|---|---|---|---|"]
    defaults = Settings()
    for key in KEYS:
        meaning = meaning_of(key)
        default = meaning.default or shown_default(getattr(defaults, key))
        rows.append(
            f"| `{key}` | {meaning.meaning} | {default} | {meaning.unit} | {_notes(key, meaning)} |"
        )
    return "\n".join(rows)


def authority_table() -> str:
    """Who may set what, as Markdown: one row for the settings that have the same rule and the same reason."""
    rows = [
        "| setting | a session, an API caller | because it |",
        "|---|---|---|",
    ]
    groups: dict[Authority, list[str]] = {}
    for key in KEYS:
        groups.setdefault(meaning_of(key).who, []).append(key)
    harmless = groups.pop(ANYONE)
    for who, keys in groups.items():
        rows.append(f"| {_names(keys)} | {_for_a_session(who)} | {who.why} |")
    rows.append(
        f"| {_names(harmless)} | any value | is harmless within the bounds of its value |"
    )
    return "\n".join(rows)


def project_table() -> str:
    """What a project's file may set, as Markdown, with the reason why that is harmless."""
    rows = ["| setting | harmless, for it is |", "|---|---|"]
    rows += [f"| `{key}` | {why} |" for key, why in PROJECT_KEYS.items()]
    return "\n".join(rows)


def params_table() -> str:
    """The fields of ``params`` by wire, as Markdown."""
    rows = ["| wire | anyone may set | no caller can set | source |", "|---|---|---|---|"]
    for wire in WIRES.values():
        lists = wire.params
        open_fields, owned = ", ".join(_fields(lists.open)), _names(sorted(lists.owned))
        rows.append(f"| `{wire.name}` | {open_fields} | {owned} | <{lists.source}> |")
    return "\n".join(rows)


def _fields(fields: FieldTree) -> Iterable[str]:
    for name, inner in fields.items():
        yield f"`{name}`" if inner is None else f"`{name}` ({', '.join(_fields(inner))})"


def _names(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


def _for_a_session(who: Authority) -> str:
    match who.session:
        case "any":
            return "any value"
        case "narrower":
            return who.how
        case "never":
            return "never"


def _notes(key: str, meaning: Meaning) -> str:
    notes = ["no variable"] if key in TABLES else []
    if meaning.per_model:
        notes.append("per model")
    return "; ".join(notes)


def shown_default(value: object) -> str:
    """A default as Markdown."""
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


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
