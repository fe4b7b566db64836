"""Session logs of other programs, and plain JSON, as events: lines in, events out; one file a format."""

from ullage.importers.detect import read, reader_for
from ullage.importers.imported import Imported, Skipped
from ullage.importers.places import Found, Looked, Place, find_sessions, glance
from ullage.importers.reader import Reader

__all__ = ["Found", "Imported", "Looked", "Place", "Reader", "Skipped", "find_sessions", "glance", "read", "reader_for"]
