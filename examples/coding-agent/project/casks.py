"""How much room is left in casks."""


def ullage(volume: float, level: float) -> float:
    """The litres that are missing in a cask of this volume, filled to this share of it."""
    return volume - level
