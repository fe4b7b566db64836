"""One file for each framework, with its ``FRAMEWORK``."""
