"""``ullage install`` and ``ullage uninstall``: recorded changes of other programs' configuration."""
