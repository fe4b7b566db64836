"""The characters drawings are made of, in two sets: for terminals that can show Unicode, and for those that cannot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """One set. ``parts`` are a filled cell by eighths or coarser, ``levels`` the heights of a sparkline."""

    used: str
    parts: str
    interval: str
    free: str
    compaction: str
    reserve: str
    over: str
    levels: str
    compacted: str
    pruned: str
    plus_minus: str
    dot: str
    ellipsis: str
    rule: str

    def spell(self, text: str) -> str:
        """Our own wording in this set's characters."""
        if self is UNICODE:
            return text
        return (
            text.replace("±", self.plus_minus)
            .replace("→", "->")
            .replace(" · ", f" {self.dot} ")
            .replace("…", self.ellipsis)
        )


UNICODE = Glyphs(
    used="█",
    parts="▏▎▍▌▋▊▉",
    interval="▒",
    free="·",
    compaction="│",
    reserve="░",
    over="▓",
    levels="▁▂▃▄▅▆▇█",
    compacted="▼",
    pruned="▽",
    plus_minus="±",
    dot="·",
    ellipsis="…",
    rule="─",
)

ASCII = Glyphs(
    used="#",
    parts="",
    interval="~",
    free=".",
    compaction="|",
    reserve="=",
    over="!",
    levels="_.-:=+*#",
    compacted="v",
    pruned="p",
    plus_minus="+-",
    dot="-",
    ellipsis="...",
    rule="-",
)


def glyphs_for(encoding: str | None) -> Glyphs:
    """The set that ``encoding`` can carry."""
    every = "".join(
        value
        for name in UNICODE.__slots__
        if isinstance(value := getattr(UNICODE, name), str)
    )
    try:
        every.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE
