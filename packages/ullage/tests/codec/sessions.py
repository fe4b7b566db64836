"""Sessions out of a seed: the requests of an agent loop in turn, most of which extend the one before."""

import dataclasses
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tests.codec.histories import TARGETS, data
from ullage.codec.blocks import CacheMarks, Options
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.reasoning import ReasoningPolicy

Target = tuple[str, str, str]

MOST_TARGETS: tuple[Target, ...] = (
    *TARGETS,
    ("messages", "anthropic", "claude-opus-4-5"),
    ("generateContent", "vertex", "gemini-3-flash"),
    ("chat", "zai", "glm-5"),
)
POLICIES = (
    ReasoningPolicy(),
    ReasoningPolicy(),
    ReasoningPolicy(strip="all"),
    ReasoningPolicy(strip="all_but_last"),
    ReasoningPolicy(include_in_context=False),
)
OPTIONS = (
    Options(),
    Options(),
    Options(cache=None, include_usage=False),
    Options(cache=CacheMarks(system=False, messages=9, ttl="1h")),
    Options(cache=CacheMarks(messages=0), max_output=1),
    Options(cache=CacheMarks(messages=-1)),
    Options(thinking_budget=2000),
    Options(effort="none", temperature=1),
    Options(effort="high", temperature=1.0, stateless=False, betas=("a", "b")),
)
PARAMS: tuple[dict[str, object], ...] = (
    {},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}, "n": 1},
    {"store": True, "n": 1.0},
    {"stop": ["\udfff"], "n": True},
    {"messages": [], "input": []},
)
NAMES = ("read", "shell", "my.tool/x", "7up")


class Asked(NamedTuple):
    """One request and how it is to be made."""

    request: Request
    policy: ReasoningPolicy
    options: Options


class Session:
    """Grows step by step. ``oddness`` is how often something is not as it should be, from 0 to 1."""

    def __init__(self, seed: int, *, oddness: float) -> None:
        self.random = Random(seed)
        self.oddness = oddness
        self.target = self.random.choice(MOST_TARGETS)
        self.policy = self.random.choice(POLICIES)
        self.options = self.random.choice(OPTIONS)
        self.media: dict[str, bytes] = {}
        self.messages: list[Message] = []
        self.unanswered: list[ToolCallPart] = []
        self.calls = 0
        self.params: dict[str, object] = {}
        self.system: tuple[SystemBlock, ...] = (
            SystemBlock(text="Be kind."),
            SystemBlock(text="Be brief."),
        )
        schema = msgspec.Raw(b'{"type":"object"}')
        self.tools = tuple(
            Tool(name=name, description="does it", schema=schema) for name in NAMES[:3]
        )

    def is_odd(self) -> bool:
        return self.random.random() < self.oddness

    def requests(self, steps: int) -> Iterator[Asked]:
        """So many requests, with what an application does between them."""
        self._say()
        for _ in range(steps):
            yield self._asked()
            if self.is_odd():
                self._meddle()
            self._answer()
            if self.is_odd():
                yield self._asked()  # it ends with an answer or its results
            if self.random.random() < 0.25:
                self._say()  # a steer, or the next turn

    def _asked(self) -> Asked:
        wire, provider, model = self.target
        request = Request(
            wire=wire,
            provider=provider,
            model=model,
            system=self.system,
            tools=self.tools,
            messages=tuple(self.messages),
            params=dict(self.params),
            stream=self.random.random() < 0.9,
        )
        changed = dataclasses.replace(self.options, media=dict(self.media))
        return Asked(request, self.policy, changed)

    def _name(self) -> str:
        return f"m{len(self.messages)}.{self.random.randrange(10**9)}"

    def _add(
        self, role: str, parts: list[Part], *, interrupted: str | None = None
    ) -> None:
        name = self._name()
        self.messages.append(
            Message(id=name, role=role, parts=tuple(parts), interrupted=interrupted)  # type: ignore[arg-type]
        )

    def _part_name(self) -> str:
        return f"p{self.random.randrange(10**12)}"

    def _text(self, text: str) -> TextPart:
        text = (
            self.random.choice(("", "  ", "half \ud83d", "ends \n"))
            if self.is_odd()
            else text
        )
        provider = (
            data({"phase": "final", "id": "msg_1"}, self._origin())
            if self.random.random() < 0.2
            else None
        )
        return TextPart(id=self._part_name(), text=text, provider=provider)

    def _origin(self) -> Target:
        return self.random.choice(MOST_TARGETS) if self.is_odd() else self.target

    def _say(self) -> None:
        parts: list[Part] = [self._text("Please go on.")]
        if self.random.random() < 0.15:
            parts.append(self._image())
        if self.is_odd():
            odd: list[list[Part]] = [
                [],
                [ProviderItem(id=self._part_name(), kind="x", text="item")],
                parts[:1],
            ]
            parts = self.random.choice(odd)
        self._add("system" if self.random.random() < 0.1 else "user", parts)

    def _image(self) -> Part:
        source = f"blake2b:{self.random.randrange(6)}"
        if self.random.random() < 0.6:
            self.media[source] = b"picture " + source.encode()
        if self.random.random() < 0.3:
            return FilePart(
                id=self._part_name(), mime="application/pdf", name="a.pdf", source=source
            )
        return ImagePart(
            id=self._part_name(), mime="image/png", source=source, width=3, height=4
        )

    def _answer(self) -> None:
        parts: list[Part] = []
        if self.random.random() < 0.5:
            parts.append(self._reasoning())
        if self.random.random() < 0.4:
            parts.append(self._text("I look."))
        if self.is_odd():
            item = data({"type": "server_tool_use", "id": "s1"}, self._origin())
            parts.append(
                ProviderItem(id=self._part_name(), kind="server_tool_use", provider=item)
            )
        calls = [self._call() for _ in range(self.random.choice((0, 1, 1, 1, 2, 3)))]
        cut = "cancelled" if self.is_odd() else None
        self._add("assistant", [*parts, *calls] or [self._text("Done.")], interrupted=cut)
        self.unanswered += calls
        self._results()

    def _reasoning(self) -> ReasoningPart:
        origin = self._origin()
        fields: dict[str, object] = {
            "messages": {"signature": "c2ln"},
            "responses": {
                "type": "reasoning",
                "id": "rs_1",
                "encrypted_content": "gAAA",
                "summary": [],
            },
            "chat": {"reasoning_content": None},
            "generateContent": {"thoughtSignature": "c2ln"},
        }[origin[0]]  # type: ignore[assignment]
        name = (
            "twice" if self.oddness and self.random.random() < 0.02 else self._part_name()
        )
        return ReasoningPart(
            id=name, text="hm", provider=None if self.is_odd() else data(fields, origin)
        )

    def _call(self) -> ToolCallPart:
        self.calls += 1
        wire = self.target[0]
        call_id = f"call_{self.calls:06d}"
        if self.is_odd():
            call_id = self.random.choice(("call_000001", "", "~1", "a b", "x" * 70))
        elif wire == "generateContent" and self.random.random() < 0.5:
            call_id = f"~{self.calls}"
        kind: dict[str, object] = (
            {"type": "custom_tool_call"} if self.random.random() < 0.2 else {"id": "fc_1"}
        )
        if wire == "generateContent":
            kind = {"thoughtSignature": "c2ln"}
        return ToolCallPart(
            id=self._part_name(),
            call_id=call_id,
            name=self.random.choice(NAMES) if self.is_odd() else "read",
            arguments='{"path": "a.t' if self.is_odd() else '{"path": "a"}',
            provider=data(kind, self._origin()) if self.random.random() < 0.4 else None,
        )

    def _results(self) -> None:
        if self.is_odd():
            self.random.shuffle(self.unanswered)
        waiting, self.unanswered = self.unanswered, []
        results: list[Part] = []
        for call in waiting:
            if self.is_odd():
                if self.random.random() < 0.7:
                    self.unanswered.append(call)  # its result comes late, or never
                continue
            content: list[TextPart | ImagePart | FilePart] = [self._text('{"a": 1}')]
            if self.random.random() < 0.1:
                content.append(self._image())  # type: ignore[arg-type]
            name = call.name if self.random.random() < 0.5 else ""
            results.append(
                ToolResultPart(
                    id=self._part_name(),
                    call_id=call.call_id,
                    name=name,
                    content=tuple(content),
                )
            )
        if len(results) > 1 and self.random.random() < 0.5:
            for result in results:
                self._add("tool", [result])
        elif results:
            self._add("user" if self.is_odd() else "tool", results)

    def _meddle(self) -> None:
        """What is done to a session between two requests."""
        match self.random.randrange(10):
            case 0:
                self.options = self.random.choice(OPTIONS)
            case 1:
                self.policy = self.random.choice(POLICIES)
            case 2:
                self.target = self.random.choice(MOST_TARGETS)
            case 3:
                block = SystemBlock(text=self.random.choice(("", "more", "nul \0")))
                self.system = (*self.system, block)
            case 4:
                tool = Tool(name=self.random.choice(NAMES), schema=msgspec.Raw(b"{}"))
                self.tools = (*self.tools, tool)
            case 5:
                self.params = self.random.choice(PARAMS)
            case 6:
                del self.messages[self.random.randrange(len(self.messages)) :]
                self._say()
            case 7:
                at = self.random.randrange(len(self.messages))
                self.messages[at] = replace(
                    self.messages[at], parts=(self._text("edited"),)
                )
            case 8:
                self.messages = [
                    replace(one) for one in self.messages
                ]  # the same again, as a store gives it
            case _:
                self.media = {}
