"""What the first call of a session holds beyond its log, learnt from the first calls of earlier sessions.

A program adds a system prompt, tools and reminders that its log does not hold. Its next session on the same machine
adds nearly the same. The widths below were measured on 50 sessions of Claude Code, Codex, OpenCode, pi and Gemini CLI
against the simulators, each prompt as the programs really sent it (docs/accuracy.md).

For an agent whose system prompt and tools are known, the same tells how far their estimate is off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot
from statistics import median
from typing import Final, NamedTuple

from ullage.events import FirstCall
from ullage.meter.fingerprint import digest
from ullage.meter.policy import (
    FIRST_CALL_DOUBT,
    FIRST_CALL_LEAST_DOUBT,
    FIRST_CALLS_COVERED,
    FIRST_CALLS_ESTIMATED,
    FIRST_CALLS_KEPT,
    MOST_OVERHEAD,
    OVERHEAD_OF_WINDOW,
    SPREADS,
    STRAY_FACTOR,
)


class OverheadWidth(NamedTuple):
    """How far what was learnt may be off in this session: a share, and tokens that this session may hold more."""

    share: float
    more: float


SAME: Final = OverheadWidth(0.03, 25)
"""The same program, version, model and directory: at most 0.6 % apart (n=12; new files and a commit were that much),
but for one session in another mode of its program (plan mode of Claude Code: 4 %)."""

OTHER_DIRECTORY: Final = OverheadWidth(0.06, 4_000)
"""Paths make up to 0.7 % (n=12). The directory's instruction files are a part of it: 60 to 140 tokens for a file of
three lines, 3,600 for one of 120 (n=6)."""

OTHER_VERSION: Final = OverheadWidth(0.1, 1_500)
"""7.7 % between Claude Code 2.1.186 and 2.1.197, nothing for Codex (0.163, 0.169) and OpenCode (1.18.29, 1.18.33)."""

OTHER_MODEL: Final = OverheadWidth(0.4, 1_500)
"""Up to 22 % by what programs send to another model (n=13), and models count the same text up to 40 % apart."""


class LearntOverhead(NamedTuple):
    """What a first call is expected to hold beyond the estimate of its log."""

    tokens: float
    below: float
    above: float
    """Half-widths that are meant to hold the truth 95 times in 100."""
    source: str
    """Which sessions it was learnt from, in words."""


class _Distance(NamedTuple):
    """Under which other circumstances a first call was made; nearest first in order."""

    other_model: bool
    other_version: bool
    other_directory: bool

    @property
    def width(self) -> OverheadWidth:
        widths = [SAME]
        if self.other_directory:
            widths.append(OTHER_DIRECTORY)
        if self.other_version:
            widths.append(OTHER_VERSION)
        if self.other_model:
            widths.append(OTHER_MODEL)
        shares: list[float] = []
        more = 0.0
        for width in widths:
            shares.append(width.share)
            more = max(more, width.more)
        return OverheadWidth(hypot(*shares), more)


def learnt_overhead(
    earlier: Iterable[FirstCall], now: FirstCall
) -> LearntOverhead | None:
    """What this session's first call adds, by the first calls of others; ``None`` where none of them is alike.

    ``now`` is this session, without tokens; its ``at`` is when it began. Sessions that made their first call after it,
    and the session itself, are left out.
    """
    alike = [call for call in earlier if _is_alike(call, now)]
    if not alike:
        return None
    alike.sort(key=lambda call: -call.at)
    distances = [_distance(call, now) for call in alike]
    nearest = min(distances)
    near: list[FirstCall] = []
    others: list[FirstCall] = []
    for call, distance in zip(alike, distances, strict=True):
        if distance == nearest:
            near.append(call)
        else:
            others.append(call)
    if len(near) < FIRST_CALLS_ESTIMATED <= len(others) + 1 and _is_stray(near, others):
        near, nearest = others, max(distances)
    recent = near[:FIRST_CALLS_COVERED]
    tokens = _median_tokens(recent[:FIRST_CALLS_ESTIMATED])
    width = nearest.width
    below = hypot(
        width.share * tokens,
        SAME.more,
        SPREADS * _spread(recent, tokens),
        median(call.doubt for call in recent),
    )
    above = hypot(below, width.more)
    return LearntOverhead(tokens, below, above, _source(near, now, nearest))


def learnt_put_back(
    own: Sequence[FirstCall],
    earlier: Iterable[FirstCall],
    now: FirstCall,
    usual: LearntOverhead,
) -> LearntOverhead:
    """What comes back after this compaction: what is usual counts as one compaction more.

    ``own`` are those of this session, oldest first, ``earlier`` those of others: of the same directory they are alike.
    """
    alike = [
        call
        for call in earlier
        if _is_alike(call, now)
        and call.directory == now.directory
        and abs(call.tokens) <= MOST_OVERHEAD
    ]
    alike.sort(key=lambda call: -call.at)
    same = [call for call in reversed(own) if call.situation == now.situation]
    shown = [call.tokens for call in (*same, *alike)][:FIRST_CALLS_COVERED]
    if not shown:
        return usual
    weight = 1 / (len(shown) + 1)
    tokens = weight * (usual.tokens + sum(shown))
    spread = SPREADS * max(abs(each - tokens) for each in shown)
    return LearntOverhead(
        tokens,
        hypot(weight * usual.below, spread),
        hypot(weight * usual.above, spread),
        f"as {len(shown)} time{'s' if len(shown) > 1 else ''} before in this project",
    )


def _is_alike(call: FirstCall, now: FirstCall) -> bool:
    """Whether a first call can say anything of this session."""
    if call.session == now.session or (now.at and call.at >= now.at):
        return False
    if call.situation != now.situation:
        return False
    if call.unlogged != now.unlogged or name_of(call.program) != name_of(now.program):
        return False
    is_same_model = (call.provider, call.model) == (now.provider, now.model)
    return bool(now.unlogged) or (is_same_model and call.content == now.content)


def _distance(call: FirstCall, now: FirstCall) -> _Distance:
    if not now.unlogged:  # what is sent is known: only its estimate is corrected
        return _Distance(False, False, False)
    # Some logs name no model before the first answer: it is taken to be that of the last sessions.
    is_same_model = (call.provider, call.model) == (now.provider, now.model)
    return _Distance(
        bool(now.model) and not is_same_model,
        call.program != now.program,
        call.directory != now.directory,
    )


def _is_stray(near: Sequence[FirstCall], others: Sequence[FirstCall]) -> bool:
    """Whether a few first calls are far from what the same program added under other circumstances."""
    here = _median_tokens(near)
    there = _median_tokens(others)
    return not there / STRAY_FACTOR <= here <= there * STRAY_FACTOR


def _median_tokens(calls: Sequence[FirstCall]) -> float:
    return median(call.tokens for call in calls)


def _spread(recent: Sequence[FirstCall], tokens: float) -> float:
    """Tokens from the median to the furthest first call; from the third one on, to the furthest but one."""
    distances = sorted(abs(call.tokens - tokens) for call in recent)
    return distances[-2] if len(distances) >= FIRST_CALLS_ESTIMATED else distances[-1]


def _source(near: Sequence[FirstCall], now: FirstCall, distance: _Distance) -> str:
    """These sessions in words: ``3 earlier sessions of claude-code 2.1.197``."""
    sessions = "earlier session" if len(near) == 1 else "earlier sessions"
    program = now.program
    if distance.other_version:
        programs = {call.program for call in near}
        program = programs.pop() if len(programs) == 1 else name_of(now.program)
    words = f"{len(near):,} {sessions} of {program or 'this program'}"
    if distance.other_model:
        words += " with another model"
    if distance.other_directory:
        words += " in another directory"
    return words


def name_of(program: str) -> str:
    """A program's name without its version."""
    return program.split(" ", 1)[0]


def teaches(call: FirstCall, *, fixed: float, window: int | None) -> bool:
    """Whether a first call is believed: it may come from a log that somebody else wrote.

    ``fixed`` is the estimate of the system prompt and tools in the log, ``window`` the model's.
    """
    if call.doubt > max(FIRST_CALL_LEAST_DOUBT, FIRST_CALL_DOUBT * abs(call.tokens)):
        return False
    least = 0.0 if call.unlogged else -fixed / 2
    most = MOST_OVERHEAD if window is None else OVERHEAD_OF_WINDOW * window
    return least <= call.tokens <= most


def first_call_id(session: str, call: str, at: float, reported: int) -> str:
    """Names a call: the same for a copy of its log, and another one where a log has no times."""
    return digest(call, repr(at), str(reported), "" if at else session)


def kept(calls: Iterable[FirstCall], *, most: int = 256) -> tuple[FirstCall, ...]:
    """The calls that are worth keeping, newest first: one of each session and its copies in each situation, a few of a
    kind, and ``most`` in all."""
    chosen: list[FirstCall] = []
    ids: set[str] = set()
    sessions: set[tuple[str, str]] = set()
    kinds: dict[tuple[str, ...], int] = {}
    for call in sorted(calls, key=lambda call: (-call.at, call.id)):
        session = (call.session, call.situation)
        kind = (
            call.situation,
            name_of(call.program),
            call.provider,
            call.model,
            call.unlogged,
            call.content,
            call.directory,
        )
        is_known = call.id in ids or session in sessions
        if is_known or kinds.get(kind, 0) >= FIRST_CALLS_KEPT:
            continue
        ids.add(call.id)
        sessions.add(session)
        kinds[kind] = kinds.get(kind, 0) + 1
        chosen.append(call)
    return tuple(chosen[:most])
