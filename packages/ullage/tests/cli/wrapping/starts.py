"""A client that is about to start in an empty home directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ullage.cli.wrapping.setup import Start


def start_in(home: Path, *arguments: str, **environment: str) -> Start:
    """In the directory ``project`` of the home directory, with these variables alone."""
    project = home / "project"
    project.mkdir(exist_ok=True)
    return Start({"HOME": str(home), **environment}, project, arguments)


def write(path: Path, content: Mapping[str, Any] | str) -> None:
    """A file of settings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text)
