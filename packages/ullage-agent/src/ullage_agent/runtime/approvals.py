"""Which calls need a person's approval, the questions about them, and grants."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal, NamedTuple

from ullage.display.text import quoted
from ullage.errors import CommandRefused
from ullage.events import ApprovalGiven, Event, GrantGiven, GrantRevoked
from ullage.messages import Tool
from ullage.turns.grants import (
    SHELL,
    Grant,
    covers,
    offered_prefix,
    prefix_text,
    why_no_prefix,
)
from ullage.turns.loop import OpenCall
from ullage_agent.runtime.session_runtime import SessionRuntime
from ullage_agent.runtime.setting_values import EVERY, MCP
from ullage_agent.tools.call_text import CallLine, call_lines
from ullage_agent.tools.running import parse_arguments
from ullage_agent.tools.tool import AgentTool, BadArguments

log = logging.getLogger("ullage.agent")

GrantScope = Literal["session", "project"]


class Question(NamedTuple):
    """A call that needs a person's approval: the whole call, its digest, and the grant that "always" would give.

    ``offer`` is the prefix of commands to grant, empty for all calls of the tool, ``None`` if no grant is offered.
    """

    call_id: str
    name: str
    digest: str
    lines: tuple[CallLine, ...]
    offer: tuple[str, ...] | None

    def __str__(self) -> str:
        """The whole call for a person to read, a line each."""
        return "\n".join("".join(piece.text for piece in line) for line in self.lines)

    @property
    def offered(self) -> str:
        """What "always" would allow, as text; empty if no grant is offered."""
        if self.offer is None:
            return ""
        return prefix_text(self.offer) if self.offer else f"every {self.name} call"


class ScopedGrant(NamedTuple):
    """A grant and its scope."""

    scope: GrantScope
    grant: Grant


def questions(runtime: SessionRuntime) -> list[Question]:
    """The questions that wait for an answer, in order."""
    return [
        Question(
            call_id=call.call_id,
            name=call.name,
            digest=call.digest,
            lines=call_lines(call.name, call.arguments),
            offer=_offer(runtime, call),
        )
        for call in runtime.ledger.loop.open
        if call.state == "asked"
    ]


def needs_approval(runtime: SessionRuntime, call: OpenCall) -> bool:
    """Whether the settings or the tool require a person's approval of this call."""
    tool = runtime.tools.get(call.name)
    if tool is None or not may_ask(runtime, tool):
        return False
    if is_listed(runtime, tool) or tool.unconfined or not callable(tool.needs_approval):
        return True
    try:
        return bool(tool.needs_approval(parse_arguments(call.arguments)))
    except BadArguments:
        return True  # without readable arguments the tool's rule can't find the call harmless
    except Exception:
        log.exception(
            "The rule of %s for approval failed: the call needs approval", call.name
        )
        return True


def may_ask(runtime: SessionRuntime, tool: AgentTool) -> bool:
    """Whether any call of this tool can need approval."""
    return is_listed(runtime, tool) or bool(tool.unconfined) or bool(tool.needs_approval)


def is_listed(runtime: SessionRuntime, tool: AgentTool) -> bool:
    """Whether the setting ``approve`` names the tool or its kind. The answer of a turn is no call."""
    approve = runtime.settings.approve
    if EVERY in approve and not tool.is_answer:
        return True
    return tool.name in approve or (MCP in approve and bool(tool.declaration.server))


def grant_for(runtime: SessionRuntime, call: OpenCall) -> Grant | None:
    """The grant that allows this call, the session's before the project's; ``None`` without one."""
    tool = runtime.tools.get(call.name)
    if tool is None or tool.unconfined:
        return None
    try:
        arguments = parse_arguments(call.arguments)
    except BadArguments:
        return None
    declaration = declaration_digest(tool)
    found = (
        one.grant
        for one in grants_of(runtime)
        if covers(one.grant, call.name, arguments, declaration)
    )
    return next(found, None)


def is_to_ask(runtime: SessionRuntime, call: OpenCall) -> bool:
    """Whether this call needs approval and has none, neither from a person nor from a grant."""
    return (
        not call.is_approved
        and needs_approval(runtime, call)
        and grant_for(runtime, call) is None
    )


def grants_of(runtime: SessionRuntime) -> list[ScopedGrant]:
    """The grants of this session and of its project."""
    session = [ScopedGrant("session", grant) for grant in runtime.ledger.loop.grants]
    return session + [
        ScopedGrant("project", grant) for grant in runtime.shared.grants.of(runtime.root)
    ]


def declaration_digest(tool: AgentTool) -> str:
    """Identifies the declaration of a server's tool, which the server could change; empty for other tools."""
    return _digest(tool.declaration) if tool.declaration.server else ""


def _digest(declaration: Tool) -> str:
    content = f"{declaration.description}\0".encode() + bytes(declaration.schema)
    return sha256(content).hexdigest()


def _offer(runtime: SessionRuntime, call: OpenCall) -> tuple[str, ...] | None:
    if call.name in runtime.tools and runtime.tools[call.name].unconfined:
        return None
    if call.name != SHELL:
        return () if call.name in runtime.tools else None
    try:
        command = parse_arguments(call.arguments).get("command")
    except BadArguments:
        return None
    return offered_prefix(command) or None


def new_grant(runtime: SessionRuntime, tool: str, prefix: Sequence[str] = ()) -> Grant:
    """A grant for a tool of the session. Raises ``CommandRefused`` for one whose effect can't be foreseen."""
    known = runtime.tools.get(tool)
    if known is None:
        raise CommandRefused(
            f"The session has no tool {quoted(tool)}, so nothing can be granted for it. Check the name."
        )
    if known.unconfined:
        raise CommandRefused(
            f"Calls of {tool} can't be granted here: nothing confines them on this machine, so each needs "
            "approval. Answer each call by itself."
        )
    if tool == SHELL and (why := why_no_prefix(tuple(prefix))):
        raise CommandRefused(why)
    if tool != SHELL and prefix:
        raise CommandRefused(
            f"Only {SHELL} takes a prefix; a grant for {tool} is for all of its calls. Leave the prefix out."
        )
    return Grant(
        id=f"g-{secrets.token_hex(6)}",
        tool=tool,
        prefix=tuple(prefix),
        declaration=declaration_digest(known),
        at=runtime.shared.clock(),
    )


def granted_events(
    runtime: SessionRuntime, grant: Grant, scope: GrantScope
) -> list[Event]:
    """The event of a session's grant, and approvals of the waiting calls that the grant covers."""
    events: list[Event] = []
    if scope == "session":
        events.append(
            GrantGiven(
                grant=grant.id,
                tool=grant.tool,
                prefix=grant.prefix,
                declaration=grant.declaration,
            )
        )
    for call in runtime.ledger.loop.open:
        if call.state == "asked" and _is_covered(grant, call):
            events.append(
                ApprovalGiven(call_id=call.call_id, approved=True, digest=call.digest)
            )
    return events


def _is_covered(grant: Grant, call: OpenCall) -> bool:
    try:
        arguments = parse_arguments(call.arguments)
    except BadArguments:
        return False
    return covers(grant, call.name, arguments, grant.declaration)


def revoked_event(runtime: SessionRuntime, grant: str) -> GrantRevoked | None:
    """The event that revokes a grant of the session; ``None`` if it has no such grant."""
    is_known = any(one.id == grant for one in runtime.ledger.loop.grants)
    return GrantRevoked(grant=grant) if is_known else None


def answer(
    runtime: SessionRuntime,
    call_id: str,
    approved: bool,
    note: str,
    digest: str,
    *,
    by_nobody: bool,
) -> ApprovalGiven | None:
    """The answer for a waiting call; ``None`` if no call of this id waits for one.

    Without a digest it is for the only waiting call of this id. Raises ``CommandRefused`` for another digest.
    """
    asked = [
        call
        for call in runtime.ledger.loop.open
        if call.call_id == call_id and call.state == "asked"
    ]
    if not asked:
        return None
    meant = [call for call in asked if digest in ("", call.digest)]
    if not meant:
        raise CommandRefused(
            f"The call {call_id!r} is not the one with this digest: what would run is not what was shown. "
            "Look at it again and answer with its own digest."
        )
    if len({call.digest for call in meant}) > 1:
        raise CommandRefused(
            f"Several calls have the id {call_id!r}: answer with the digest of the one you mean."
        )
    return ApprovalGiven(
        call_id=call_id,
        approved=approved,
        note=note,
        digest=meant[0].digest,
        by="nobody" if by_nobody else "person",
    )
