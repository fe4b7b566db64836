"""OpenAI's Responses API: ``/v1/responses``, ``/v1/conversations``, ``/v1/models``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage_simulators.answer import Spoken
from ullage_simulators.body import Body
from ullage_simulators.faults import Frame
from ullage_simulators.models import Model
from ullage_simulators.openai_rules import MAX_BODY_BYTES, TROUBLES
from ullage_simulators.openai_rules import error as openai_error
from ullage_simulators.openai_rules import models as openai_models
from ullage_simulators.prompt import InputCount
from ullage_simulators.refusal import Refused, Rule
from ullage_simulators.responses.billing import CACHE_BLOCK, pieces, shown
from ullage_simulators.responses.binding import withheld
from ullage_simulators.responses.checks import CREATE, check_items, check_shape, complete
from ullage_simulators.responses.kept import stored as show_stored
from ullage_simulators.responses.rules import RULES
from ullage_simulators.responses.stream import (
    UNKNOWN,
    compacted,
    events,
    failed,
    queued,
    response,
)
from ullage_simulators.wire import (
    Bill,
    CallInProgress,
    Route,
    WireSimulator,
)


class Responses(WireSimulator):
    name = "openai"
    family = "openai"
    rules: Mapping[str, Rule] = RULES
    max_body_bytes = MAX_BODY_BYTES
    unknown = UNKNOWN
    troubles = TROUBLES
    cache_block = CACHE_BLOCK
    prompt = staticmethod(pieces)
    stored = staticmethod(show_stored)
    error = staticmethod(openai_error)

    def base_path(self) -> str:
        return "/v1"

    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        parts = path.rstrip("/").split("/")
        match method, parts[1:]:
            case "POST", ["v1", "responses"]:
                return Route("generate")
            case "WEBSOCKET", ["v1", "responses"]:
                return Route("generate", stream=True, local={})
            case "POST", ["v1", "responses", "compact"]:
                return Route("generate", compact=True)
            case "POST", ["v1", "responses", "input_tokens"]:
                return Route("count")
            case "GET", ["v1", "models", *name]:
                return Route("models", "/".join(name))
            case (
                ("GET" | "DELETE", ["v1", "responses", _])
                | ("GET", ["v1", "responses", _, "input_items"])
                | ("POST", ["v1", "responses", _, "cancel"])
                | ("POST", ["v1", "conversations"])
                | ("GET" | "POST" | "DELETE", ["v1", "conversations", _])
                | ("GET" | "POST", ["v1", "conversations", _, "items"])
                | ("GET" | "DELETE", ["v1", "conversations", _, "items", _])
            ):
                return Route("stored", method=method, parts=tuple(parts[2:]))
        return None

    def named_model(self, body: Body, endpoint: Route) -> str:
        if endpoint.local is not None and body.get("type") != CREATE:
            known = f"'{CREATE}'"
            raise self.refuse(
                "value_unknown", value=body.get("type"), known=known, path="type"
            )
        return super().named_model(body, endpoint)

    def check(self, call: CallInProgress) -> None:
        check_shape(call)
        complete(call)
        check_items(call)
        call.dropped = withheld(call)

    def budget(self, call: CallInProgress) -> int | None:
        asked = call.body.get("max_output_tokens")
        return asked if isinstance(asked, int) else None

    def thinks(self, call: CallInProgress) -> bool:
        return (call.body.get("reasoning") or {}).get("effort") != "none"

    def usage(self, call: CallInProgress, bill: Bill, spoken: Spoken) -> Body:
        return shown(bill, call.model)

    def reply(self, call: CallInProgress, spoken: Spoken, usage: Body | None) -> Body:
        if call.endpoint.compact:
            return compacted(call, spoken, usage)
        if call.body.get("background"):
            return queued(call, spoken, usage)
        return response(call, spoken, usage)

    def frames(
        self, call: CallInProgress, spoken: Spoken, usage: Body | None
    ) -> list[Frame]:
        return events(call, spoken, usage)

    def count_reply(self, call: CallInProgress, counted: InputCount) -> Body:
        return {"object": "response.input_tokens", "input_tokens": counted.input}

    def models_reply(self, models: Sequence[Model], name: str) -> Body:
        return openai_models(models, name, "openai")

    def refusal_in_stream(self, refused: Refused) -> list[Frame] | None:
        return failed(refused) if refused.name == "too_many_tokens" else None
