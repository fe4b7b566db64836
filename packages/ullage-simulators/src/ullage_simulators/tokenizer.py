"""Counts o200k tokens with bpe-openai's compiled module, which is loaded without the package around it.

Ullage counts with the same vocabulary through code of its own: a simulator that used
that code would share its mistakes.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, PathFinder
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def _vocabulary() -> Any:
    package = PathFinder.find_spec("bpe_openai")
    for place in (package.submodule_search_locations or []) if package else []:
        for file in Path(place).iterdir():
            if file.name.startswith("_bindings") and file.name.endswith(
                tuple(EXTENSION_SUFFIXES)
            ):
                loader = ExtensionFileLoader("bpe_openai._bindings", str(file))
                spec = importlib.util.spec_from_loader("bpe_openai._bindings", loader)
                if spec is not None:
                    module = importlib.util.module_from_spec(spec)
                    loader.exec_module(module)
                    return module.tokenizer_for_encoding("o200k_base")
    raise ImportError(
        "The compiled module of bpe-openai is missing: reinstall ullage-simulators."
    )


@lru_cache(maxsize=20_000)
def tokens(text: str) -> int:
    """How many o200k tokens the text is."""
    return int(_vocabulary().count(text)) if text else 0
