"""Session logs of other programs, and plain JSON, as events: lines in, events out; one file a format."""

from ullage.importers.detect import read, reader_for
from ullage.importers.places import (
    Found,
    FoundSession,
    Looked,
    directory_of,
    find_sessions,
    glance,
)
from ullage.importers.reader import ImportedSession, Reader, Skipped

__all__ = [
    "Found",
    "FoundSession",
    "ImportedSession",
    "Looked",
    "Reader",
    "Skipped",
    "directory_of",
    "find_sessions",
    "glance",
    "read",
    "reader_for",
]
