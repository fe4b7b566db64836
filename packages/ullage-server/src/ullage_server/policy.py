"""The policy of what people see of many sessions, as numbers: links and approvals.

A number stands here where it was chosen: with its unit, its reason or source, and at the head of its group the test
that judges it.
"""

from __future__ import annotations

# --- Links. Judged by tests/server/test_links.py.

MOST_LINKS = 200
"""Links of a tenant that have not expired: each is a record that every server reads."""

LONGEST_LINK_H = 24 * 90
"""Hours that a link lasts at most."""

# --- Approvals of all sessions. Judged by tests/server/test_approvals.py.

SHOWN_ARGUMENTS = 20_000
"""Characters of a call's arguments in a list: a person reads them. The session's own list has every one of them."""

PAGES_LOOKED_AT = 20
"""Pages of sessions that need a person in which one answer looks for approvals."""
