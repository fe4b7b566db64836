"""The picture of a session: how full its window is, what fills it, how it grew, what would make room. Pure."""
