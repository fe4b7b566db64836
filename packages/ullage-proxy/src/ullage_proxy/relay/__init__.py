"""The proxy's relay: passes requests and answers on, and gives a copy of the metered ones to its child.

A process of its own, which loads h11 and the standard library alone, so that it stays small and quick beside the
programs whose traffic it carries.
"""
