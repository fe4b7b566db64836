"""What a client's user answered when the client asked whether to trust a directory; ``None`` without an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from ullage.store.private_file import read_file

NO: Final = "DO_NOT_TRUST"
LEVELS: Final = ("TRUST_FOLDER", "TRUST_PARENT", NO)


def trusted_folders(rules: object, directory: Path) -> bool | None:
    """The answer in ``trustedFolders.json``: that of the deepest directory, and of two for one directory the no.

    qwen-code decides so (0.24.4, ``resolveTrustRule``). Gemini CLI takes the rule with the longest path (0.61.0,
    https://geminicli.com/docs/cli/trusted-folders), which differs only where a rule names a parent or a link.
    """
    real = directory.resolve()
    found = []
    for name, level in rules.items() if isinstance(rules, Mapping) else ():
        folder = Path(name).parent if level == "TRUST_PARENT" else Path(name)
        folder = folder.resolve()
        if level in LEVELS and real.is_relative_to(folder):
            found.append((len(folder.parts), level == NO))
    if not found:
        return None
    _, is_no = max(found)
    return not is_no


def accepted_dialog(state: Path, directory: Path) -> bool | None:
    """Whether the dialog of Claude Code was accepted here or above, up to the root of the repository.

    ``state`` is its ``.claude.json``, which has megabytes (2.1.332; https://code.claude.com/docs/en/security).
    """
    projects = _projects(state)
    for place in (directory, *directory.parents):
        entry = projects.get(str(place))
        if isinstance(entry, Mapping) and entry.get("hasTrustDialogAccepted") is True:
            return True
        if (place / ".git").exists():
            break
    return None


def _projects(state: Path) -> Mapping[str, Any]:
    try:
        content = msgspec.json.decode(read_file(state))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    found = content.get("projects") if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}
