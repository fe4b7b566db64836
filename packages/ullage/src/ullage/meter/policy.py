"""The policy of the meter, as numbers.

A number stands here where it was chosen: with its unit, its reason or source, and at the head of its group the bench or
the test that judges it. What a provider, a program or a protocol does is no choice, and stands where it is used.
"""

from __future__ import annotations

# --- The window. Judged by the tables of thresholds (docs/clients.md) and by bench.compaction.

DEFAULT_TRIGGER = 0.8
"""Share of the window at which compaction starts: Dexto's figure (docs/from-the-seeds.md)."""

DEFAULT_RESERVE = 16_000
"""Tokens kept free for the answer (Dexto's output buffer, docs/from-the-seeds.md)."""

RESERVE_SHARE = 5
"""The default reserve takes at most this part (a fifth) of the window."""

# --- A call that follows another one, and its interval. Judged by bench.evaluate: errors and coverage of pairs.

PLACEHOLDER_SHARE = 0.5
"""Output, 9 tokens of slack aside, below this share of the visible answer is no count but a streaming placeholder. Of
Claude's recorded answers the lowest real output is at 0.54 (n=935), the highest placeholder at 0.49 (n=50)."""

RECOUNT_SLACK = 9.0
RECOUNT_SHARE = 0.15
"""How far output may be from the visible answer, in tokens and as a share, before the answer is counted instead."""

MEASURED_FROM = 30
"""Recorded pairs of calls from which on a family's wrapping is taken to be known: of families with 10 to 29, the wider
interval holds 92 in 100 (n=145)."""

UNLOGGED = 400.0
"""Tokens by which a program's own additions, such as reminders, exceed what its log says, in a large session."""

SESSION_WRAPPING = 20.0
"""Tokens by which the wrapping differs between programs, in a large session."""

HALF_SESSION_AT = 15_000.0
"""The input at which half of both is expected. Nothing but the size tells at first whether a program is at work; each
conversation's errors then say what it adds."""

COUNTING = 0.08
"""Share of a text's count that it may be off in a vocabulary that was not published."""

STRANGE_COUNTING = 0.12
"""The same of a model whose family was not measured."""

EXACT_COUNTING = 0.015
"""The same in the provider's own vocabulary."""

CONTRADICTED = 0.05
"""A rule of reasoning is proven where a recorded pair of calls contradicts it at most so often: (contradicting + 1/2) /
(pairs + 1), which is 0.05 of nine pairs without a contradiction and of 29 with one (Jeffreys' prior)."""

UNPROVEN = 1.15
"""How many times the reported reasoning the interval reaches where its rule is not proven: counted reasoning was up to
1.25 times that (n=10, in which Qwen and DeepSeek frame it)."""

EDITED = 12.0
"""Tokens by which an answer that is sent back in another form than it came in may differ from it at the least."""

HIDDEN = 0.01
"""Share of the reported reasoning by which that in the next input may differ."""

NARROWEST = 4.0
"""Tokens on each side, however right a session was: calls that were exact for long are off by as many at times."""

FIRST_NARROWEST = 2.0
"""The same of a first call, whose template is known or not."""

# --- The same, by what the call follows on. Judged by bench.situations: coverage of each.

SITUATION_WIDTHS = {
    "claude-code, second call": (3.0, 1.0, 9_000.0),
    "claude-code, user turn": (3.0, 1.5, 6_700.0),
    "claude-code, tool step": (1.4, 1.6, 0.0),
    "claude-code, edit": (1.0, 1.25, 0.0),
    "claude-code, changed by the caller": (1.0, 1.0, 8_000.0),
    "claude-code, the call after that": (1.0, 1.0, 300.0),
    "codex, the call after that": (1.0, 1.0, 900.0),
    "codex, after an interruption": (7.0, 3.0, 0.0),
    "codex, user turn": (6.0, 3.0, 0.0),
    "codex, user turn, reasoning before": (12.0, 6.0, 0.0),
    "codex, tool step": (1.25, 1.25, 0.0),
    "opencode, second call": (6.0, 1.5, 0.0),
    "opencode, user turn": (8.0, 9.0, 0.0),
    "opencode, changed by the caller": (1.0, 5.0, 0.0),
    "pi, second call": (3.0, 3.0, 0.0),
    "pi, user turn": (6.0, 3.0, 0.0),
}
"""How many times as wide the interval is below and above as its causes say, and tokens that may come beside, of
programs that send what their logs lack. Instruction files of folders, reminders and hooks come with Claude Code's
second call (up to 8,700 tokens, n=30), with a user's message (6,700, n=99) and where tools or servers change (8,400,
n=209, and 11,800 once); what Codex adds one call after a compaction was 280 and 880 (n=5); after one that its log
shows, Claude Code's was 130 more (n=13). The factors hold 95 of 100 of public sessions (Claude Code 1,800 calls,
Codex 19,000), that of edits of 5,800 more in 28 projects. Plugins of OpenCode and pi take out and put back what no
log has (one project of 11, one of 7): of 14,700 and 5,500 calls of all these the factors hold 93 to 97 of 100 user
turns and second calls, and 83 of what the caller changed."""

# --- A first call. Judged by bench.evaluate: coverage of whole requests.

MEDIA_DOUBT = 0.15
"""Share of media by formula: 1 % at the median, one in ten further off."""

HOSTED_BELOW = 0.8
HOSTED_ABOVE = 1.4
HOSTED_LEAST = 80.0
"""Shares of what hosted tools add, and tokens at least: from a tool that read nothing to one called again (n=75)."""

# --- Content that the provider keeps. Judged by bench.evaluate: coverage of pairs with hosted tools.

UNKNOWN_ITEM = 5_000.0
"""Tokens that an item of a wire may cost whose content is on the provider's side."""

# --- What was removed or changed since the last report. Judged by bench.compaction and bench.long_sessions.

REMOVAL_DOUBT = 0.05
"""Share of what was removed, or of what is left if that is less, that an estimate of it may be off."""

CHANGE_DOUBT = 0.15
LEAST_CHANGE_DOUBT = 170.0
"""The share of the difference that a changed system prompt or changed tools make, and the tokens of any such change,
by which that may be off."""

# --- Results that the provider clears by itself. Judged by the simulators alone (tests/integration).

CLEARING_DOUBT = 0.3
"""Share of the results that leave with the next request which their estimate may be off. A choice: nothing measured it,
and the next report shows the truth."""

# --- What a program says of the size of its session, without a bill. Judged by tests/meter/test_stated.py.

LEAST_STATED_DOUBT = 300.0
"""Tokens that it may be off at least: a program rounds, and counts no framing."""

SUMMARY_DOUBT = 0.015
SEALED_DOUBT = 0.15
"""Shares of the whole and of the summary, where it tells the size of a summary and a bill that of the rest: 64 of 69
compactions of Codex 0.118 to 0.145 were within the larger one (11 projects, summaries of 600 to 12,000 tokens)."""

SUBAGENT_DOUBT = 1_700.0
"""Tokens that a copied session's first call may hold beyond a subagent's: a program's deepest subagents have no tools
to start others (Codex 0.118: 1,354 to 1,650, n=6)."""

# --- Inputs that stand still. Judged by tests/meter/test_stated.py.

LEAST_PINNED_GROWTH = 100.0
PINS = 2
"""Estimated tokens by which the messages of a request exceed those of the one before with the same reported input, and
how often in a row, until the provider is taken to cut requests: three inputs that are equal by chance to the token are
one case in millions (anomalyco/opencode/issues/45168: 11 times 196,608)."""

WINDOW_UNITS = (1_024, 1_000)
"""Tokens of which windows are multiples: 4,096, 196,608, 32,000. One in 500 other numbers is one of these. Without this
a compaction was due for nothing in a fifth of the calls of endpoints that repeat a report (``bench.reports``)."""

# --- Count endpoints. Judged by tests/meter/test_counting.py.

COUNT_DOUBT = 0.005
LEAST_COUNT_DOUBT = 10.0
"""The half width of a counted reading's interval: a share of it, and tokens at least. No provider documents how far a
count may be off, so these are a choice: a simulator's and llama.cpp's counts were equal to their reports."""

COUNT_STAYS_WITHIN = 10
LARGE_TOOL = 200.0
"""Estimated tokens from which on a single tool is counted."""

PIECES_COUNTED = 24
"""Pieces of one session that are counted, so that a change of many tools costs a bounded number of requests."""

# --- What a program adds to its first call, learnt from earlier sessions. Judged by bench.program_overhead.

FIRST_CALLS_KEPT = 8
"""First calls of one program, model and directory that are worth keeping: what is older says nothing more."""

FIRST_CALLS_COVERED = 5
"""First calls that the interval covers, the newest."""

FIRST_CALLS_ESTIMATED = 3
"""Of these, those whose median is the estimate: two sessions after a change of the program's settings it has followed,
and one false report does not move it. From so many on, the furthest one is left out of the interval."""

MOST_KEPT_OVERHEAD = 50_000.0
"""Tokens beyond its log that a first request keeps over a compaction. System prompt, tools and instruction files were
up to 45,200 in 20 of 21 public sessions; one with 76,800 lost the rest, which was in its first prompt."""
AGREE_WITHIN = 0.03
"""From as many on, first calls of one project that are no further apart than this share are taken to be proven."""

FAR_APART = 1.3
"""Two first calls of one project further apart than this factor are not averaged: the likelier one is taken. A mean
made a call of 45,259 tokens 62,362 after one of 78,868."""

UNMEASURED_FACTOR = 2.0
"""How much wider the interval of what is typical becomes for a version or a model that was not measured: between two
that were, 2.1.49 and 2.1.77, Claude Code halved what it sends."""

OTHER_UNITS = 0.02
"""Models whose counts of the same text differ by a larger share are others: programs send them other prompts."""

VERSION_PART = 1_000
"""What a step of one part of a version is worth in steps of the next part: no program has more of them."""

STRAY_FACTOR = 2.0
"""Where fewer first calls are known than a median needs, they are believed up to this factor from what the same
program added elsewhere."""

SPREADS = 1.5
"""Half-widths for each token that the furthest of the first calls is from their median: a few show less than all."""

OVERHEAD_OF_WINDOW = 0.5
"""The most that is learnt, as a share of the window (``MOST_OVERHEAD`` where that is unknown). A program that fills
half of the window before its first message is none; more would start a compaction by itself."""

FIRST_CALLS_GIVEN = 32
"""First calls of earlier sessions that a new one begins with, the newest."""

FIRST_CALL_LEAST_DOUBT = 200
FIRST_CALL_DOUBT = 0.25
"""A first call teaches only where the estimate of its logged content is off by less: tokens, and a share of what it
held beyond."""

# --- A change of the model. Judged by bench.program_overhead and the simulators (tests/integration).

MOST_MODELS = 8
"""Models whose last report is kept, the newest."""

SWITCH_LEAST_DOUBT = 0.01
"""Share of a request that may be off where the model itself has reported one before (at most 0.2 % but for pi,
n=4)."""

SINCE_DOUBT = 0.2
"""Share that the estimate of the messages since that report may be off: 16 % in pi, whose tool calls and results
are nearly all that is new (n=4)."""

CARRIED_DOUBT = 0.1
"""Share that a report may be off in the units of another model."""

# --- Reports that can't be true. Judged by bench.reports: false ones believed, and true ones refused.

FALSE_WITHIN = 0.2
FALSE_TOKENS = 30.0
"""How near a report comes to the sum of all calls, or to what is new in this one: a share of what it holds beside the
last, and tokens."""

FRESH_AT_MOST = 0.8
"""Above this share of the expected input, a low report is put down to the estimate and not to a cache."""

SUMS_FROM = 2
"""Reports in a row that are a sum before the next ones are taken to be sums."""

LARGEST_WINDOW = 2_000_000
"""Where the window is unknown: no model of the catalogue has a larger one."""

MOST_ABOVE = 1.5
"""A request is at most so many times the upper end of its interval where that is more than the window."""

LEAST_CONTENT = 0.125
"""Tokens of a provider for each estimated token of text that is certainly in the request, at the least."""

LEAST_FIRST = 1 / 3
"""The same for a whole first request: the lowest of 3,000 recorded ones were 0.40 of 19 estimated tokens, 0.44 of
1,241 and 0.60 of 366, but for two whose reasoning the model's template takes out of the text."""

LEAST_LEFT = 0.6
"""The least share of the expected input, where nothing has left since the last report."""

MOST_OVERHEAD = 100_000.0
"""So many tokens a gateway or framework may add to a first request: the largest recorded one held 76,832 tokens beyond
its log (Claude Code 2.1). It is also the most that media of unknown size may cost."""

USUAL_OVERHEAD = 2_000.0
"""So many tokens beyond the content of a first request are not surprising: 99 of 100 recorded ones have fewer."""

SURPRISE_SHARE = 0.25
SURPRISE_WIDTHS = 3.0
SURPRISE = 300.0
SURPRISE_UNSEEN = 5_000.0
"""A later input exceeds what was expected at most by a share of it, some widths of its interval and a few tokens; more
of them where the last report already held what the ledger does not."""

LOG_LEAST = 1_000.0
"""Tokens that the log of another program may hold and the program has not sent."""

EXPLAINED = (0.67, 1.5)
"""A report between these shares of what all content is estimated at is explained by it."""

AGREES_WITHIN = 0.3
AGREES_TOKENS = 20.0
AGREES_SHARE = 0.15
"""Two reports in doubt agree on what was added between them to the last share of the earlier one; where the estimates
may be off by a factor, to the first share of what was added and so many tokens."""

AGREED_WINDOWS = 4
"""Two reports that agree are believed up to this many windows. The table of windows may be old (one grew from 200,000
to 1,000,000 tokens), but a provider that answers has not read a multiple of what the model can hold."""

LEAST_WINDOW = 256
"""No refusal names a smaller window in truth: llama.cpp rounds its own up to this, and the catalogue's smallest has
2,048 tokens."""

SURPRISING = 0.1
SURPRISING_FROM = 50.0
"""An accepted report that differs by more than this share and so many tokens from what was expected is surprising:
until the next one, the interval also holds what the ledger says."""

# --- The state. Judged by bench.reports and, for the number of steps, by bench.long_sessions (memory).

MUCH = 10_000
DENSEST = 8.0
"""Above so many estimated tokens of messages, with system prompt and tools known, a reported input that is a multiple
of the estimate is put down to the messages, up to this multiple: nothing hidden is that large. Below, up to twice."""

MOST_STEPS = 1_024
"""Steps that are kept, the newest: few windows hold more, and what is older is scaled as all together are."""

MOST_UNPROVEN = 0.5
"""A report that exceeds what was expected by a larger share of the window makes no compaction due by itself: it waits
for the next one. The price of one that was true is one call more."""

# --- A first request that is nearly all system prompt. Judged by bench.evaluate.

LITTLE_FIRST = 1_000
"""A first request of at most so many tokens of messages shows what system prompt and tools cost: their estimate may be
off by more than all messages cost."""

# --- The rows of a reading. Judged by tests/meter/test_shares.py: coverage of rows against the simulators.

HIDDEN_FROM = 10.0
"""Tokens from which on what a provider adds to every request is a row; fewer are in the messages' row."""

REASONING_DOUBT = 0.1
"""Share of the reasoning that is sent back by which it may be off: where it was not reported it is the output less what
is visible of it, whose estimate is within a tenth of the answer (``PLACEHOLDER_SHARE``)."""

SHARES_OFF = 0.03
"""Share by which reports differ from the estimate where a model does not count as it was measured to. Of the rows of
simulators, whose numbers are drawn, 97 % are then inside (test_attributed_rows.py)."""

# --- Names in a row.

NAMED_TOOLS = 2
"""Tools that the note of their row names."""

# --- The subject of a call.

LONGEST_SUBJECT = 60
ARGUMENTS_READ = 100_000
"""Characters of a subject that are shown, and of arguments that are read."""

MOST_LINES = 1_000_000_000
"""Of a file: what a call names beyond is no range of lines."""

LAST_PATH_PARTS = 2
"""Parts of an absolute path that are shown: the file and its directory."""

# --- Calls that cost money. Judged by bench.usage.

DEAREST_USD = 100_000.0
"""More than any call can cost: a larger figure is an error of the program that wrote it."""

# --- One call, told by the proxy and by a log. Judged by bench.usage.

SAME_CALL_S = 300.0
"""Seconds between what the proxy and a log say of one call. Programs write it when the answer has come, or its tools
have run; two calls with the same input, cache and output in that time are one."""

# --- How a request follows from what is known. Judged by tests/meter/test_following.py; bounds of its time.

MOST_EQUAL = 64
"""Of equal messages in a history, those at its end that one in the request is compared with."""

STEP_BACK_AT_MOST = 4
"""Messages at the end of a history that it takes little to count anew: a change among them is a step back."""

# --- Reasoning that is bound to what stands before it. Judged by bench.bound.

MOST_STANDS = 16
"""The newest compactions in a row that reasoning may have outlived."""

MOST_SENT = 128
"""The newest requests whose ends are known: a provider's cache lives for an hour at most. A bound of memory."""

# --- Answers that the provider holds. A bound of memory.

MOST_ANSWERS = 10_000
"""Answers that are remembered; the oldest are forgotten first."""

# --- What is stored of a request without its content.

LONGEST_WORD = 32
"""Characters of a text that is a setting: ``adaptive``, ``clear_tool_uses_20250919``."""

# --- Signs of a lane. Judged by bench.proxy (time of a request) and tests/meter/test_lanes.py.

SHORTEST_SIGN = 12
"""Characters from which on a text is taken for a sign."""

LONGEST_SIGN = 160
"""Characters of a sign that are kept."""

SIGNS_AT_MOST = 32
"""Texts that are kept of one lane for the subagents that it may start."""

# --- What is kept of a lane. Judged by bench.proxy.

MARKS_AT_MOST = 400
"""Requests of a lane that a later one can be told to continue."""

FIRST_MARKS = 20
"""Of these the first ones, for a user who goes back to the beginning."""

RECENT_AT_MOST = 600
"""Pieces of the last request that are kept as digests."""

HEAD_CHARACTERS = 120
"""Characters of a system prompt that tell what its agent is: dates and directories come later."""

FIRST_TEXTS = 6
"""Pieces at the beginning of a request in which a summary or the task of a subagent is looked for."""

OPENING_AT_MOST = 40_000
"""Characters of these: 5 µs for each text that is looked for."""

ANSWER_CALLS = 8
"""Pieces of an answer that are looked through for its tool calls."""

# --- Lanes. Bounds of memory; judged by bench.proxy.

LANES_AT_MOST = 1_000
SESSIONS_AT_MOST = 20_000
OPEN_CALLS_AT_MOST = 4_000
LOOKED_THROUGH = 50
"""Lanes, the newest first, in which the signs of a request are looked for that continues none."""

# --- What a request is compared with. Judged by bench.causes.

REQUESTS_KEPT = 8
"""Earlier requests whose items are kept: those of the conversation, and of what is sent beside it."""

DIGESTED_AT_ONCE = 1_000_000
"""Characters of a text of which a digest is made at once."""
