"""The documented limits of images and bytes in one request.

The table has a limit only if the provider certainly refuses more, because the model can't see removed images. If two
pages of a provider differ, the larger number counts; a limit for some models applies to these alone. An unknown model,
a gateway and a self-hosted server have no limits here: a refusal teaches them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ullage.codec.wires.anthropic.reports import MANY_IMAGES
from ullage.context.costs import media_of
from ullage.messages import FilePart, ImagePart, Message
from ullage.meter.limits import lookup
from ullage.models.providers import canonical


class RequestLimits(NamedTuple):
    """The most images and files, counted together, and the most bytes of the body; ``None`` is unknown."""

    most_images: int | None = None
    most_bytes: int | None = None


class _DocumentedLimits(NamedTuple):
    """What is documented for the models that ``model`` fits and whose window holds at most ``window`` tokens.

    ``with_files``: files count as images do.
    """

    provider: str
    model: str
    most_images: int | None
    most_bytes: int | None
    sources: tuple[str, ...]
    window: int | None = None
    with_files: bool = False


_MB: Final = 1_000_000
_NARROW: Final = 200_000

_CLAUDE: Final = "https://platform.claude.com/docs/en/build-with-claude/vision"
_OWN_CLAUDE: Final = (
    _CLAUDE,
    "https://platform.claude.com/docs/en/api/overview#request-size-limits",
    "https://platform.claude.com/docs/en/api/errors",
)
_BEDROCK_CLAUDE: Final = (
    _CLAUDE,
    "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html",
    "https://platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock",
)
_VERTEX_CLAUDE: Final = (
    _CLAUDE,
    "https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai",
)
_GEMINI: Final = "https://ai.google.dev/gemini-api/docs/image-understanding"
_GEMINI_BYTES: Final = "https://ai.google.dev/gemini-api/docs/file-input-methods"
_GEMINI_VERTEX: Final = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding"
_OPENAI: Final = "https://developers.openai.com/api/docs/guides/images-vision"
_AZURE: Final = "https://learn.microsoft.com/en-us/azure/ai-foundry/openai/quotas-limits"
_MISTRAL: Final = "https://docs.mistral.ai/capabilities/vision/"
_GROQ: Final = "https://console.groq.com/docs/vision"

ROWS: Final = (
    _DocumentedLimits(
        "anthropic", "claude", 100, 32 * _MB, _OWN_CLAUDE, window=_NARROW, with_files=True
    ),
    _DocumentedLimits("anthropic", "claude", 600, 32 * _MB, _OWN_CLAUDE, with_files=True),
    _DocumentedLimits(
        "bedrock",
        "claude",
        100,
        20 * _MB,
        _BEDROCK_CLAUDE,
        window=_NARROW,
        with_files=True,
    ),
    _DocumentedLimits(
        "bedrock", "claude", 600, 20 * _MB, _BEDROCK_CLAUDE, with_files=True
    ),
    _DocumentedLimits(
        "vertex", "claude", 100, 30 * _MB, _VERTEX_CLAUDE, window=_NARROW, with_files=True
    ),
    _DocumentedLimits("vertex", "claude", 600, 30 * _MB, _VERTEX_CLAUDE, with_files=True),
    _DocumentedLimits("openai", r"gpt|^o[1-9]", 1_500, 512 * _MB, (_OPENAI,)),
    _DocumentedLimits("azure", r"gpt-4o|gpt-4\.1", 50, None, (_AZURE,)),
    _DocumentedLimits(
        "google", r"^(?!.*image).*gemini", 3_600, 100 * _MB, (_GEMINI, _GEMINI_BYTES)
    ),
    _DocumentedLimits("vertex", r"^(?!.*image).*gemini", 3_000, None, (_GEMINI_VERTEX,)),
    _DocumentedLimits("mistral", "", 8, None, (_MISTRAL,)),
    _DocumentedLimits("groq", "llama-4", 5, 4 * _MB, (_GROQ,)),
)
"""The first that fits counts. xAI takes any number (https://docs.x.ai/docs/guides/image-understanding); of Bedrock's
other models Amazon says that it sets none itself
(https://docs.aws.amazon.com/bedrock/latest/userguide/inference-api-restrictions.html)."""

MANY_IMAGES_PX: Final = 2_000
"""Above so many images (``MANY_IMAGES``) Claude takes none with a longer side:
https://platform.claude.com/docs/en/build-with-claude/vision."""


def request_limits(
    provider: str, model: str, messages: Iterable[Message] = ()
) -> RequestLimits:
    """What a request with these messages may hold at the most.

    The messages matter where files don't count among the images, and where large images may only be few.
    """
    row = _row(canonical(provider), model.lower())
    if row is None:
        return RequestLimits()
    media = [part for message in messages for part in media_of(message)]
    files = sum(isinstance(part, FilePart) for part in media)
    most = row.most_images
    if most is not None and not row.with_files:
        most += files
    if (
        most is not None
        and row.model == "claude"
        and any(_side(part) > MANY_IMAGES_PX for part in media)
    ):
        most = min(most, MANY_IMAGES + files)
    return RequestLimits(most, row.most_bytes)


def _row(provider: str, model: str) -> _DocumentedLimits | None:
    known = lookup(provider, model)
    if known is None:
        return None
    for row in ROWS:
        is_wide = row.window is not None and (
            known.window is None or known.window > row.window
        )
        if provider == row.provider and re.search(row.model, model) and not is_wide:
            return row
    return None


def _side(part: ImagePart | FilePart) -> int:
    return max(part.width or 0, part.height or 0) if isinstance(part, ImagePart) else 0
