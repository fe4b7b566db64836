"""Numbers of the server that were chosen: each with its unit, its reason or source, and at the head of its group the
test that judges it.
"""

from __future__ import annotations

# --- Requests. Judged by tests/server/test_requests.py.

LARGEST_BODY = 1_000_000
"""Bytes of a request that is neither a message nor a file."""

LOGS_AT_ONCE = 2
"""Uploaded logs that are read at the same time; others wait. Each may take five times its size in memory, and all of
them share the processor with the event loop."""

# --- Boundaries of histograms. Judged by tests/server/test_metrics.py.

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Of what the store takes: a write takes milliseconds, and waits for 15 s while PostgreSQL is away."""

HTTP_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25),
    *(0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
)
"""https://opentelemetry.io/docs/specs/semconv/http/http-metrics/#metric-httpserverrequestduration"""

SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Of the actual input; the error of an estimate has these buckets on both sides of 0."""

MOST_PLACES = 50
"""Values of the label ``place``: callers name places, and each value is a series for good."""

# --- Links. Judged by tests/server/test_links.py.

MOST_LINKS = 200
"""Links of a tenant that have not expired: each is a record that every server reads."""

LONGEST_LINK_H = 24 * 90
"""Hours that a link lasts at most."""

# --- Approvals of all sessions. Judged by tests/server/test_approvals.py.

SHOWN_ARGUMENTS = 20_000
"""Characters of a call's arguments in a list: a person reads them. The session's own list has every one of them."""

# --- Notices of sessions that need a person. Judged by tests/server/test_notices.py.

NOTICE_LOOK_S = 2.0
"""Seconds between two looks for such sessions."""

MOST_NOTICED = 1_000
"""Sessions that are looked at: the newest. One record holds what became of their notices, some 60 bytes each."""

NOTICES_AT_ONCE = 8
"""Notices that one server sends at the same time."""

NOTICE_S = 10.0
"""Seconds that a receiver, or a command, has."""

NOTICE_CLAIM_S = 60.0
"""Seconds after which another server sends what one has begun to send and not reported on."""

NOTICE_PAUSES_S = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0)
"""Before the next attempts (standard-webhooks.md, "Deliverability and reliability")."""

NOTICE_LASTS_S = 90_000.0
"""Seconds after which a state is no news: no notice of it is begun or repeated."""
