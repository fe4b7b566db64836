"""The store in one SQLite file: all that is SQLite's own."""
