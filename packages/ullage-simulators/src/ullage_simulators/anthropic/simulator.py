"""Anthropic's Messages API: ``/v1/messages``, ``/v1/messages/count_tokens``, ``/v1/models``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage_simulators.answer import Spoken
from ullage_simulators.anthropic.billing import numbers, shown
from ullage_simulators.anthropic.checks import (
    check_end,
    check_media,
    check_pairs,
    check_shape,
)
from ullage_simulators.anthropic.clearing import FIELD, check_clearing, cleared_pieces
from ullage_simulators.anthropic.compaction import (
    check_compaction,
    is_asked,
    newest,
    usage_of,
)
from ullage_simulators.anthropic.rules import RULES
from ullage_simulators.anthropic.stream import UNKNOWN, events, message
from ullage_simulators.anthropic.thinking import check_thinking, is_enabled
from ullage_simulators.anthropic.threads import open_thread
from ullage_simulators.body import Body
from ullage_simulators.models import Model
from ullage_simulators.prompt import InputCount
from ullage_simulators.refusal import Refused, Rule
from ullage_simulators.wire import Bill, CallInProgress, Route, Trouble, WireSimulator

_TROUBLES = {
    429: Trouble(
        "This request would exceed your organization's rate limit of 50 requests per minute.",
        "rate_limit_error",
    ),
    500: Trouble("Internal server error", "api_error"),
    503: Trouble("Service unavailable", "api_error"),
    529: Trouble("Overloaded", "overloaded_error"),
}
"""https://platform.claude.com/docs/en/api/errors"""


class Anthropic(WireSimulator):
    name = "anthropic"
    family = "anthropic"
    rules: Mapping[str, Rule] = RULES
    max_body_bytes = 32_000_000
    key_header = "x-api-key"
    unknown = UNKNOWN
    no_object = "Input should be a valid dictionary"
    model_missing = "field_required"
    troubles = _TROUBLES
    prompt = staticmethod(cleared_pieces)
    thinks = staticmethod(is_enabled)
    reply = staticmethod(message)
    frames = staticmethod(events)

    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        match method, path.rstrip("/").split("/")[1:]:
            case "POST", ["v1", "messages"]:
                return Route("generate")
            case "POST", ["v1", "messages", "count_tokens"]:
                return Route("count")
            case "HEAD" | "GET", ["api", "hello"] | [""] | []:
                return Route("hello")
            case "GET", ["v1", "models"]:
                return Route("models")
            case "GET", ["v1", "models", name]:
                return Route("models", name)
        return None

    def check(self, call: CallInProgress) -> None:
        open_thread(call)
        check_shape(call)
        check_compaction(call)
        check_clearing(call)
        check_pairs(call.body["messages"])
        check_media(call)
        check_thinking(call)
        check_end(call)
        messages = call.body["messages"]
        call.body = {**call.body, "messages": messages[newest(messages) :]}

    def fit(self, call: CallInProgress, counted: InputCount) -> None:
        """The answer may need more than is left: it then ends at the window.

        https://platform.claude.com/docs/en/build-with-claude/context-windows#context-window-overflow-behavior: so it is
        from Claude 4.5 on.
        """
        window = call.model.window
        if counted.input > window:
            raise self.refuse("prompt_too_long", count=counted.input, window=window)
        call.room = window - counted.input

    def budget(self, call: CallInProgress) -> int | None:
        asked = int(call.body["max_tokens"])
        return asked if call.room is None else min(asked, call.room)

    def cached(self, call: CallInProgress, counted: InputCount) -> tuple[int, int]:
        marked = [
            end
            for piece, end in zip(counted.pieces, counted.ends, strict=True)
            if piece.marked
        ]
        if not marked or marked[-1] < call.model.cache_from:
            return 0, 0
        cache = call.memory.cache(call.model)
        read = min(cache.read(counted, at_least=call.model.cache_from), marked[-1])
        return read, cache.write(counted, marked_only=True) - read

    def usage(self, call: CallInProgress, bill: Bill, spoken: Spoken) -> Body:
        if is_asked(call.body):
            return usage_of(numbers(bill))
        return shown(bill, call.model, spoken.answer.iterations, self.pass_size(call))

    def count_reply(self, call: CallInProgress, counted: InputCount) -> Body:
        reply: Body = {"input_tokens": counted.input}
        if call.applied is not None:
            reply[FIELD] = {"original_input_tokens": call.uncleared}
        return reply

    def models_reply(self, models: Sequence[Model], name: str) -> Body:
        listed = []
        for model in models:
            shown_model = {
                "type": "model",
                "id": model.name,
                "display_name": model.name.replace("-", " ").title(),
                "created_at": "2026-01-01T00:00:00Z",
                "max_input_tokens": model.window,
                "max_tokens": model.max_output,
            }
            listed.append(shown_model)
        if name:
            return listed[0]
        return {
            "data": listed,
            "has_more": False,
            "first_id": listed[0]["id"],
            "last_id": listed[-1]["id"],
        }

    def error(self, refused: Refused) -> Body:
        code: Body = {"error_code": refused.code}
        if refused.param:
            code["unsupported"] = [refused.param]
        details = {"details": code} if refused.code else {}
        error = {
            "type": refused.kind,
            "message": refused.text,
            **details,
        }
        return {
            "type": "error",
            "error": error,
            "request_id": "req_simulated",
        }
