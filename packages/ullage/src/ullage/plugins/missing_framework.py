"""What a plug-in says where its framework is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ullage.errors import MissingExtra
from ullage.installation import extra_command


@contextmanager
def importing(plugin: str, *packages: str) -> Iterator[None]:
    """Around the imports of these packages: without them, or with too old ones, ``MissingExtra`` says what to install.

    ``plugin`` is the name of its module. The extra has the same name, with hyphens.
    """
    try:
        yield
    except ImportError as problem:
        if not any(_is_part(problem.name or "", package) for package in packages):
            raise
        command = extra_command(plugin.replace("_", "-"))
        raise MissingExtra(
            f"`ullage.plugins.{plugin}` needs more than is installed: {problem}. Install it: {command}"
        ) from problem


def _is_part(name: str, package: str) -> bool:
    """Whether a module is of this package, or is one that holds it."""
    return f"{name}.".startswith(f"{package}.") or f"{package}.".startswith(f"{name}.")
