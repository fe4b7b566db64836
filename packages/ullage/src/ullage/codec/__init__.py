"""Providers' JSON in and out of our words: usage, request bodies, answers. Pure; transport lives elsewhere."""
