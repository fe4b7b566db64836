"""Records sessions with a real ``llama-server`` for ``bench.accuracy``, with the server's own counts.

    uv run --with numpy --with gguf python -m bench.record FOLDER OUT.jsonl.gz

Each model is a vocabulary and a chat template of llama.cpp's (``bench/llama_cpp.py``; what is fetched stays in FOLDER),
so an input is counted as that model's server counts it; the answers are fixed. What each call adds is a piece of a file
of this repository: two sessions get it as the result of a tool. Fields: ``bench/recorded.py``.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from bench.llama_cpp import Server, Vocabulary, fetch, make_model, running

ROOT: Final = Path(__file__).resolve().parents[1]
CALLS: Final = 61
SIZES: Final = (150, 500, 1_200, 3_000)
"""Characters that a call adds."""

KINDS: Final = ("*.py", "*.md", "*.js", "*.json", "*.css", "*.toml", "*.html")
SYSTEM: Final = "You look after one project. Read before you answer, and be brief."
TOOL: Final = {
    "type": "function",
    "function": {
        "name": "list",
        "description": "Gives the names in a directory, or a piece of a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Which one"}},
            "required": ["path"],
        },
    },
}
CALL: Final = '< tool _call >Ċ {" name ":" list "," arguments ":{" path ": Ġ" . "}} Ġ </ t ool _c all >'.split()
"""A call of the tool, as the tokens of Qwen's vocabulary: each of them once."""


class Session(NamedTuple):
    """The model's name, what makes it, and the tokens of its answers."""

    name: str
    vocabulary: Vocabulary
    answer: Sequence[str] = ()


SESSIONS: Final = (
    Session(
        "qwen3-0.6b", Vocabulary("ggml-vocab-qwen2.gguf", "Qwen-Qwen3-0.6B.jinja"), CALL
    ),
    Session(
        "qwen2.5-7b-instruct",
        Vocabulary("ggml-vocab-qwen2.gguf", "Qwen-Qwen2.5-7B-Instruct.jinja"),
        CALL,
    ),
    Session(
        "llama-3.1-8b-instruct",
        Vocabulary("ggml-vocab-llama-bpe.gguf", "meta-llama-Llama-3.1-8B-Instruct.jinja"),
    ),
    Session(
        "gemma-4-31b-it",
        Vocabulary("ggml-vocab-gemma-4.gguf", "google-gemma-4-31B-it.jinja"),
    ),
)


def pieces(seed: str) -> Iterator[str]:
    """Pieces of files of this repository, of all kinds and sizes."""
    dice = Random(seed)
    while True:
        listed = subprocess.check_output(["git", "ls-files", dice.choice(KINDS)], cwd=ROOT)
        text = (ROOT / dice.choice(listed.decode().splitlines())).read_text("utf-8")
        start = dice.randrange(max(1, len(text) - SIZES[0]))
        yield text[start : start + dice.choice(SIZES)]


def record(server: Server, session: Session) -> Iterator[dict[str, Any]]:
    """A row for each call but the first."""
    added = pieces(session.name)
    sent: list[dict[str, Any]] = [{"role": "user", "content": next(added)}]
    row: dict[str, Any] = {}
    for turn in range(CALLS):
        body = {"messages": [{"role": "system", "content": SYSTEM}, *sent]}
        if session.answer:
            body["tools"] = [TOOL]
        told = server.ask("/v1/chat/completions", body)
        raw, message = told["usage"], told["choices"][0]["message"]
        usage = {"input": raw["prompt_tokens"], "output": raw["completion_tokens"]}
        if row:
            yield row | {"usage_b_raw": raw, "usage_b": usage}
        text = next(added)
        calls = message.get("tool_calls") or []
        new = {"r": "user", "k": "text", "t": text}
        said = {"r": "assistant", "k": "text", "t": message["content"]}
        reply = {"role": "user", "content": text}
        if calls:
            function, name = calls[0]["function"], calls[0]["id"]
            said = {"r": "assistant", "k": "tool_call", "t": function["arguments"]}
            said |= {"id": name, "name": function["name"]}
            new = {"r": "tool", "k": "tool_result", "t": text, "id": name}
            reply = {"role": "tool", "content": text, "tool_call_id": name}
        row = {
            "id": f"{session.name}-{turn}",
            "source": f"llama.cpp/{session.name}",
            "kind": "llama.cpp",
            "conv": session.name,
            "provider": "llama.cpp",
            "api": "chat",
            "model": session.name,
            "system": SYSTEM,
            "tools": body.get("tools", []),
            "a_atoms": None if turn else [{"r": "user", "k": "text", "t": sent[0]["content"]}],
            "usage_a_raw": raw,
            "usage_a": usage,
            "a_response": [said],
            "new": [new],
            "complete": True,
        }
        sent += [{**message, "content": message.get("content") or ""}, reply]


def main() -> None:
    folder, out = map(Path, sys.argv[1:])
    parts = fetch(folder)
    with gzip.GzipFile(out, "wb", mtime=0) as file:
        for session in SESSIONS:
            path = folder / f"{session.name}.gguf"
            make_model(parts, session.vocabulary, path, session.answer)
            with running(parts, path) as server:
                for row in record(server, session):
                    file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


if __name__ == "__main__":
    main()
