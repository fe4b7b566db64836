"""Message threads: conversations that the API holds, so that a request brings only what is new.

Sources: https://platform.claude.com/docs/en/build-with-claude/message-threads, and anthropic 2.14
(``types/thread_*_error_details.py``, ``lib/threads/_thread_state.py``). A thread lives until the run ends, or until
``Server.forget_threads``. Two requests never continue a response at the same time: the second finds it continued.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ullage_simulators.anthropic.betas import has_beta
from ullage_simulators.anthropic.rules import refuse
from ullage_simulators.body import Body
from ullage_simulators.wire import CallInProgress

BETA: Final = "message-threads-2026-08-12"
FIELD: Final = "thread"
_KEPT: Final = ("system", "tools")
"""What a thread takes from the request that created it."""
_FIXED: Final = ("output_config",)
"""What has to stay the same: the fields that a turn of the SDK's helper can't change, and that were seen refused."""
_BILLING: Final = "x-anthropic-billing-header:"
"""How the one system block begins that Claude Code sends with each request of a thread."""


@dataclass(slots=True)
class Thread:
    """A conversation that ends with a response. It can be continued once."""

    body: Body
    is_continued: bool = False


def open_thread(call: CallInProgress) -> None:
    """Puts what the API holds in front of what a request of a thread brings."""
    thread = call.body.get(FIELD)
    if thread is not None:
        _open(call, thread)
    call.conversation = call.body.get("messages") or []


def _open(call: CallInProgress, thread: Body) -> None:
    if not has_beta(call, BETA):
        call.refuse_or_warn(refuse("thread_without_beta"))
    kind = thread.get("type")
    if kind not in ("create", "continue"):
        raise refuse("thread_type", tag=kind)
    if kind == "create":
        return
    if not isinstance(thread.get("previous_message_id"), str):
        path = "thread.continue.previous_message_id"
        raise refuse("field_required", path=path)
    if not call.body.get("messages"):
        raise refuse("no_messages")
    _continue(call, thread["previous_message_id"])


def _continue(call: CallInProgress, identity: str) -> None:
    held = call.memory.threads.get(identity)
    if held is None:
        raise refuse("thread_not_found", id=identity)
    if held.is_continued:
        raise refuse("thread_already_continued", id=identity)
    repeated = []
    for name in _KEPT:
        if _repeats(call.body, name):
            repeated.append(f"`{name}`")
    if repeated:
        fields = " and ".join(repeated)
        call.refuse_or_warn(refuse("thread_repeats", fields=fields))
    differing = []
    for name in _FIXED:
        if call.body.get(name) != held.body.get(name):
            differing.append(name)
    if differing:
        fields = ", ".join(differing)
        raise refuse("thread_fingerprint_mismatch", fields=fields)
    call.body = {
        **call.body,
        "messages": [*held.body["messages"], *call.body["messages"]],
    }
    for name in _KEPT:
        call.body[name] = held.body.get(name)


def _repeats(body: Body, name: str) -> bool:
    blocks = body.get(name) or []
    if isinstance(blocks, str):
        return True
    for block in blocks:
        text = str(block.get("text", ""))
        if not text.startswith(_BILLING):
            return True
    return False


def hold(
    call: CallInProgress,
    identity: str,
    content: list[Body],
) -> None:
    """Holds the conversation under the id of its newest response, which has this content."""
    thread = call.body.get(FIELD)
    if thread is None:
        return
    before = call.memory.threads.get(thread.get("previous_message_id"))
    if before is not None:
        before.is_continued = True
    messages = [_unmarked(message) for message in call.conversation]
    messages.append({"role": "assistant", "content": content})
    body: Body = {"messages": messages}
    for name in (*_KEPT, *_FIXED):
        body[name] = call.body.get(name)
    call.memory.threads[identity] = Thread(body)


def _unmarked(message: Body) -> Body:
    """A message without its cache marks: each was set for the turn that sent it."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    plain: list[Body] = []
    for block in content:
        unmarked = dict(block)
        unmarked.pop("cache_control", None)
        plain.append(unmarked)
    return {**message, "content": plain}
