"""Frameworks with Ullage's plug-in through the same long sessions."""
