"""A hook in Gemini CLI's settings (https://geminicli.com/docs/hooks/reference), and the variable of its address.

https://geminicli.com/docs/reference/configuration. Tried with 0.61.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ullage.cli.installing.entries import ClientEntry, HookEntry, command
from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress, WrapRefused

ADDRESS: Final = "GOOGLE_GEMINI_BASE_URL"
PROVIDER: Final = "gemini"
USUAL: Final = "https://generativelanguage.googleapis.com"

TRUST: Final = "GEMINI_CLI_TRUST_WORKSPACE"
RESTRICTED: Final = "GEMINI_RESTRICTED_MODE"
"""Variables that answer for every directory (https://geminicli.com/docs/cli/trusted-folders)."""

METERED: Final = (None, "gemini-api-key", "gateway")
"""Ways to sign in whose calls go to the address. The others speak to Code Assist or Vertex AI."""


def entries(*, proxy: str, project: bool) -> list[ClientEntry]:
    """What can be installed. It has no status line, and takes another address from the environment alone."""
    directory = Path.cwd() if project else Path.home()
    path = directory / ".gemini" / "settings.json"
    handler = {
        "type": "command",
        "name": "ullage",
        "command": command("gemini_cli.turn"),
        "timeout": 5_000,
    }
    about = (
        "AfterAgent hook: a message once a turn has filled 70 % and 90 % of the window"
    )
    return [HookEntry(about, path, ["hooks", "AfterAgent"], handler)]


def used_address(start: Start) -> UsedAddress:
    """The environment comes before ``.env`` files (seen with 0.61.0)."""
    url = start.environment.get(ADDRESS)
    used = UsedAddress(url or USUAL, ADDRESS, PROVIDER)
    if url:
        return used
    return start.from_dotenv(used, ".gemini", lambda place: _trusts(start, place))


def setup(start: Start) -> ClientSetup:
    """One variable."""
    path = start.home / ".gemini" / "settings.json"
    chosen = start.setting(path, ["security", "auth", "selectedType"])
    if chosen not in METERED:
        raise WrapRefused(
            f"Gemini CLI is signed in in a way ({chosen}, in {path}) whose calls don't go to the Gemini API, so they "
            "can't be metered. Start `gemini` by itself, or choose an API key with /auth."
        )
    return ClientSetup({ADDRESS: start.through(used_address(start))})


def _trusts(start: Start, place: Path) -> bool | None:
    """In a directory that it may not trust it reads nothing but keys from ``.env`` (0.61.0)."""
    word = start.environment.get(TRUST)
    if word == "false" or start.environment.get(RESTRICTED) == "true":
        return False
    if word == "true" or "--skip-trust" in start.arguments:
        return True
    own = start.environment.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "")
    path = Path(own) if own else start.home / ".gemini" / "trustedFolders.json"
    return start.trusts(path, place)
