"""The simulator of Anthropic's Messages API."""
