"""A proxy that meters the calls of any client."""
