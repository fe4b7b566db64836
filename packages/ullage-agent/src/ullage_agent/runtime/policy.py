"""The policy of running sessions, as numbers.

A number stands here where it was chosen: with its unit, its reason or source, and at the head of its group the bench or
the test that judges it. What a provider, a program or a protocol does is no choice, and stands where it is used.
"""

from __future__ import annotations

# --- The agent. Judged by tests/runtime/test_project_settings.py.

LONGEST_INSTRUCTIONS = 200_000
"""The largest instruction file in bytes; a larger one is an error."""

# --- What the model is told of its room. Judged by bench.room.

MOST_ROOM_NOTES = 30
"""In one session: 60 tokens each."""

# --- Limits of calls that processes share. Judged by tests/runtime/test_call_slots.py.

NO_LIMIT_S = 1.0
"""Seconds for which a process believes that no limit is shared."""

SPREAD_S = 10.0
"""Processes without a promise ask again at different times, up to so many seconds later: none is always the last."""

SOONEST_S = 0.05
"""Seconds before a call asks again at the soonest."""

NEWEST_SHARE = 0.3
"""The weight of a call in the mean of what calls use."""

# --- Quotas of tenants. Judged by tests/runtime/test_quotas.py.

QUOTA_DAY_S = 86_400.0
"""A quota is of a day, so a session that waits for it was stopped within so many seconds."""

QUOTA_KNOWN_S = 5.0
"""Seconds for which a process believes that a tenant has no quota, and that nothing more was used of one."""

# --- Answers that broke off. Judged by bench.kills and tests/promises.

DROP_WAIT_S = 0.5
"""Seconds before a call whose answer broke off is repeated; doubled each time, as in ``wire.call.Retries``."""

LONGEST_DROP_WAIT_S = 8.0

# --- Count endpoints.

MISSING_S = 7 * 86_400.0
"""How long a server without a count endpoint is not asked again: it may be updated."""

PAUSE_S = 600.0
"""How long a count endpoint is left alone after a failure."""

# --- Wakes that were lost. Judged by bench.takeover.

LOST_WAKE_S = 0.3
"""Seconds between two sweeps at most, which find a session whose driver died or whose wake was lost."""

RESTATE_SWEEP_S = 2.0
"""The same where Restate keeps the wakes, so that few are lost: many workers search, and each asks the database."""

LISTEN_AGAIN_S = 1.0
"""Seconds before calls are listened for again after the database was away, and before workers are registered again."""

# --- The driver. Judged by bench.takeover and bench.kills.

LONGEST_ERROR = 500
"""Characters of an unexpected exception's message that are stored."""

MOST_DROPS = 2
"""How often a call is repeated after its answer broke off, unless ``tries`` allows fewer."""

# --- Handovers.

MOST_HANDOVERS = 10
"""How often a turn may be handed over: two agents that send it back and forth show no progress by then."""

# --- Hosts of sessions. Judged by bench.takeover and bench.capacity.

IDLE_S = 300.0
"""Seconds an idle session stays open: opening one costs milliseconds, keeping one costs its messages in memory."""

ANSWERS_IN_S = 3.0
"""Seconds after which a store or a dispatch that says nothing counts as away."""

SHORTEST_SWEEP = 0.45
"""The shortest pause between two sweeps as a share of the longest: each is drawn anew, so that several servers of a
store rarely sweep at once."""

WOKEN_AT_ONCE = 100
"""Sessions that one sweep wakes: what one server takes over is opened in memory."""

RETRY_S = 30.0
"""Seconds for which a session is left alone after it could not be driven here, as where its settings can't be used."""

# --- Files of a message.

FILE_BYTES = 50_000_000
"""The largest file of a message: what the most generous provider takes inside a request."""

TEXT_BYTES = 5_000_000
"""The largest text file of a message: a million tokens and more, which no window holds."""

# --- Content in traces: collectors refuse batches of many MB. Judged by tests/runtime/test_traced_content.py.

TRACED_TEXT = 16_384
"""Characters of one text in a span; the rest is left out."""

TRACED_MESSAGES = 131_072
"""Characters of all messages in an attribute of a span; the oldest are left out."""

TRACED_SESSIONS = 10_000
"""Sessions whose open spans are remembered: turns that wait for a person for good."""

FLUSHED_IN_MS = 2_000
"""How long the end of a program waits for a collector to take the last spans and metrics."""

# --- Boundaries of histograms, those that the conventions ask for. Judged by tests/runtime/test_telemetry.py.

TRACED_SECONDS = tuple(0.01 * 2**power for power in range(14))
"""Of the durations of calls and tools, and of the time to the first chunk."""

TRACED_TURN_SECONDS = tuple(0.1 * 2**power for power in range(13))
"""Of the durations of turns."""

TRACED_TOKENS = tuple(float(4**power) for power in range(14))
"""Of the tokens of a call."""

TRACED_USD = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)
"""Of the cost of a call. The conventions have none, and OpenTelemetry's default begins at 5."""

MOST_LABEL_VALUES = 100
"""Values of one label of a metric: each is a series for good, and callers choose models."""

# --- Answers in a form.

OUTPUT_RETRIES = 2
"""How often an answer that does not fit is asked for again."""

PARTIAL_STEP = 64
"""An answer that streams is read as its type again once it has grown by this part of itself: reading a long one at each
piece would take time by the square of its length. Judged by tests/runtime/test_partials.py."""

PARTIAL_LEVELS = 8
"""So many unfinished objects and lists, one inside the other, are tried without, so that a hostile answer of brackets
costs little."""

# --- Sessions that another process drives. Judged by bench.takeover.

POLL_S = 0.5
"""Seconds between two looks at a session that another process drives, and between two attempts to drive it, unless a
change is noticed before."""

LONGEST_TITLE = 200
"""Characters of a session's title: a line of a list."""

LOST_SHOWN = 40
"""How many lost values a preview in a terminal names; the others are counted."""

LARGEST_DROPPED = 20
"""How many of the largest parts are looked at for what may be dropped: each costs one pass over the view."""

# --- Settings.

LARGEST_SETTING = 10**12

# --- Subagents. Judged by tests/runtime/test_subagent.py.

CHILD_TASK_S = 3_600.0
"""Seconds that a subagent's task may take by default; its parent waits for it meanwhile."""

CHILD_CANCEL_S = 1.5
"""Seconds a child gets to close its turn when its parent is cancelled: less than tools get to end what they started."""

# --- Streams that are left early.

STREAM_CANCEL_S = 5.0
"""Seconds a turn gets to end whose stream was left early and whose session is closed behind it."""

# --- Settings from a server.

LONGEST_PROBLEM = 300
"""Characters of a server's problem in a note."""

# --- What errors name.

LONGEST_LIST = 8
"""Tools that an error lists."""
