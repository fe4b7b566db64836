"""What the first call of a session holds beyond its log, learnt from the first calls of earlier sessions.

A program adds a system prompt, tools and reminders that its log does not hold. Its next session on the same machine
adds nearly the same. The widths below were measured on 50 sessions of Claude Code, Codex, OpenCode, pi and Gemini CLI
against the simulators, each prompt as the programs really sent it, and on 57 sessions of public logs, where servers
come and go (``bench.program_overhead``). Where nothing was learnt, what is typical of the program is expected.

For an agent whose system prompt and tools are known, the same tells how far their estimate is off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import hypot
from statistics import median
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.events import FirstCall
from ullage.meter.fingerprint import digest
from ullage.meter.policy import (
    AGREE_WITHIN,
    FAR_APART,
    FIRST_CALL_DOUBT,
    FIRST_CALL_LEAST_DOUBT,
    FIRST_CALLS_COVERED,
    FIRST_CALLS_ESTIMATED,
    FIRST_CALLS_KEPT,
    MOST_OVERHEAD,
    OTHER_UNITS,
    OVERHEAD_OF_WINDOW,
    SPREADS,
    STRAY_FACTOR,
    UNMEASURED_FACTOR,
)
from ullage.meter.typical import NearestRows, TypicalFirstCall, nearest_rows


class OverheadWidth(NamedTuple):
    """How far what was learnt may be off in this session: a share, and tokens that this session may hold more."""

    share: float
    more: float


AGREED: Final = OverheadWidth(0.03, 25)
"""The same program, version, model and directory: at most 0.6 % apart (n=12; new files and a commit were that much),
but for one session in another mode of its program (plan mode of Claude Code: 4 %)."""

SAME: Final = OverheadWidth(0.12, 25)
"""The same where fewer than three sessions agree: of 23 in public logs two were 7 and 11 % off."""

OTHER_DIRECTORY: Final = OverheadWidth(0.17, 4_000)
"""29,800 to 42,200 over four projects of one version of Claude Code. Paths make up to 0.7 % (n=12), an instruction file
60 to 140 tokens for three lines and 3,600 for 120 (n=6)."""

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
    """What it was learnt from, in words: ``as in 2 earlier sessions of claude-code 2.1.197``."""


Typical = Callable[[str], LearntOverhead | None]
"""What is typical of a program, named with its version, for the model of this session."""


class _Distance(NamedTuple):
    """Under which other circumstances a first call was made; nearest first in order."""

    other_model: bool
    step: float
    """By how much the program typically adds more or less in its version now."""
    other_version: bool
    other_directory: bool

    def width(self, *, is_agreed: bool) -> OverheadWidth:
        widths = [AGREED]
        if self.other_directory:
            widths.append(OTHER_DIRECTORY)
        elif not is_agreed:
            widths.append(SAME)
        if self.other_version:
            widths.append(OTHER_VERSION)
        if self.other_model:
            widths.append(OTHER_MODEL)
        shares, more = zip(*widths, strict=True)
        return OverheadWidth(hypot(*shares), max(more))


def nothing_typical(_: str) -> LearntOverhead | None:
    """For a session whose log lacks nothing."""
    return None


def learnt_overhead(
    earlier: Iterable[FirstCall],
    now: FirstCall,
    typical: Typical = nothing_typical,
) -> LearntOverhead | None:
    """What this session's first call adds, by the first calls of others, else as is typical of its program.

    ``now`` is this session, without tokens; its ``at`` is when it began. Sessions that made their first call after it,
    and the session itself, are left out. ``None`` where nothing is known.
    """
    usual = typical(now.program)
    found: list[tuple[FirstCall, _Distance]] = []
    for call in sorted(earlier, key=lambda call: -call.at):
        if _is_alike(call, now):
            step = _step(call, usual, typical)
            expected = _as_logged(call, now).tokens + step
            as_now = replace(
                call, tokens=max(0, round(expected)) if now.unlogged else call.tokens
            )
            found.append((as_now, _distance(call, now, abs(step))))
    if not found:
        return usual
    distances = [distance for _, distance in found]
    nearest = min(distances)
    near = [call for call, distance in found if distance == nearest]
    others = [call for call, distance in found if distance != nearest]
    if len(near) < FIRST_CALLS_ESTIMATED <= len(others) + 1 and _is_stray(near, others):
        near, nearest = others, max(distances)
    recent = near[:FIRST_CALLS_COVERED]
    tokens = _median_tokens(recent[:FIRST_CALLS_ESTIMATED])
    if len(recent) < FIRST_CALLS_ESTIMATED:
        elsewhere = _median_tokens(others) if others else usual and usual.tokens
        tokens = _likelier(recent, tokens, elsewhere)
    if nearest.other_model and usual is not None:
        is_usual = usual.tokens - usual.below <= tokens <= usual.tokens + usual.above
        if not is_usual:
            return usual  # what another model is sent says less than what programs like this one were seen to send
    spread = _spread(recent, tokens)
    is_proven = len(recent) >= FIRST_CALLS_ESTIMATED and spread <= AGREE_WITHIN * tokens
    width = nearest.width(is_agreed=is_proven or not now.unlogged)
    below = hypot(
        width.share * tokens,
        AGREED.more,
        SPREADS * spread,
        median(call.doubt for call in recent),
        nearest.step / 2,
    )
    above = hypot(below, width.more)
    return LearntOverhead(tokens, below, above, f"as in {_source(near, now, nearest)}")


def typical_overhead(
    program: str, now: FirstCall, ratio: Callable[[TypicalFirstCall], float]
) -> LearntOverhead | None:
    """What is typical of a program, for a log that holds what this one does; ``None`` where no row is of it.

    ``ratio`` gives the tokens of this session's model for each one of a row's. A provider that the table of providers
    lacks is expected to add nothing of its own. OpenAI adds about 3,700 tokens for its search, which Codex declares to
    all: Codex 0.142.5 sends 1,842 tokens beyond its log to the simulators, and is billed 5,500 there.
    A user has what is bare in the versions that are nearer than those of users, and more.
    """
    is_elsewhere = bool(now.model) and not now.provider
    nearest = nearest_rows(
        program,
        is_subagent=now.is_subagent,
        situation=now.situation,
        is_elsewhere=is_elsewhere,
    )
    found = [_of_row(rows, now, ratio) for rows in nearest if rows.rows]
    if not found:
        return None
    is_nearer = not is_elsewhere and nearest[-1].gap < nearest[0].gap
    tokens, _, _, source = max(found) if is_nearer else found[0]
    low = min(each.tokens - each.below for each in found)
    high = max(each.tokens + each.above for each in found)
    return LearntOverhead(tokens, tokens - low, high - tokens, source)


def _of_row(
    nearest: NearestRows, now: FirstCall, ratio: Callable[[TypicalFirstCall], float]
) -> LearntOverhead:
    """What the likeliest of these rows says."""
    row = min(nearest.rows, key=lambda row: (row.model != now.model, abs(ratio(row) - 1)))
    units, wider = ratio(row), 1.0
    if not nearest.is_measured or abs(units - 1) > OTHER_UNITS:
        wider = UNMEASURED_FACTOR
    measured = FirstCall(logged=row.logged, tokens=row.tokens)
    return LearntOverhead(
        units * max(0, _as_logged(measured, now).tokens),
        below=wider * units * (row.tokens - row.low),
        above=wider * units * (row.high - row.tokens),
        source=f"typical of {row.versions}: {row.source}, n = {row.n}",
    )


def _as_logged(call: FirstCall, now: FirstCall) -> FirstCall:
    """The first call as if its log had held the same kinds of content as this one's."""
    hidden = sum(call.logged[kind] for kind in call.logged.keys() - now.logged.keys())
    shown = sum(now.logged[kind] for kind in now.logged.keys() - call.logged.keys())
    return replace(call, tokens=call.tokens + hidden - shown)


def _likelier(
    recent: Sequence[FirstCall], tokens: float, elsewhere: float | None
) -> float:
    """Of two first calls that are far apart the one that is nearer to what the program adds elsewhere."""
    values = [call.tokens for call in recent]
    if elsewhere is None or max(values) <= FAR_APART * min(values):
        return tokens
    return min(values, key=lambda value: abs(value - elsewhere))


def _step(call: FirstCall, usual: LearntOverhead | None, typical: Typical) -> float:
    """By how much this version of the program typically adds more than the one of an earlier call."""
    then = typical(call.program)
    return 0.0 if usual is None or then is None else usual.tokens - then.tokens


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
    if call.situation != now.situation or name_of(call.program) != name_of(now.program):
        return False
    if bool(call.unlogged) != bool(now.unlogged):
        return False
    if now.unlogged and (call.is_subagent or now.is_subagent):
        return False  # each kind of subagent has its own prompt: 8,378 to 41,332 tokens in one program (n=3)
    is_same_model = (call.provider, call.model) == (now.provider, now.model)
    return bool(now.unlogged) or (is_same_model and call.content == now.content)


def _distance(call: FirstCall, now: FirstCall, step: float) -> _Distance:
    if not now.unlogged:  # what is sent is known: only its estimate is corrected
        return _Distance(False, 0.0, False, False)
    # Some logs name no model before the first answer: it is taken to be that of the last sessions.
    is_same_model = (call.provider, call.model) == (now.provider, now.model)
    return _Distance(
        bool(now.model) and not is_same_model,
        step,
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

    ``fixed`` is the estimate of the system prompt and tools in the log, ``window`` the model's. What its log held of
    them counts as well: in a log that lacks it, it is expected beyond the log.
    """
    shown = tuple(call.logged.values()) if call.unlogged else ()
    least = 0.0 if call.unlogged else -fixed / 2
    most = MOST_OVERHEAD if window is None else OVERHEAD_OF_WINDOW * window
    if any(each < 0 for each in shown):
        return False
    if call.tokens < least or call.tokens + sum(shown) > most:
        return False
    return call.doubt <= max(FIRST_CALL_LEAST_DOUBT, FIRST_CALL_DOUBT * abs(call.tokens))


def first_call_id(session: str, call: str, at: float, reported: int) -> str:
    """Names a call: the same for a copy of its log, and another one where a log has no times."""
    return digest(call, repr(at), str(reported), "" if at else session)


def kept(calls: Iterable[FirstCall], *, most: int = 256) -> tuple[FirstCall, ...]:
    """The calls that are worth keeping, newest first: one of each session and its copies in each situation, a few of a
    kind, and ``most`` in all."""
    chosen: list[FirstCall] = []
    ids: set[str] = set()
    sessions: set[tuple[str, str]] = set()
    kinds: dict[tuple[object, ...], int] = {}
    for call in sorted(calls, key=lambda call: (-call.at, call.id)):
        session = (call.session, call.situation)
        kind = (
            call.situation,
            name_of(call.program),
            call.provider,
            call.model,
            call.unlogged,
            call.is_subagent,
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
