"""Ullage's status line and hooks for Claude Code. They start in a few milliseconds.

The program starts its status line after each message, so nothing here imports ``ullage`` or anything else outside the
standard library, and each look at a log reads only its new lines.
"""
