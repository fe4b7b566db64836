"""A provider's name is a literal in the table of providers and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from scripts.house.source import Source, unneeded
from ullage.models.providers import known_providers

NAMES = frozenset(
    name for row in known_providers() for name in (row.name, *row.aliases)
) - {"opencode"}
"""All but the one that is also the name of a format of logs."""

EXCEPTIONS = {
    "ullage_proxy/relay/own_answers.py": "whose wording an answer of the relay has",
    # facts that a provider documents or a recording shows, each row with its source, by provider and model
    "ullage/models/genai_prices.py": "which providers of the catalogue are taken, by its names",
    "ullage/meter/limits.py": "corrections of the catalogue, by its names",
    "ullage/reasoning.py": "which reasoning is counted, and families of models",
    "ullage/meter/opening.py": "groups of models",
    "ullage/codec/dialects.py": "names of dialects, which often are those of the first who spoke them",
    "ullage/tokens/weights.py": "names of vocabularies, which often are those of the first who published them",
    "ullage/codec/framework_usage.py": "the name of a dialect, which is that of the first who spoke it",
    "ullage/codec/wires/anthropic/__init__.py": "who made the wire",
    "ullage/codec/wires/gemini/__init__.py": "who made the wire",
    "ullage/codec/wires/responses/__init__.py": "who made the wire",
    "ullage/codec/wires/anthropic/reports.py": "names of dialects, and who words an overflow so",
    "ullage/codec/wires/chat/reports.py": "names of dialects, and who words an overflow so",
    "ullage/codec/wires/gemini/reports.py": "names of dialects, and who words an overflow so",
    "ullage/codec/wires/chat/rules.py": "families of models",
    # the vocabulary of another program, or of this one's command line
    "ullage/cli/client_names.py": "the programs that are wrapped",
    "ullage_programs/opencode/log_messages.py": "which of OpenCode's providers are gateways there",
    "ullage/cli/upstreams.py": "the names in the proxy's addresses",
    "ullage_programs/claude_code/client.py": "whose address Claude Code has",
    "ullage_programs/codex/client.py": "whose address Codex has",
    "ullage_programs/cline/log.py": "Cline's own names of providers",
    "ullage_programs/copilot_cli/client.py": "Copilot CLI's own name of a kind of provider",
    "ullage_programs/gemini_cli/client.py": "whose address Gemini CLI has",
    "ullage_programs/opencode/client.py": "OpenCode's own name of a provider",
    "ullage/cli/wrapping/other.py": "whose library reads a variable",
    "ullage_programs/pi/client.py": "pi's own names of providers",
    "ullage_programs/qwen_code/client.py": "whose address qwen-code has",
    "ullage/plugins/litellm.py": "LiteLLM's own name of a provider",
    "ullage_programs/pi/log.py": "pi's own names of APIs",
    "ullage_programs/pi/log_prompt.py": "pi's own names of providers",
    "ullage_programs/qwen_code/log.py": "qwen-code's own names of APIs",
    "ullage_programs/gemini_cli/facts.py": "the command of a program",
    "ullage_programs/gemini_cli/log.py": "the role of the model in the log",
    "ullage_agent/cli/demo.py": "names of simulators",
    "ullage_agent/cli/simulated.py": "names of simulators",
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
