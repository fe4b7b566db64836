"""The rules and models of the simulators as the rows of the tables in packages/ullage-simulators/RULES.md.

uv run python -m tests.simulators.rule_tables      prints them
"""

import sys
from collections.abc import Mapping

from ullage_simulators.anthropic.rules import RULES as ANTHROPIC
from ullage_simulators.chat.rules import RULES as CHAT
from ullage_simulators.chat.variants import VARIANTS
from ullage_simulators.gemini.rules import RULES as GEMINI
from ullage_simulators.models import MODELS, Model
from ullage_simulators.openai_rules import SHARED
from ullage_simulators.refusal import Rule
from ullage_simulators.responses.rules import RULES as RESPONSES

HEADING = "| rule | status | what is said | source | confidence |\n|---|---|---|---|---|"


def tables() -> dict[str, Mapping[str, Rule]]:
    """Each table's title and rules. What both OpenAI wires say stands once."""
    own = {name: rule for name, rule in RESPONSES.items() if SHARED.get(name) != rule}
    chat = {name: rule for name, rule in CHAT.items() if SHARED.get(name) != rule}
    others = {
        f"Chat: {name}": variant.rules
        for name, variant in VARIANTS.items()
        if variant.rules and name != "openai"
    }
    return {
        "Anthropic Messages": ANTHROPIC,
        "OpenAI, both wires": SHARED,
        "OpenAI Responses": own,
        "OpenAI Chat": chat,
        **others,
        "Gemini generateContent": GEMINI,
    }


def row(name: str, rule: Rule) -> str:
    """One rule as a row."""
    text = (
        rule.text.strip()
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("*", "\\*")
        .replace("{{", "{")
        .replace("}}", "}")
    )
    link = (
        f"[{_short(rule.source)}]({rule.source})"
        if rule.source.startswith("http")
        else rule.source
    )
    return f"| {name} | {rule.status} | {text} | {link} | {rule.confidence} |"


def _short(source: str) -> str:
    parts = source.split("/")
    if parts[2] == "github.com" and len(parts) > 6 and parts[5] != "blob":
        return f"{parts[4]}#{parts[6]}"
    return parts[2].removeprefix("www.")


def models() -> str:
    """The models, and which earlier reasoning their next input counts."""
    rows = [
        "| model | API | window | reasoning in a tool loop | after a user message |",
        "|---|---|---:|---|---|",
    ]
    for model in MODELS:
        counted = " | ".join(_counted(model))
        rows.append(f"| `{model.name}` | {model.family} | {model.window:,} | {counted} |")
    return "\n".join(["## Models", "", *rows]) + "\n"


def _counted(model: Model) -> tuple[str, str]:
    if not model.reasons:
        return "none", "none"
    if model.even_unsent:
        return "counted, even unsent", "counted, even unsent"
    loop = "counted" if model.loop else "not"
    turns = "counted" if model.turns else "not"
    if "draws-rules" in model.traits:
        loop = "drawn"
    elif "counts-when-streaming" in model.traits:
        loop = "when streamed"
    elif "reasoning-for-ever" in model.traits:
        turns = "of messages with calls"
    return loop, turns


def markdown() -> str:
    """All tables of rules."""
    chunks = []
    for title, rules in tables().items():
        rows = [row(name, rule) for name, rule in rules.items()]
        chunks.append("\n".join([f"## {title}", "", HEADING, *rows]))
    return "\n\n".join(chunks) + "\n"


if __name__ == "__main__":
    sys.stdout.write(f"{markdown()}\n{models()}")
