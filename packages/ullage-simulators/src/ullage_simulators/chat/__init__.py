"""The double of OpenAI-compatible Chat Completions."""
