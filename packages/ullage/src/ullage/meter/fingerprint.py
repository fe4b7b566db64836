"""Names for exact content: rolling digests over ids and revisions."""

from collections.abc import Iterable
from hashlib import blake2b

from ullage.messages import Message, SystemBlock, Tool, ToolResultPart

EMPTY = "0" * 16
_SIZE = 8


def digest(*pieces: str | bytes) -> str:
    """Sixteen hexadecimal characters that name these pieces in this order."""
    named = blake2b(digest_size=_SIZE)
    for piece in pieces:
        data = piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece
        named.update(b"%d:" % len(data))
        named.update(data)
    return named.hexdigest()


def roll(before: str, message: Message) -> str:
    """The digest of a history that ends with ``message``, from the digest of what came before it."""
    marks = [before, message.id, str(message.revision)]
    for part in message.parts:
        marks += (part.id, str(part.revision))
        if isinstance(part, ToolResultPart):
            for inner in part.content:
                marks += (inner.id, str(inner.revision))
    return digest(*marks)


def of_messages(messages: Iterable[Message]) -> str:
    """The rolling digest of a whole history."""
    rolled = EMPTY
    for message in messages:
        rolled = roll(rolled, message)
    return rolled


def of_system(system: Iterable[SystemBlock]) -> str:
    """Names a system prompt by its content."""
    return digest(
        *(piece for block in system for piece in (block.kind, block.name, block.text))
    )


def of_tools(tools: Iterable[Tool]) -> str:
    """Names a tool set by its declarations, in their order."""
    return digest(
        *(
            piece
            for tool in tools
            for piece in (
                tool.name,
                tool.description,
                bytes(tool.schema),
                tool.kind,
                "deferred" * tool.deferred,
            )
        )
    )
