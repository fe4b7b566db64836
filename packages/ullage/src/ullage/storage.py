"""Where sessions are kept: docs/store.md.

``Store`` is what a store of your own fulfils, ``StorePlace`` what ``Agent(store=…)`` takes. ``SessionStore`` is what
Ullage makes of each, ``SessionRow`` what it says of a session, and ``Standing`` how that one stands.
"""

from ullage.store.memory import MemoryStore
from ullage.store.places import StorePlace, Unset
from ullage.store.protocol import Store
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Receipt, SessionCursor, SessionRow, SessionStore
from ullage.turns.standing import AskedApproval, Standing

__all__ = [
    "AskedApproval",
    "MemoryStore",
    "Receipt",
    "SessionCursor",
    "SessionRow",
    "SessionStore",
    "SqliteStore",
    "Standing",
    "Store",
    "StorePlace",
    "Unset",
]
