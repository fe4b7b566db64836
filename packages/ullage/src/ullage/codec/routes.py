"""What a request asks for, told from its path alone: the wire, and whether it is a call of a model."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

RouteKind = Literal["generate", "count", "other"]
"""A call of a model; a count of tokens; anything else, such as a list of models."""


class ApiRoute(NamedTuple):
    """``wire`` is empty for ``other``. ``model`` is the one in the path, as Gemini has it."""

    wire: str = ""
    kind: RouteKind = "other"
    model: str = ""

    @property
    def is_metered(self) -> bool:
        return self.kind == "generate"


OTHER: Final = ApiRoute()

_ENDINGS: Final[tuple[tuple[str, ApiRoute], ...]] = (
    # https://platform.claude.com/docs/en/api/messages and …/messages-count-tokens
    ("/messages/count_tokens", ApiRoute("messages", "count")),
    ("/messages", ApiRoute("messages", "generate")),
    # https://platform.openai.com/docs/api-reference
    ("/chat/completions", ApiRoute("chat", "generate")),
    ("/responses/input_tokens", ApiRoute("responses", "count")),
    ("/responses", ApiRoute("responses", "generate")),
)

_METHODS: Final[dict[str, RouteKind]] = {
    # https://ai.google.dev/api/generate-content and https://ai.google.dev/api/tokens
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "countTokens": "count",
}


def route_of(method: str, path: str) -> ApiRoute:
    """What a request asks for. ``path`` may begin with anything: the name of an upstream, a base path, a session."""
    if method.upper() != "POST":
        return OTHER
    path = path.partition("?")[0].rstrip("/")
    for ending, route in _ENDINGS:
        if path.endswith(ending):
            return route
    before, colon, name = path.rpartition(":")
    kind = _METHODS.get(name)
    if colon and kind is not None:
        return ApiRoute("generateContent", kind, before.rpartition("/")[2])
    return OTHER
