"""Agents that run inside a context window: the loop, its tools, sessions, the chat."""
