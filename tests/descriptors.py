"""A program that holds more descriptors than ``select`` takes."""

HOLD_MANY = """
import os, resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (2_048, hard))
held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
"""
"""The beginning of its source."""
