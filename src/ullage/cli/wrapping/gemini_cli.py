"""Gemini CLI: a variable (https://geminicli.com/docs/reference/configuration). Tried with 0.61.0."""

from __future__ import annotations

from typing import Final

from ullage.cli.wrapping.setup import ClientSetup, Start, UsedAddress, WrapRefused

ADDRESS: Final = "GOOGLE_GEMINI_BASE_URL"
PROVIDER: Final = "gemini"
USUAL: Final = "https://generativelanguage.googleapis.com"

METERED: Final = (None, "gemini-api-key", "gateway")
"""Ways to sign in whose calls go to the address. The others speak to Code Assist or Vertex AI."""


def used_address(start: Start) -> UsedAddress:
    """The environment comes before ``.env`` files (seen with 0.61.0)."""
    url = start.environment.get(ADDRESS) or start.from_dotenv(ADDRESS, ".gemini")
    return UsedAddress(url or USUAL, ADDRESS, PROVIDER)


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
