"""The double of Anthropic's Messages API."""
