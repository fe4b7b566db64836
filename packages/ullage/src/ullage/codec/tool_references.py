"""References to deferred tools in the result of a search: the provider puts the tool's declaration in their place.

https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool, "Custom tool search implementation".
A result holds references alone, or none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ullage.codec.foreign import parse_object
from ullage.messages import TOOL_REFERENCE, ProviderData, ProviderItem, ResultContent


def reference_to(
    tool: str, *, id: str, wire: str, provider: str, model: str
) -> ProviderItem:
    """A reference to the tool of this name."""
    block = {"type": TOOL_REFERENCE, "tool_name": tool}
    data = ProviderData(
        data=msgspec.Raw(msgspec.json.encode(block)),
        wire=wire,
        provider=provider,
        model=model,
    )
    return ProviderItem(id=id, kind=TOOL_REFERENCE, provider=data)


def referenced(content: Iterable[ResultContent]) -> Iterator[str]:
    """The names of the tools that a tool's result refers to."""
    for part in content:
        if not isinstance(part, ProviderItem) or part.kind != TOOL_REFERENCE:
            continue
        if part.provider is None:
            continue
        block = parse_object(part.provider.data)
        name = block.get("tool_name")
        if isinstance(name, str):
            yield name
