"""What the simulator refuses of a message thread, and the same requests put right."""

from typing import Any

from tests.simulators.asking import Ask, Body, Case, Maker, Talk

MODEL = "claude-sonnet-5"
BETA: dict[str, str | None] = {"anthropic-beta": "message-threads-2026-08-12"}
ASKED: Body = {"role": "user", "content": "Which casks leak?"}
NEXT: Body = {"role": "user", "content": "And now?"}
CREATE: Body = {"type": "create"}
CACHED: Body = {"type": "ephemeral"}
CREATE_TEXT = '`thread: {"type": "create"}`'


def created(*given: Body, **more: Any) -> Ask:
    """The first request of a thread."""
    messages = list(given) or [ASKED]
    body = {"model": MODEL, "max_tokens": 2_000, "thread": CREATE, "messages": messages}
    return Ask("/v1/messages", {**body, **more}, BETA)


def continued(previous: str, *given: Body, **more: Any) -> Ask:
    """A request that continues a response."""
    thread = {"type": "continue", "previous_message_id": previous}
    return created(*(given or (NEXT,)), thread=thread, **more)


def started(talk: Talk, **more: Any) -> str:
    """The id of the response that began a thread."""
    return str(talk.ok("anthropic", created(**more))["id"])


def _fixed(says: str, broken: Ask) -> Maker:
    return lambda talk: Case(says, broken, created())


def not_found(talk: Talk) -> Case:
    says = (
        'thread: no usable thread state was found for `previous_message_id` "msg_0". Send the full conversation with '
        f"{CREATE_TEXT} to start a new thread."
    )
    return Case(says, continued("msg_0"), continued(started(talk)), 404)


def already_continued(talk: Talk) -> Case:
    first = started(talk)
    second = talk.ok("anthropic", continued(first))["id"]
    says = (
        f'thread: the response "{first}" has already been continued, and each response can be continued only once. '
        "Continue from the thread's most recent response."
    )
    return Case(says, continued(first), continued(second))


def mismatch(talk: Talk) -> Case:
    first = started(talk, output_config={"effort": "low"})
    says = (
        "thread: differing field(s): output_config. Send the values that the thread was created with, or the full "
        f"conversation with {CREATE_TEXT}."
    )
    broken = continued(first, output_config={"effort": "high"})
    return Case(says, broken, continued(first, output_config={"effort": "low"}))


def repeats(talk: Talk) -> Case:
    more: Body = {"system": "Be brief.", "tools": [{"name": "look", "input_schema": {}}]}
    first = started(talk, **more)
    says = "thread: leave out `system` and `tools`. The thread keeps the values of the request that created it."
    return Case(says, continued(first, **more), continued(first))


def marks(talk: Talk) -> Case:
    block = {"type": "text", "text": "Which?", "cache_control": CACHED}
    asked: Body = {"role": "user", "content": [block] * 4}
    says = (
        "thread: a maximum of 4 blocks with cache_control may be provided when thread is set, the one for "
        "cache_control of the request included. Found 5."
    )
    return Case(says, created(asked, cache_control=CACHED), created(asked))


THREAD_CASES: dict[str, Maker] = {
    "thread_without_beta": _fixed(
        "thread: this parameter requires anthropic-beta: message-threads-2026-08-12",
        created()._replace(headers={}),
    ),
    "thread_type": _fixed(
        "thread: Input tag 'fork' found using 'type' does not match any of the expected tags: 'create', 'continue'",
        created(thread={"type": "fork"}),
    ),
    "thread_not_found": not_found,
    "thread_already_continued": already_continued,
    "thread_fingerprint_mismatch": mismatch,
    "thread_repeats": repeats,
    "thread_cache_marks": marks,
}
