"""A provider's name is a literal in the table of providers and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from scripts.house.source import Source, unneeded
from ullage.models.providers import TABLE

NAMES = frozenset(name for row in TABLE for name in (row.name, *row.aliases)) - {
    "opencode"
}
"""All but the one that is also the name of a format of logs."""

EXCEPTIONS = {
    "models/providers.py": "the table",
    # facts that a provider documents or a recording shows, each row with its source, by provider and model
    "models/genai_prices.py": "which providers of the catalogue are taken, by its names",
    "meter/limits.py": "corrections of the catalogue, by its names",
    "context/request_limits.py": "images and bytes of a request",
    "context/cold_cache.py": "how long a cache lives",
    "tokens/template.py": "framing of a request",
    "tokens/families.py": "families of models, and constants of a family at one provider",
    "tokens/media.py": "media",
    "reasoning.py": "which reasoning is counted, and families of models",
    "meter/opening.py": "groups of models",
    "codec/dialects.py": "names of dialects, which often are those of the first who spoke them",
    "codec/framework_usage.py": "the name of a dialect, which is that of the first who spoke it",
    "codec/wires/anthropic/__init__.py": "who made the wire",
    "codec/wires/gemini/__init__.py": "who made the wire",
    "codec/wires/responses/__init__.py": "who made the wire",
    "codec/wires/anthropic/reports.py": "names of dialects, and who words an overflow so",
    "codec/wires/chat/reports.py": "names of dialects, and who words an overflow so",
    "codec/wires/gemini/reports.py": "names of dialects, and who words an overflow so",
    "codec/wires/responses/reports.py": "names of dialects, and who words an overflow so",
    "codec/overflow.py": "who says an overflow in these words, for the documentation",
    "codec/wires/chat/rules.py": "families of models",
    # the vocabulary of another program, or of this one's command line
    "cli/client_names.py": "the programs that are wrapped",
    "cli/installing/claude_code.py": "whose address Claude Code has",
    "ullage_programs/opencode/log_messages.py": "which of OpenCode's providers are gateways there",
    "cli/installing/codex.py": "Codex's own name of a provider in its configuration",
    "cli/installing/opencode.py": "OpenCode's own name of a provider in its configuration",
    "cli/installing/pi.py": "pi's own name of a provider in its configuration",
    "cli/installing/qwen_code.py": "whose address qwen-code has",
    "cli/wrap.py": "the programs that are wrapped",
    "cli/upstreams.py": "the names in the proxy's addresses",
    "cli/wrapping/claude_code.py": "whose address Claude Code has",
    "cli/wrapping/codex.py": "whose address Codex has",
    "cli/wrapping/copilot_cli.py": "Copilot CLI's own name of a kind of provider",
    "cli/wrapping/gemini_cli.py": "whose address Gemini CLI has",
    "cli/wrapping/opencode.py": "OpenCode's own name of a provider",
    "cli/wrapping/other.py": "whose library reads a variable",
    "cli/wrapping/pi.py": "pi's own names of providers",
    "cli/wrapping/qwen_code.py": "whose address qwen-code has",
    "plugins/litellm.py": "LiteLLM's own name of a provider",
    "ullage_programs/pi/log.py": "pi's own names of APIs",
    "ullage_programs/qwen_code/log.py": "qwen-code's own names of APIs",
    "ullage_programs/gemini_cli/log.py": "the role of the model in the log",
    "cli/demo.py": "names of simulators",
    "cli/simulated.py": "names of simulators",
}
"""Files that may name providers, and why."""


def named(source: Source) -> Iterator[tuple[int, str]]:
    """Literals that are a provider's name, with their lines."""
    for node in source.nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value in NAMES
        ):
            yield node.lineno, node.value


def faults(files: Sequence[Source]) -> Iterator[str]:
    """Names of providers in other files, and exceptions that are not needed."""
    naming = set()
    for source in files:
        found = list(named(source))
        if found:
            naming.add(source.name)
        if source.name not in EXCEPTIONS:
            for line, name in found:
                yield f"{source.name}:{line}: {name!r}; name it in models/providers.py, as a column of its row"
    yield from unneeded(
        EXCEPTIONS, naming, "EXCEPTIONS of scripts/house/provider_names.py"
    )
