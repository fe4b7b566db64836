"""Records sessions with a real ``llama-server`` for ``bench.accuracy``, with the server's own counts.

    uv run --with numpy --with gguf python -m bench.record FOLDER OUT.jsonl.gz

Each model is a vocabulary and a chat template of llama.cpp's (``bench/llama_cpp.py``; what is fetched stays in FOLDER),
so an input is counted as that model's server counts it; the answers are fixed. What each call adds is a piece of a file
of this repository: two sessions get it as the result of a tool. Fields: ``bench/recorded.py``.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.llama_cpp import Server, Vocabulary, fetch, make_model, running
from scripts.repository import ROOT

CALLS: Final = 61
SIZES: Final = (150, 500, 1_200, 3_000)
"""Characters that a call adds."""

KINDS: Final = (".py", ".md", ".js", ".json", ".css", ".toml", ".html")
SYSTEM: Final = "You look after one project. Read before you answer, and be brief."
TOOL: Final = json.loads(
    """{"type": "function", "function": {"name": "list",
    "description": "Gives the names in a directory, or a piece of a file.",
    "parameters": {"type": "object", "required": ["path"],
        "properties": {"path": {"type": "string", "description": "Which one"}}}}}"""
)
CALL: Final = '< tool _call >Ċ {" name ":" list "," arguments ":{" path ": Ġ" . "}} Ġ </ t ool _c all >'.split()  # noqa: SIM905
"""A call of the tool, as the tokens of Qwen's vocabulary: each of them once."""

MODELS: Final = {
    "qwen3-0.6b": ("qwen2", "Qwen-Qwen3-0.6B"),
    "qwen2.5-7b-instruct": ("qwen2", "Qwen-Qwen2.5-7B-Instruct"),
    "llama-3.1-8b-instruct": ("llama-bpe", "meta-llama-Llama-3.1-8B-Instruct"),
    "gemma-4-31b-it": ("gemma-4", "google-gemma-4-31B-it"),
}
"""Vocabulary and template of each."""


def pieces(seed: str) -> Iterator[str]:
    """Pieces of files of this repository, of all kinds and sizes."""
    dice = Random(seed)
    files = sorted(ROOT.glob("[a-z]*/**/*.*"))
    while True:
        kind = dice.choice(KINDS)
        text = dice.choice([each for each in files if each.suffix == kind]).read_text()
        start = dice.randrange(max(1, len(text) - SIZES[0]))
        yield text[start : start + dice.choice(SIZES)]


def record(server: Server, model: str, tools: list[Any]) -> Iterator[dict[str, Any]]:
    """A row for each call but the first."""
    added = pieces(model)
    text = next(added)
    sent = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
    row: dict[str, Any] = {
        "source": f"llama.cpp/{model}",
        "kind": "llama.cpp",
        "conv": model,
        "provider": "llama.cpp",
        "api": "chat",
        "model": model,
        "system": SYSTEM,
        "tools": tools,
        "a_atoms": [{"r": "user", "k": "text", "t": text}],
        "complete": True,
    }
    for turn in range(CALLS):
        told = server.ask("/v1/chat/completions", {"messages": sent, "tools": tools})
        raw, message = told["usage"], told["choices"][0]["message"]
        usage = {"input": raw["prompt_tokens"], "output": raw["completion_tokens"]}
        if turn:
            yield row | {"id": f"{model}-{turn}", "usage_b_raw": raw, "usage_b": usage}
            row["a_atoms"] = None
        text = next(added)
        said = {"r": "assistant", "k": "text", "t": message["content"]}
        new, reply = {"r": "user", "k": "text"}, {"role": "user"}
        for call in message.get("tool_calls") or []:
            of_call = {"id": call["id"], "name": call["function"]["name"]}
            said = {"k": "tool_call", "t": call["function"]["arguments"], **of_call}
            new = {"r": "tool", "k": "tool_result", "id": call["id"]}
            reply = {"role": "tool", "tool_call_id": call["id"]}
        row |= {"usage_a_raw": raw, "usage_a": usage}
        row |= {"a_response": [said], "new": [{**new, "t": text}]}
        sent += [message | {"content": message["content"] or ""}]
        sent += [{**reply, "content": text}]


def main() -> None:
    folder, out = map(Path, sys.argv[1:])
    parts = fetch(folder)
    with gzip.GzipFile(out, "wb", mtime=0) as file:
        for model, (vocabulary, template) in MODELS.items():
            tools = [TOOL] if vocabulary == "qwen2" else []
            made = Vocabulary(f"ggml-vocab-{vocabulary}.gguf", f"{template}.jinja")
            path = folder / f"{model}.gguf"
            make_model(parts, made, path, CALL if tools else ())
            with running(parts, path) as server:
                for row in record(server, model, tools):
                    file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


if __name__ == "__main__":
    main()
