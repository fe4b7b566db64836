"""Other programs that talk to a model, one folder each: what Ullage knows of them is said here and nowhere else.

Of a folder's files ``facts.py``, ``marks.py`` and ``advice.py`` and what a status line starts need the standard library
alone, so that a program's status line starts in a few milliseconds. ``log.py`` reads its log with Ullage's own types.
"""
