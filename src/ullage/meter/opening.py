"""The first call: what a whole request holds, when nothing is known but the request.

Text as the model's family counts it, and around it what the provider adds: the chat template, the tools as they are
rendered, the schema of the answer, media by their formulas. All of it is a sum over blocks, tools and messages, so that
a meter can keep running sums of the same terms. Nothing raises, whatever a request holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ullage.messages import FilePart, ImagePart, Message, ReasoningPart, Request, SystemBlock, ToolResultPart
from ullage.meter.breakdown import Share
from ullage.meter.growth import Added
from ullage.meter.opening_interval import Situation, opening_interval
from ullage.tokens import media
from ullage.tokens.content import text_tokens
from ullage.tokens.families import PLAIN, Family
from ullage.tokens.template import PLAIN as PLAIN_TEMPLATE
from ullage.tokens.template import Template, template_for
from ullage.tokens.text import TextCounter
from ullage.tokens.tools import ToolsCost, answer_tokens, read_answer_format, read_choice, tools_cost


class Estimate(NamedTuple):
    """The input of a first call, and the interval meant to hold the truth 95 times in 100.

    ``fixed`` are the rows of what every request carries (system blocks, tools, answer format, overhead), ``messages``
    one row a message; together they sum to ``tokens`` before rounding.
    """

    tokens: int
    low: int
    high: int
    fixed: tuple[Share, ...]
    messages: tuple[Share, ...]
    situation: Situation

    @property
    def exact(self) -> float:
        """``tokens`` before rounding."""
        return sum(share.tokens for share in (*self.fixed, *self.messages) if share.summed)


def first_input(request: Request, family: Family, counter: TextCounter, *, raw_base64: bool = False) -> Estimate:
    """The input tokens of a request that nothing came before. O(size of the request), never raises.

    ``raw_base64`` is for proxies that bill media as the text of their encoding.
    """
    template = template_of(request, family)
    rule = media.media_rule_for(request.wire, request.provider, request.model)
    system = _system_text(request)
    tools = tools_cost(request.tools, template, family, counter, choice=read_choice(request.params), system=system)
    answer = answer_tokens(
        read_answer_format(request.params), template, family, counter, system=system, tools=any(tools.each)
    )
    blocks = system_tokens(request.system, template, family, counter)
    overhead = request_overhead(request, template)
    costs = messages_tokens(request.messages, template, family, counter, rule=rule, raw_base64=raw_base64)
    fixed = (
        *_system_shares(request.system, blocks),
        *_tool_shares(request, tools),
        *([Share(name="Answer format", tokens=answer)] if answer else ()),
        Share(name="Overhead", tokens=overhead, note="the chat template's, once a request"),
    )
    shares = tuple(
        Share(name=message.role, tokens=cost, id=message.id)
        for message, cost in zip(request.messages, costs, strict=True)
    )
    exact = sum(share.tokens for share in (*fixed, *shares) if share.summed)
    situation = _situation(request, template, tools, answer, rule, exact, raw_base64=raw_base64)
    low, high = opening_interval(situation, is_exact=counter.name == "bpe")
    tokens = round(max(0.0, exact))
    return Estimate(tokens, min(low, tokens), max(high, tokens), fixed, shares, situation)


def template_of(request: Request, family: Family) -> Template:
    """The framing of a request; none for an estimator whose word is taken as it is."""
    if family is PLAIN:
        return PLAIN_TEMPLATE
    return template_for(request.wire, request.provider, request.model)


def system_tokens(
    blocks: Sequence[SystemBlock], template: Template, family: Family, counter: TextCounter
) -> tuple[float, ...]:
    """Tokens of each system block; the first carries the framing of the message that they are on most wires."""
    return tuple(
        template.text * text_tokens(block.text, family, counter) + (0 if place else template.message)
        for place, block in enumerate(blocks)
    )


def request_overhead(request: Request, template: Template) -> float:
    """What a request costs once, beside its content: the template's own, its system prompt's, and thinking's."""
    tokens = template.base
    if _has_system(request):
        tokens += template.system
    if template.thinking and is_thinking(request.params):
        tokens += template.thinking
    return tokens


def message_tokens(
    message: Message,
    template: Template,
    family: Family,
    counter: TextCounter,
    *,
    rule: media.MediaRule,
    names: Mapping[str, str] | None = None,
    raw_base64: bool = False,
) -> float:
    """What one message costs in a request, reasoning aside. Additive over messages."""
    added = Added.of(
        message, family, counter, tool_names=names, media=partial(_media_tokens, rule=rule, raw_base64=raw_base64)
    )
    return added_tokens(added, template, family, is_answer=message.role == "assistant")


def added_tokens(added: Added, template: Template, family: Family, *, is_answer: bool) -> float:
    """What a message of that content costs in a request. Additive over messages."""
    framed = template.message if added.users or is_answer else 0.0
    wrapped = Added(names=added.names, results=added.results).wrapping(family)
    return template.text * added.text + added.media + framed + wrapped


def messages_tokens(
    messages: Iterable[Message],
    template: Template,
    family: Family,
    counter: TextCounter,
    *,
    rule: media.MediaRule,
    raw_base64: bool = False,
) -> tuple[float, ...]:
    """What each of the messages costs. Reasoning counts where it stands after the last user message."""
    held = tuple(messages)
    last_user = max(
        (place for place, message in enumerate(held) if message.role == "user" and _speaks(message)), default=-1
    )
    costs: list[float] = []
    for place, message in enumerate(held):
        cost = message_tokens(message, template, family, counter, rule=rule, raw_base64=raw_base64)
        if place > last_user:
            cost += sum(text_tokens(part.text, family, counter) for part in message.of_type(ReasoningPart))
        costs.append(cost)
    return tuple(costs)


def is_thinking(params: Mapping[str, object]) -> bool:
    """Whether the request turns extended thinking on, in any wire's spelling."""
    for holder in (params, params.get("additionalModelRequestFields")):
        if not isinstance(holder, dict):
            continue
        for key in ("thinking", "reasoning", "reasoning_config", "reasoningConfig"):
            found = holder.get(key)
            if isinstance(found, dict) and _turns_on(found):
                return True
    return False


def _turns_on(found: Mapping[str, object]) -> bool:
    if found.get("type") in {"disabled", "adaptive"} or found.get("enabled") is False:
        return False
    return found.get("effort") not in {"none", "minimal"} and bool(found)


def _media_tokens(part: ImagePart | FilePart, in_result: bool, *, rule: media.MediaRule, raw_base64: bool) -> float:
    if isinstance(part, ImagePart):
        return media.image_tokens(part, rule, in_result=in_result, raw_base64=raw_base64)
    return media.file_tokens(part, rule, in_result=in_result, raw_base64=raw_base64)


def _speaks(message: Message) -> bool:
    return any(not isinstance(part, ToolResultPart) for part in message.parts)


def _has_system(request: Request) -> bool:
    return any(block.text for block in request.system) or any(message.role == "system" for message in request.messages)


def _system_text(request: Request) -> str:
    """The text that some templates append the tools to: the first system prompt."""
    for block in request.system:
        if block.text:
            return block.text
    for message in request.messages:
        if message.role == "system":
            return next((text for part in reversed(message.parts) if (text := getattr(part, "text", ""))), " ")
    return ""


def _system_shares(blocks: Sequence[SystemBlock], tokens: Sequence[float]) -> list[Share]:
    if not blocks:
        return []
    children = tuple(
        Share(name=block.name or block.kind, tokens=each) for block, each in zip(blocks, tokens, strict=True)
    )
    return [Share(name="System prompt", tokens=sum(tokens), children=children if len(children) > 1 else ())]


def _tool_shares(request: Request, cost: ToolsCost) -> list[Share]:
    loaded = [(tool, each) for tool, each in zip(request.tools, cost.each, strict=True) if not tool.deferred]
    deferred = [(tool, each) for tool, each in zip(request.tools, cost.deferred, strict=True) if tool.deferred]
    shares: list[Share] = []
    if loaded:
        children = [Share(name=tool.name or tool.kind, tokens=each, id=tool.name) for tool, each in loaded]
        children.append(Share(name="once for all", tokens=cost.overhead + cost.choice))
        shares.append(Share(name=f"Tools ({len(loaded)})", tokens=cost.tokens, children=tuple(children)))
    if deferred:
        inside = tuple(Share(name=tool.name, tokens=each, id=tool.name) for tool, each in deferred)
        shares.append(
            Share(
                name=f"Deferred tools ({len(deferred)})",
                tokens=sum(each for _, each in deferred),
                children=inside,
                summed=False,
            )
        )
    return shares


def _situation(
    request: Request,
    template: Template,
    tools: ToolsCost,
    answer: float,
    rule: media.MediaRule,
    exact: float,
    *,
    raw_base64: bool,
) -> Situation:
    shown = sum(
        _media_tokens(part, False, rule=rule, raw_base64=raw_base64)
        for message in request.messages
        for part in message.parts
        if isinstance(part, ImagePart | FilePart)
    )
    return Situation(
        stratum=template.stratum,
        tokens=exact,
        tools=tools.tokens - tools.hosted,
        hosted=tools.hosted,
        answer=answer,
        media=shown,
        history=any(isinstance(part, ToolResultPart) for message in request.messages for part in message.parts),
    )
