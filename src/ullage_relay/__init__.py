"""The proxy's relay: passes requests and answers on unchanged, and gives a copy of the metered ones to its child.

It starts with ``python -I -S PATH/ullage_relay/__main__.py`` and loads the standard library alone, so that it stays
small and quick beside the programs whose traffic it carries.
"""
