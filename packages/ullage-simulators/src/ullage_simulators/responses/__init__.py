"""The simulator of OpenAI's Responses API."""
