"""What the simulators' count has to be multiplied with, and what has to be added, to come to recorded bills.

    uv run --with numpy python -m bench.simulator_numbers CALLS.jsonl.gz PAIRS.jsonl.gz

CALLS holds whole requests with the provider's own counts, PAIRS consecutive calls (docs/accuracy.md). Texts are counted
by the simulators' tokenizer and by nothing of Ullage's, so what is found may judge Ullage's estimates. Long texts are
rare in whole requests: there, what tool results added to a session of an agent counts. The numbers of
``bench.clients.scenarios`` are rounded from this table.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from ullage_simulators.prompt import declaration
from ullage_simulators.tokenizer import tokens

NAMES: Final = ("request", "message", "factor", "tools", "tool", "declared", "result")
PRIOR: Final = np.array([5.0, 4.0, 1.1, 100.0, 0.0, 1.0, 12.0])
PULL: Final = np.array([0.02, 0.5, 1.0, 0.0001, 1.0, 1.0, 0.05])
"""How far few observations may move a number."""

LONG: Final = 300
"""A result of fewer tokens says more of framing than of text."""

SHAPED: Final = ("format", "chema", "hinking", "tool_choice", "output_config")
"""Parameters that cost tokens of their own."""


class RecordedFamily(NamedTuple):
    """Models that are charged alike."""

    name: str
    wire: str
    models: str
    prior: np.ndarray = PRIOR
    pull: np.ndarray = PULL


_AS_CLAUDE: Final = np.array([5.0, 1.3, 1.2, 300.0, 12.0, 1.3, 15.0])
"""Where to begin with Claude: what ``first_call`` shows of its other models."""

_FEW_TOOLS: Final = np.array([0.02, 0.5, 1.0, 0.0001, 0.01, 30.0, 0.05])
"""Few requests declare more than one tool: what a tool costs and what its JSON costs can't both be told apart."""

FAMILIES: Final = (
    RecordedFamily(
        "Claude 4.5, 4.6",
        "messages",
        r"claude-(sonnet|haiku|opus)-4[-.][56]",
        _AS_CLAUDE,
        _FEW_TOOLS,
    ),
    RecordedFamily(
        "Claude 4.7 and later",
        "messages",
        r"opus-4-[78]|claude-sonnet-5",
        _AS_CLAUDE,
        _FEW_TOOLS,
    ),
    RecordedFamily("GPT-5, Responses", "responses", r"^gpt-5"),
    RecordedFamily("GPT, Chat", "chat", r"^gpt-[45]"),
    RecordedFamily(
        "DeepSeek, Chat", "chat", r"deepseek-(chat|reasoner|v)", PRIOR, _FEW_TOOLS
    ),
    RecordedFamily("Gemini 2.5", "generateContent", r"^gemini-2\.5", PRIOR, _FEW_TOOLS),
)


class Observation(NamedTuple):
    """What was counted, in the order of ``NAMES``, and what was charged for it."""

    counts: tuple[float, ...]
    charged: int


def first_call(row: Mapping[str, Any]) -> Observation | None:
    """A plain request; ``None`` for one with media, hosted tools or parameters that cost something."""
    charged = (row.get("usage") or {}).get("input")
    if row.get("is_b") or not charged:
        return None
    params = json.dumps(row.get("params") or {})
    if any(word in params for word in SHAPED):
        return None
    messages = set()
    size = 0
    for atom in row["atoms"]:
        if atom["k"] != "text":
            return None
        size += tokens(atom.get("t") or "")
        messages.add(atom["m"])
    system = row.get("system")
    if isinstance(system, str) and system:
        size += tokens(system)
        if row["api"] in ("chat", "responses"):
            messages.add("system")
    declared = 0
    tools = list(_declared(row.get("tools") or []))
    for tool in tools:
        if not _is_plain(tool):
            return None
        words, schema = declaration(tool)
        size += tokens(words)
        declared += tokens(schema)
    if size > 2 * charged:
        return None  # what was cached before is not in the count
    counts = (1, len(messages), size, bool(tools), len(tools), declared, 0)
    return Observation(counts, charged)


def _declared(tools: Sequence[Any]) -> Iterator[Any]:
    for tool in tools:
        yield from tool.get("functionDeclarations") or [tool]


def _is_plain(tool: Mapping[str, Any]) -> bool:
    function = tool.get("function") or tool
    schemas = ("parameters", "input_schema", "parametersJsonSchema")
    has_schema = any(function.get(name) for name in schemas)
    return has_schema and not tool.get("defer_loading")


def growth(row: Mapping[str, Any]) -> Observation | None:
    """What long results added to an agent's session; ``None`` where anything else came or left."""
    told = ("same_system", "same_tools", "same_params", "echo_match")
    if any(row.get(name) is False for name in told):
        return None
    if row.get("compacted") or row.get("new_has_assistant"):
        return None
    if row.get("output_placeholder") or not row.get("complete", True):
        return None
    before, after = row["usage_a"], row["usage_b"]
    if not before.get("input") or not after.get("input") or not before.get("output"):
        return None
    size = 0
    for atom in row["new"]:
        if atom["k"] != "tool_result":
            return None
        size += tokens(atom.get("t") or "")
    charged = after["input"] - before["input"] - before["output"]
    if size < LONG or charged < size / 2:
        return None
    return Observation((0, 0, size, 0, 0, 0, len(row["new"])), charged)


def fitted(
    seen: Sequence[Observation], prior: np.ndarray, pull: np.ndarray
) -> tuple[np.ndarray, float]:
    """The numbers, by robust regression towards ``prior``, and the median error in percent."""
    counts = np.array([each.counts for each in seen], float)
    charged = np.array([each.charged for each in seen], float)
    scale = 2 + 0.02 * charged
    trust = np.ones(len(seen))
    numbers = prior
    for _ in range(60):
        weights = trust / scale**2
        weighed = counts * weights[:, None]
        left = weighed.T @ (charged - counts @ prior)
        numbers = prior + np.linalg.solve(weighed.T @ counts + np.diag(pull), left)
        off = np.abs(charged - counts @ numbers)
        trust = 1 / np.maximum(1, off / scale) ** 2
    return numbers, float(np.median(100 * off / charged))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def main() -> None:
    """Print a row for each family."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("calls", type=Path)
    options.add_argument("pairs", type=Path)
    chosen = options.parse_args()
    calls, pairs = list(_rows(chosen.calls)), list(_rows(chosen.pairs))
    for family in FAMILIES:
        seen: list[Observation] = []
        with_tools = grown = 0
        for row in calls:
            found = first_call(row) if row["api"] == family.wire else None
            if found is not None and re.search(family.models, row["model"]):
                seen.append(found)
                with_tools += bool(found.counts[3])
        for row in pairs:
            found = growth(row) if row["api"] == family.wire else None
            if found is not None and re.search(family.models, row["model"]):
                seen.append(found)
                grown += 1
        numbers, error = fitted(seen, family.prior, family.pull)
        shown = []
        for name, number in zip(NAMES, numbers, strict=True):
            shown.append(f"{name} {number:.3g}")
        first = len(seen) - grown
        counted = f"{first} requests ({with_tools} with tools), {grown} results"
        print(
            f"{family.name}: {', '.join(shown)}; n = {counted}; median error {error:.1f} %"
        )


if __name__ == "__main__":
    main()
