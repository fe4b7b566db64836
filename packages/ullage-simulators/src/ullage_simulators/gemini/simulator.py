"""Google's generateContent: ``/v1beta/models/{model}:generateContent``, ``streamGenerateContent``, ``countTokens``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ullage_simulators.answer import Spoken
from ullage_simulators.body import Body
from ullage_simulators.gemini.billing import pieces, shown
from ullage_simulators.gemini.cached_content import complete, keep, stored
from ullage_simulators.gemini.checks import (
    check_shape,
    check_signatures,
    check_turns,
    normalised,
)
from ullage_simulators.gemini.rules import RULES
from ullage_simulators.gemini.stream import UNKNOWN, events, response
from ullage_simulators.models import Model
from ullage_simulators.prompt import InputCount, PromptPieces
from ullage_simulators.refusal import Refused, Rule
from ullage_simulators.wire import (
    Bill,
    CallInProgress,
    Memory,
    Route,
    Trouble,
    WireSimulator,
)

_METHOD = re.compile(r"/v1(?:beta|alpha)?/models/(?P<model>[^/:]+):(?P<method>\w+)")
_LIST = re.compile(r"/v1(?:beta|alpha)?/models(?:/(?P<model>[^/:]+))?")
_KEPT = re.compile(r"/v1(?:beta|alpha)?/cachedContents(?:/[^/:]+)?")
_TROUBLES = {
    429: Trouble("Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED"),
    500: Trouble(
        "An internal error has occurred. Please retry or report in https://developers.generativeai.google/",
        "INTERNAL",
    ),
    503: Trouble("The model is overloaded. Please try again later.", "UNAVAILABLE"),
}
"""https://ai.google.dev/gemini-api/docs/troubleshooting"""


class Gemini(WireSimulator):
    name = "gemini"
    family = "gemini"
    rules: Mapping[str, Rule] = RULES
    max_body_bytes = 20_971_520
    key_header = "x-goog-api-key"
    unknown = UNKNOWN
    no_object = "Root element must be a message."
    troubles = _TROUBLES
    reply = staticmethod(response)
    frames = staticmethod(events)

    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        found = _METHOD.fullmatch(path)
        if method == "POST" and found:
            match found["method"]:
                case "generateContent":
                    return Route("generate", found["model"])
                case "streamGenerateContent":
                    return Route(
                        "generate",
                        found["model"],
                        stream=True,
                        sse=query.get("alt") == "sse",
                    )
                case "countTokens":
                    return Route("count", found["model"])
        if _KEPT.fullmatch(path):
            parts = tuple(path.split("/")[2:])
            if method == "POST" and len(parts) == 1:
                return Route("keep", method=method, parts=parts)
            return Route("stored", method=method, parts=parts)
        listed = _LIST.fullmatch(path)
        if method == "GET" and listed:
            return Route("models", listed["model"] or "")
        return None

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        return super().key(headers, query) or query.get("key", "")

    def read(self, body: bytes) -> Body:
        value = super().read(body)
        if "generateContentRequest" in value or "generate_content_request" in value:
            inner = value.get("generateContentRequest") or value.get(
                "generate_content_request"
            )
            return normalised(inner if isinstance(inner, dict) else {})
        return normalised(value)

    def named_model(self, body: Body, endpoint: Route) -> str:
        if endpoint.kind == "keep":
            return str(body.get("model", "")).removeprefix("models/")
        return endpoint.model

    def check(self, call: CallInProgress) -> None:
        complete(call)
        check_shape(call)
        check_turns(call.body["contents"])
        check_signatures(call)

    def prompt(self, call: CallInProgress) -> PromptPieces:
        return pieces(call.body, call.model)

    def budget(self, call: CallInProgress) -> int | None:
        asked = (call.body.get("generationConfig") or {}).get("maxOutputTokens")
        return asked if isinstance(asked, int) and asked > 0 else None

    def thinks(self, call: CallInProgress) -> bool:
        config = (call.body.get("generationConfig") or {}).get("thinkingConfig") or {}
        return config.get("thinkingBudget") != 0

    def usage(self, call: CallInProgress, bill: Bill, spoken: Spoken) -> Body:
        return shown(bill)

    def stored(
        self,
        memory: Memory,
        endpoint: Route,
        query: Mapping[str, str],
        body: Body,
    ) -> Body:
        return stored(memory, endpoint, body)

    def count_reply(self, call: CallInProgress, counted: InputCount) -> Body:
        if call.endpoint.kind == "keep":
            return keep(call, counted)
        return {
            "totalTokens": counted.input,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": counted.input}],
        }

    def models_reply(self, models: Sequence[Model], name: str) -> Body:
        listed = []
        for model in models:
            shown_model = {
                "name": f"models/{model.name}",
                "version": "001",
                "displayName": model.name,
                "inputTokenLimit": model.window,
                "outputTokenLimit": model.max_output,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
                "thinking": model.reasons,
            }
            listed.append(shown_model)
        return listed[0] if name else {"models": listed}

    def error(self, refused: Refused) -> Body:
        fault: Body = {
            "code": refused.status,
            "message": refused.text,
            "status": refused.kind,
        }
        if refused.code:
            info = {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": refused.code,
                "domain": "googleapis.com",
            }
            fault["details"] = [
                {**info, "metadata": {"service": "generativelanguage.googleapis.com"}}
            ]
        return {"error": fault}
