"""Chat Completions of OpenAI and of those who speak it after their own fashion: ``/chat/completions``, ``/models``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage_simulators.answer import Spoken
from ullage_simulators.body import Body
from ullage_simulators.chat.billing import pieces, shown
from ullage_simulators.chat.checks import Checks
from ullage_simulators.chat.checks import thinks as does_think
from ullage_simulators.chat.stream import UNKNOWN, completion, error, events
from ullage_simulators.chat.variants import Variant
from ullage_simulators.faults import Frame
from ullage_simulators.models import Model
from ullage_simulators.openai_rules import TROUBLES
from ullage_simulators.openai_rules import models as openai_models
from ullage_simulators.prompt import InputCount
from ullage_simulators.refusal import Refused
from ullage_simulators.wire import Bill, CallInProgress, Route


class Chat(Checks):
    family = "openai"
    unknown = UNKNOWN
    no_object = "expected a map"
    troubles = TROUBLES
    prompt = staticmethod(pieces)
    thinks = staticmethod(does_think)

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        self.name = variant.name
        self.max_body_bytes = variant.max_body_bytes
        self.cache_block = variant.cache_block

    def base_path(self) -> str:
        return self.variant.base_path

    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        match method, path.removeprefix("/v1").rstrip("/").split("/")[1:]:
            case "POST", ["chat", "completions"]:
                return Route("generate")
            case "POST", ["chat", "completions", "input_tokens"]:
                return self._counting("input_tokens")
            case "POST", ["tokenize"]:
                return self._counting("tokenize")
            case "GET", ["models", *name]:
                return Route("models", "/".join(name))
        return None

    def _counting(self, how: str) -> Route | None:
        return Route("count") if self.variant.counts == how else None

    def check(self, call: CallInProgress) -> None:
        if call.endpoint.kind == "count" and self.variant.counts == "tokenize":
            # Without it vLLM's template leaves out the beginning of the answer; its default is to add it.
            call.body.pop("add_generation_prompt", None)
        self.check_shape(call)
        self.check_messages(call)

    def fit(self, call: CallInProgress, counted: InputCount) -> None:
        window = call.model.window
        asked = 0
        if self.variant.sums:
            asked = self.budget(call) or 0
        total = counted.input + asked
        if total > window:
            raise self.refuse(
                "too_many_tokens",
                window=window,
                count=counted.input,
                asked=asked,
                total=total,
            )

    def budget(self, call: CallInProgress) -> int | None:
        asked = call.body.get("max_completion_tokens", call.body.get("max_tokens"))
        return asked if isinstance(asked, int) else None

    def usage(self, call: CallInProgress, bill: Bill, spoken: Spoken) -> Body:
        return shown(bill, self.variant)

    def reply(self, call: CallInProgress, spoken: Spoken, usage: Body | None) -> Body:
        return completion(call, spoken, self.variant, usage)

    def frames(
        self, call: CallInProgress, spoken: Spoken, usage: Body | None
    ) -> list[Frame]:
        return events(call, spoken, self.variant, usage)

    def count_reply(self, call: CallInProgress, counted: InputCount) -> Body:
        if self.variant.counts == "tokenize":
            size = counted.input
            return {
                "count": size,
                "max_model_len": call.model.window,
                "tokens": [0] * size,
                "token_strs": None,
            }
        return super().count_reply(call, counted)

    def models_reply(self, models: Sequence[Model], name: str) -> Body:
        own = [model for model in models if model.name in self.variant.models] or list(
            models
        )
        return openai_models(models if name else own, name, self.name)

    def error(self, refused: Refused) -> Body:
        return error(refused, self.variant)
