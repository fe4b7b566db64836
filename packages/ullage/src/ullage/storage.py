"""Where sessions are kept: docs/store.md."""

from ullage.store.changes import Change, Subscription
from ullage.store.records import RecentRecords, RecordChange, Records
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import (
    Checkpoint,
    Lease,
    Receipt,
    Revise,
    SessionCursor,
    SessionRow,
    SharedKey,
    Store,
    StoreObserver,
    Unattended,
    Watch,
)

__all__ = [
    "Change",
    "Checkpoint",
    "Lease",
    "Receipt",
    "RecentRecords",
    "RecordChange",
    "Records",
    "Revise",
    "SessionCursor",
    "SessionRow",
    "SharedKey",
    "SqliteStore",
    "Store",
    "StoreObserver",
    "Subscription",
    "Unattended",
    "Watch",
]
