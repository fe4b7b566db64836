"""Counts the texts of the tests with the vocabularies' own tokenizers, and writes the counts beside the texts.

    uv run --with tokenizers --with tiktoken --with mistral-common python -m bench.vocabularies qwen=FILE tekken=FILE …

FILE is what a vendor publishes: ``tokenizer.json``, ``tekken.json``, or ranks as tiktoken reads them (``qwen.tiktoken``
of the package dashscope, ``tokenizer.model`` of llama-models). Where ``ullage[bpe]`` counts otherwise, it is printed.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ullage.tokens.bpe import BpeCounter

TEXTS = Path("packages/ullage/tests/tokens/vocabularies.json")

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_CASE = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
)
PATTERNS = {
    "qwen": rf"{_WORDS}|\p{{N}}|{_REST}",
    "llama": rf"{_WORDS}|\p{{N}}{{1,3}}|{_REST}",
    "glm": rf"{_WORDS}|\p{{N}}{{1,3}}|{_REST}",
    "kimi": rf"[\p{{Han}}]+|{_CASE}|\p{{N}}{{1,3}}|{_REST}",
}
"""How a vocabulary that is published as ranks cuts text first, as the vendor's own code says."""


SHARED = {"glm": 18}
"""The first texts alone: GLM 5 has more tokens of rare scripts and emoji than GLM 4, with which it is counted."""


def reference(vocabulary: str, file: Path) -> Callable[[str], int]:
    """A vendor's own count of a text."""
    if file.name.startswith("tekken"):
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        tekken = Tekkenizer.from_file(str(file))
        return lambda text: len(tekken.encode(text, bos=False, eos=False))
    if file.suffix == ".json":
        from tokenizers import Tokenizer

        read = Tokenizer.from_file(str(file))
        return lambda text: len(read.encode(text, add_special_tokens=False).ids)
    import tiktoken

    pairs = (line.split() for line in file.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    own = tiktoken.Encoding(
        vocabulary,
        pat_str=PATTERNS[vocabulary],
        mergeable_ranks=ranks,
        special_tokens={},
    )
    return lambda text: len(own.encode_ordinary(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="VOCABULARY=FILE")
    given = parser.parse_args()
    held: dict[str, Any] = json.loads(TEXTS.read_text())
    counter = BpeCounter()
    for vocabulary, _, file in (each.partition("=") for each in given.files):
        count = reference(vocabulary, Path(file))
        texts = held["texts"][: SHARED.get(vocabulary)]
        held[vocabulary] = [count(text) for text in texts]
        for text, tokens in zip(texts, held[vocabulary], strict=True):
            ours = counter.count(text, vocabulary)
            if ours != tokens:
                print(f"{vocabulary}: {tokens}, not {ours:.0f}: {text!r}")
    TEXTS.write_text(json.dumps(held, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
