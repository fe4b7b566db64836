"""What the simulators refuse of a compaction, and the same requests put right."""

from typing import Any

from tests.simulators.asking import Ask, Body, Case, Maker, Talk

MODEL = "claude-opus-4-6"
BETA: dict[str, str | None] = {"anthropic-beta": "compact-2026-09-04"}
SUMMARIZE: Body = {"type": "summarize"}
ASKED: Body = {"role": "user", "content": "Which casks leak?"}
ANSWERED: Body = {"role": "assistant", "content": "The third one does."}
NEXT: Body = {"role": "user", "content": "And now?"}


def messages(*given: Body, **more: Any) -> Ask:
    """A request of the Messages wire with the beta header."""
    body = {"model": MODEL, "max_tokens": 2_000, "messages": list(given)}
    return Ask("/v1/messages", {**body, **more}, BETA)


def compaction(**more: Any) -> Ask:
    """A request for a compaction."""
    return messages(ASKED, ANSWERED, **{"compaction": SUMMARIZE, **more})


def block_of(talk: Talk) -> Body:
    """A compaction that the simulator made."""
    answer = talk.ok("anthropic", compaction())
    (block,) = answer["content"]
    return dict(block)


def with_block(block: Body, *more: Body, **changes: Any) -> Ask:
    """A request that continues from a compaction."""
    return messages(
        {"role": "assistant", "content": [block]}, *(more or (NEXT,)), **changes
    )


def _without_beta(ask: Ask) -> Ask:
    return ask._replace(headers={})


def _fixed(says: str, broken: Ask, mended: Ask | None = None) -> Maker:
    return lambda talk: Case(says, broken, mended or compaction())


def _with(field: str, **more: Any) -> Maker:
    says = f"{field}: can't be combined with `compaction`. Remove it from the request."
    return _fixed(says, compaction(**more))


def misplaced(talk: Talk) -> Case:
    block = block_of(talk)
    says = "messages: the `compaction` block must come first. Remove the messages in front of it."
    broken = messages(ASKED, {"role": "assistant", "content": [block]}, NEXT)
    text = {"type": "text", "text": "And now?"}
    mended = messages({"role": "user", "content": [block, text]})
    return Case(says, broken, mended)


def twice(talk: Talk) -> Case:
    block = block_of(talk)
    says = "messages: at most one `compaction` block may be sent. Send the newest."
    again = {"role": "assistant", "content": [block]}
    return Case(says, with_block(block, again, NEXT), with_block(block))


def altered_content(talk: Talk) -> Case:
    block = block_of(talk)
    says = "messages.0.content.0: the `content` of the `compaction` block is not what was returned"
    return Case(says, with_block({**block, "content": "Other."}), with_block(block))


def altered_signature(talk: Talk) -> Case:
    block = block_of(talk)
    says = "messages.0.content.0: Invalid `signature` in `compaction` block"
    broken = {**block, "signature": block["signature"][:-8] + "AAAAAAA="}
    return Case(says, with_block(broken), with_block(block))


ANTHROPIC_CASES: dict[str, Maker] = {
    "compaction_without_beta": _fixed("compaction: this parameter requires anthropic-beta: compact-2026-09-04",
        _without_beta(compaction())),
    "compaction_unsupported": _fixed("compaction: claude-sonnet-4-5 does not support this parameter",
        compaction(model="claude-sonnet-4-5")),
    "compaction_type": _fixed(
        "compaction: Input tag 'shorten' found using 'type' does not match any of the expected tags: 'summarize'",
        compaction(compaction={"type": "shorten"})),
    "compaction_instructions": _fixed(
        "compaction.summarize.instructions: String should have at most 16384 characters",
        compaction(compaction={**SUMMARIZE, "instructions": "x" * 16_385}),
        compaction(compaction={**SUMMARIZE, "instructions": "x" * 16_384})),
    "compaction_with": _with("stop_sequences", stop_sequences=["END"]),
    "compaction_nothing_to_summarize": _fixed("messages: there is nothing to summarize", compaction(messages=[])),
    "compaction_twice": twice,
    "compaction_block_misplaced": misplaced,
    "compaction_signature_invalid": altered_signature,
    "compaction_content_mismatch": altered_content,
}  # fmt: skip

FURTHER_CASES: dict[str, Maker] = {
    "context_management": _with("context_management", context_management={"edits": []}),
    "output_config": _with("output_config.format", output_config={"format": {"type": "json_schema"}}),
    "tool_choice": _with("tool_choice", tools=[{"name": "look", "input_schema": {"type": "object"}}],
        tool_choice={"type": "any"}),
}  # fmt: skip
"""All that can't go with a compaction; the first is in the table above."""


# -- OpenAI --


def compact(*items: Body, **more: Any) -> Ask:
    """A request of ``/responses/compact``."""
    body = {"model": "gpt-5.5", "input": list(items) or [ASKED, ANSWERED, NEXT]}
    return Ask("/responses/compact", {**body, **more})


def window_of(talk: Talk) -> list[Body]:
    """The items of a compacted conversation."""
    output = talk.ok("openai", compact())["output"]
    return list(output)


def altered_item(talk: Talk) -> Case:
    *said, item = window_of(talk)
    says = "The encrypted content of the compaction item could not be verified."
    sealed = item["encrypted_content"]
    broken = {**item, "encrypted_content": sealed[:40] + "AAAA" + sealed[44:]}
    body = {"model": "gpt-5.5"}
    path = "/responses"
    return Case(
        says,
        Ask(path, {**body, "input": [*said, broken, NEXT]}),
        Ask(path, {**body, "input": [*said, item, NEXT]}),
    )
