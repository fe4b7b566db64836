"""The double of OpenAI's Responses API."""
