"""Transport: bytes out, bytes in. What they mean is decided in ``codec``."""
