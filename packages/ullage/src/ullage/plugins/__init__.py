"""Ullage inside other people's programs: their SDK clients, and the frameworks. ``import ullage`` loads none of it."""
