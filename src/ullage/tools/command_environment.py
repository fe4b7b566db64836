"""The environment of a command: a list of harmless variables, and nothing that looks like a key.

A model's command can send away whatever it can print, so a provider's key is never in its environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PASSED: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "LC_ALL",
        "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY",
        "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "COLUMNS", "LINES", "NO_COLOR", "CI",
        "TMPDIR", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH",
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
        "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYENV_ROOT",
        "PYENV_VERSION", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOROOT", "GOPATH", "JAVA_HOME", "NVM_DIR",
        "NODE_ENV", "NODE_PATH", "VOLTA_HOME", "RBENV_ROOT", "RBENV_VERSION", "ASDF_DATA_DIR", "DOTNET_ROOT", "CC",
        "CXX", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH",
        "CPATH", "MANPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS", "PIP_CERT",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
        "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "GOPROXY",
    }
)  # fmt: skip
"""Who and where the user is, where toolchains and certificates lie, and how to reach a proxy or a package index.

The locale's names are those of locale(7). No flags of compilers and build tools: a key fits into free text too."""

SECRET_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
"""A variable with one of these in its name is never passed."""

ADDRESS_WORDS: Final = ("PROXY", "INDEX")
"""A variable with one of these in its name holds addresses, also without ``://``."""


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables a command gets: known names, and no address with a user or a query."""
    passed = {}
    for name, value in environment.items():
        if name in PASSED and not _is_secret(name, value):
            passed[name] = value
    return passed


def _is_secret(name: str, value: str) -> bool:
    if any(word in name.upper() for word in SECRET_WORDS):
        return True
    is_address = any(word in name.upper() for word in ADDRESS_WORDS) or "://" in value
    return is_address and ("@" in value or "?" in value)
