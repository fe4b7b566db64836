"""What the SDKs of OpenAI, Anthropic and Google have and the codecs do not know.

    make sdk-news

Compares the types of the newest SDKs with the codecs. A name is known if the source of a wire's codec has it as a text:
what reads or writes a field names it. So a new field is overlooked where the codec uses its name for something else.
Every other name stands in ``sdk_names.toml`` with what becomes of it. Exit 1 lists those that stand in neither.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from scripts.sdk_types import unknown_names

ROOT: Final = Path(__file__).parents[1]
CODEC: Final = ROOT / "packages/ullage/src/ullage/codec"
LISTED: Final = Path(__file__).with_name("sdk_names.toml")


class Group(NamedTuple):
    """Names of one wire that share what becomes of them.

    ``held``: they name content that the provider holds. ``is_open``: they change what is counted, and are not handled.
    """

    wire: str
    names: tuple[str, ...]
    reason: str
    held: bool
    is_open: bool


class Sdk(NamedTuple):
    """Where a wire's types are (``module:name``), and the folders of its codec."""

    package: str
    folders: tuple[str, ...]
    roots: tuple[str, ...]


SDKS: Final = {
    "messages": Sdk(
        "anthropic",
        ("anthropic",),
        (
            "anthropic.types.message_create_params:MessageCreateParamsBase",
            "anthropic.types:Message",
            "anthropic.types:RawMessageStreamEvent",
            "anthropic.types.beta.message_create_params:MessageCreateParamsBase",
            "anthropic.types.beta:BetaMessage",
            "anthropic.types.beta:BetaRawMessageStreamEvent",
        ),
    ),
    "responses": Sdk(
        "openai",
        ("responses", "chat"),
        (
            "openai.types.responses.response_create_params:ResponseCreateParamsBase",
            "openai.types.responses:Response",
            "openai.types.responses:ResponseStreamEvent",
            "openai.types.responses:ResponsesClientEvent",
            "openai.types.responses:ResponsesServerEvent",
            "openai.types.beta.response_create_params:ResponseCreateParamsBase",
            "openai.types.beta:BetaResponse",
            "openai.types.beta:BetaResponseStreamEvent",
            "openai.types.beta:BetaResponsesClientEvent",
        ),
    ),
    "chat": Sdk(
        "openai",
        ("chat",),
        (
            "openai.types.chat.completion_create_params:CompletionCreateParamsBase",
            "openai.types.chat:ChatCompletion",
            "openai.types.chat:ChatCompletionChunk",
        ),
    ),
    "generateContent": Sdk(
        "google-genai",
        ("gemini",),
        (
            "google.genai.types:GenerateContentConfig",
            "google.genai.types:Content",
            "google.genai.types:GenerateContentResponse",
        ),
    ),
}


def main() -> int:
    """Print what is new, and give the exit code."""
    groups = read_groups(LISTED)
    packages = sorted({sdk.package for sdk in SDKS.values()})
    print(", ".join(f"{package} {version(package)}" for package in packages))
    count = 0
    for wire, sdk in SDKS.items():
        compared = compare(wire, sdk, groups)
        count += len(compared.new)
        for name in compared.new:
            print(f"{wire}: {name}")
        for name in compared.unneeded:
            print(f"{wire}: {name} is listed, and a codec has it or no SDK does")
    not_handled = sum(len(group.names) for group in groups if group.is_open)
    print(
        f"{not_handled} names of {LISTED.name} change what is counted and are not handled."
    )
    if count:
        print(
            f"{count} names are new. Read or write each in its codec, or list it in {LISTED.name} with what becomes of "
            "it; mark those that name content which the provider holds."
        )
    return 1 if count else 0


class Compared(NamedTuple):
    """The names of an SDK that neither the codec nor a group has, and the names of groups that are not needed."""

    new: list[str]
    unneeded: list[str]


def compare(wire: str, sdk: Sdk, groups: Iterable[Group]) -> Compared:
    """An SDK beside the wire's codec and the groups. A ``*`` in a group's name stands for anything."""
    listed = [name for group in groups if group.wire == wire for name in group.names]
    known = known_names(sdk.folders)
    found = {
        str(name)
        for root in sdk.roots
        for name in unknown_names(root, known.__contains__)
    }
    matched = {name: [one for one in found if fnmatchcase(one, name)] for name in listed}
    handled = {one for names in matched.values() for one in names}
    unneeded = [name for name, names in matched.items() if not names]
    return Compared(sorted(found - handled), unneeded)


@cache
def known_names(folders: tuple[str, ...]) -> frozenset[str]:
    """The texts in the source of these folders of ``codec/wires`` and of what wires share, and the parts of paths."""
    files = [*CODEC.glob("*.py")]
    for folder in folders:
        files += (CODEC / "wires" / folder).glob("*.py")
    texts: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
                if " " not in node.value:
                    texts.update(node.value.split("."))
    return frozenset(texts)


def read_groups(file: Path) -> list[Group]:
    return [
        Group(
            wire=group["wire"],
            names=tuple(group["names"]),
            reason=group["reason"],
            held=group.get("held", False),
            is_open=group.get("open", False),
        )
        for group in tomllib.loads(file.read_text())["group"]
    ]


if __name__ == "__main__":
    sys.exit(main())
