"""A provider's prompt cache by its documented rules, to bill request bodies with: what is read, and what is written.

It imports nothing of Ullage but the simulators' tokenizer. Anthropic: an entry is written at each mark, and found from
a mark within 20 blocks; other settings than before change what follows the system prompt; five minutes or an hour
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching). OpenAI: any prefix from 1,024 tokens on, in
steps of 128; five minutes, half an hour from GPT-5.6 on (https://developers.openai.com/api/docs/guides/prompt-caching).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ullage_simulators.tokenizer import tokens

LEAST, STEP, LOOKBACK = 1_024, 128, 20
HEADS: Final = (
    "text",
    "response_format",
    "reasoning",
    "reasoning_effort",
    "verbosity",
    "service_tier",
    "prompt_cache_key",
)
BEHIND: Final = (
    "thinking",
    "tool_choice",
    "output_config",
    "parallel_tool_calls",
    "speed",
)
Body = Mapping[str, Any]


class Block(NamedTuple):
    """A piece of a request as it is rendered; ``mark`` is how many seconds an entry behind it is to be kept."""

    text: str
    mark: int = 0

    @property
    def tokens(self) -> int:
        return tokens(self.text)


class Billed(NamedTuple):
    """Tokens of a request; ``written`` is ``None`` where the provider does not report it."""

    input: int
    read: int
    written: int | None
    hour_written: int = 0

    @property
    def held(self) -> int:
        """Tokens that the cache holds afterwards."""
        if self.written is None:
            return self.input // STEP * STEP
        return self.read + self.written

    def usage(self, wire: str) -> dict[str, Any]:
        """The usage object, with an answer of 20 tokens."""
        if wire == "messages":
            made = self.written or 0
            lives = {
                "ephemeral_5m_input_tokens": made - self.hour_written,
                "ephemeral_1h_input_tokens": self.hour_written,
            }
            return {
                "input_tokens": self.input - self.read - made,
                "cache_read_input_tokens": self.read,
                "cache_creation_input_tokens": made,
                "cache_creation": lives,
                "output_tokens": 20,
            }
        if wire == "responses":
            details = {"cached_tokens": self.read}
            return {
                "input_tokens": self.input,
                "input_tokens_details": details,
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self.input + 20,
            }
        return {
            "prompt_tokens": self.input,
            "prompt_tokens_details": {"cached_tokens": self.read},
            "completion_tokens": 20,
            "total_tokens": self.input + 20,
        }


def wire_of(body: Body) -> str:
    """``messages`` for Anthropic, ``responses``, ``chat``."""
    if "input" in body:
        return "responses"
    is_anthropic = "system" in body or "cache_control" in json.dumps(body)
    return "messages" if is_anthropic else "chat"


def blocks_of(body: Body, headers: Mapping[str, str]) -> list[Block]:
    """The request in the order it is cached."""
    betas = sorted(headers.get("anthropic-beta", "").split(","))
    heads = [body.get("model"), betas, *(body.get(name) for name in HEADS)]
    found = [Block(_dump(heads))]
    for tool in body.get("tools") or ():
        if not tool.get("defer_loading"):
            found.append(_block(tool))
    system = body.get("system") or body.get("instructions") or []
    found += [_block(each) for each in _parts(system)]
    found.append(Block(_dump([body.get(name) for name in BEHIND])))
    for message in body.get("messages") or body.get("input") or ():
        found += _message(message)
    return found


def _message(message: Body) -> Iterator[Block]:
    content = message.get("content")
    shell = {name: value for name, value in message.items() if name != "content"}
    if content is None:
        yield _block(message)
        return
    for part in _parts(content):
        block = _block(part)
        yield block._replace(text=message.get("role", "") + block.text)
    if len(shell) > 1 and "tool_calls" in shell:
        yield _block(shell)


def _parts(content: Any) -> list[Any]:
    return (
        [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    )


def _block(value: Any) -> Block:
    mark = value.get("cache_control") if isinstance(value, dict) else None
    seconds = 0
    if mark:
        seconds = 3_600 if mark.get("ttl") == "1h" else 300
    return Block(_dump(_bare(value)), seconds)


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _bare(each) for name, each in value.items() if name != "cache_control"
        }
    return [_bare(each) for each in value] if isinstance(value, list) else value


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(slots=True)
class CachingProvider:
    """Remembers what it was sent. ``drops``: the next request finds nothing."""

    entries: dict[str, float] = field(default_factory=dict)
    """Until when a prefix is kept, by its digest."""
    drops: bool = False

    def bill(
        self, body: Body, at: float, headers: Mapping[str, str] | None = None
    ) -> Billed:
        """What a request costs that is sent at this time, in seconds; it is cached then."""
        blocks = blocks_of(body, headers or {})
        chain, keys, ends, total = hashlib.sha256(), [], [], 0
        for block in blocks:
            chain.update(block.text.encode("utf-8", "surrogatepass") + b"\0")
            total += block.tokens
            keys.append(chain.hexdigest())
            ends.append(total)
        if self.drops:
            self.entries.clear()
            self.drops = False
        known = [self.entries.get(key, 0) >= at for key in keys]
        if wire_of(body) != "messages":
            places = [place for place, is_known in enumerate(known) if is_known]
            read = ends[places[-1]] // STEP * STEP if places else 0
            life = _life_of(str(body.get("model")))
            self.entries.update(dict.fromkeys(keys, at + life))
            return Billed(total, read if read >= LEAST else 0, None)
        marked = [place for place, block in enumerate(blocks) if block.mark]
        found = -1
        for place in marked:
            for each in range(place, max(-1, place - LOOKBACK - 1), -1):
                if known[each]:
                    found = max(found, each)
                    break
        read = ends[found] if found >= 0 and ends[found] >= LEAST else 0
        written = max(0, ends[marked[-1]] - read) if marked else 0
        hour = 0
        for place in marked:
            self.entries[keys[place]] = at + blocks[place].mark
            hour = max(hour, ends[place] - read if blocks[place].mark > 300 else 0)
        if read:
            self.entries[keys[found]] = max(self.entries[keys[found]], at + 300)
        return Billed(total, read, written, min(max(0, hour), written))


def _life_of(model: str) -> float:
    version = re.search(r"gpt-(\d+)(?:\.(\d+))?", model)
    is_new = version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 6)
    return 1_800 if is_new else 300
