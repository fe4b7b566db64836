"""The simulator of OpenAI-compatible Chat Completions."""
