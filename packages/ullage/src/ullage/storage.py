"""Where sessions are kept: docs/store.md."""

from ullage.store.changes import Change, Subscription
from ullage.store.memory import MemoryStore
from ullage.store.places import StorePlace, Unset
from ullage.store.protocol import Store
from ullage.store.records import RecentRecords, RecordChange, Records
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import (
    Checkpoint,
    Lease,
    Receipt,
    Revise,
    SessionCursor,
    SessionRow,
    SessionStore,
    SharedKey,
    StoreObserver,
    Unattended,
    Watch,
)

__all__ = [
    "Change",
    "Checkpoint",
    "Lease",
    "MemoryStore",
    "Receipt",
    "RecentRecords",
    "RecordChange",
    "Records",
    "Revise",
    "SessionCursor",
    "SessionRow",
    "SessionStore",
    "SharedKey",
    "SqliteStore",
    "Store",
    "StoreObserver",
    "StorePlace",
    "Subscription",
    "Unattended",
    "Unset",
    "Watch",
]
