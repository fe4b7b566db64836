"""The settings of the status line, from ``~/.config/ullage/line.json``. A setting that can't be used is left out."""

from __future__ import annotations

from ullage_programs.fields import mapping, text

ITEMS = ("bar", "next", "left", "largest", "cost")


class LineSettings:
    """What the line shows."""

    def __init__(self, found: dict[str, object]) -> None:
        items = found.get("items")
        wanted = items if isinstance(items, list) else ITEMS
        self.items = [item for item in wanted if item in ITEMS] or list(ITEMS)
        self.warn = _share(found, "warn", 0.7)
        """Share of the way to compaction from which the bar is yellow."""
        self.alert = _share(found, "alert", 0.9)
        """The same for red."""
        self.color = found.get("color") is not False
        self.ascii = found.get("ascii") is True
        self.compose = text(found, "compose")
        """A command whose line comes first."""
        hooks = mapping(found, "hooks")
        self.large_share = _share(hooks, "share", 0.05)
        """Share of what is left from which a tool result is called large."""
        self.tell_model = hooks.get("tell_model") is True
        self.tell_room = hooks.get("tell_room") is True


def _share(found: dict[str, object], name: str, default: float) -> float:
    value = found.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return float(value) if 0 < value <= 1 else default
