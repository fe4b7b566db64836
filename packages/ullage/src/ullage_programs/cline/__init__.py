"""Cline, on the command line and in VS Code: its log."""
