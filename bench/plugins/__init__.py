"""Frameworks with Ullage's plug-in, and with their own compaction, through the same long sessions."""
