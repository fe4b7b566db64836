"""The error of this package."""


class SimulatorError(Exception):
    """A scenario, a simulator's name or a port that can't be used; the message says what to do about it."""
