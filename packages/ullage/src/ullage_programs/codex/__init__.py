"""Codex: its limits and settings, its log, and its status line where it has one."""
