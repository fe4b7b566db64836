"""What a provider refused, and why: typed errors from a status, headers and a body.

https://platform.claude.com/docs/en/api/errors, https://platform.openai.com/docs/guides/error-codes,
https://ai.google.dev/gemini-api/docs/troubleshooting, https://openrouter.ai/docs/api-reference/errors. A status alone
doesn't tell: rate limits come as 413, quota as 429, overflow as 500. So the text is read first, and the status decides
where there is none. Keys are removed from all text that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from ullage.codec.foreign import is_dense, parse
from ullage.codec.overflow import recognise
from ullage.codec.rules import Wording
from ullage.envelope import ERROR_WORDS_CHARS
from ullage.errors import (
    BadKey,
    BodyTooLarge,
    ContentFiltered,
    DamagedAnswer,
    ModelLoading,
    NotFound,
    Overflow,
    Overloaded,
    PermissionDenied,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RequestRejected,
    ServerError,
    TooManyImages,
    WrongConversation,
)
from ullage.models.providers import provider_named
from ullage.models.similar_models import similar_models_of

LONGEST = 2_000
"""Characters of a provider's own words that are kept."""
_DEEPEST = 6
_MOST_LISTED = 50
_ECHOES: Final = frozenset(
    {
        "input",
        "body",
        "request",
        "messages",
        "contents",
        "prompt",
        "ctx",
        "loc",
        "url",
        "user_id",
    }
)
"""Fields in which an error may repeat the request; their content is no part of the error."""


class _Explained(NamedTuple):
    """What the provider does, and what to do about it."""

    what: str
    advice: str


_EXPLAINED: Final[dict[type[ProviderError], _Explained]] = {
    BadKey: _Explained(
        "does not accept the key", "Check the key and the address it is for."
    ),
    PermissionDenied: _Explained(
        "does not let this key do that", "Check what the key and the plan allow."
    ),
    NotFound: _Explained(
        "has no such model or endpoint", "Check the model's name and the address."
    ),
    QuotaExhausted: _Explained("has no quota left", "Add credit or change the plan."),
    RateLimited: _Explained("is being asked too often", "Wait, then try again."),
    Overloaded: _Explained("has no capacity now", "Wait, then try again."),
    ModelLoading: _Explained(
        "is still loading the model", "Wait until the model is loaded, then try again."
    ),
    ServerError: _Explained("failed", "Try again."),
    ContentFiltered: _Explained("withheld this by a filter", "Change what is sent."),
    WrongConversation: _Explained(
        "refuses reasoning that was written behind another beginning of this conversation",
        "Leave earlier reasoning out (reasoning = 'none'), or begin a new session.",
    ),
    RequestRejected: _Explained("rejects the request", "Look at the request with --raw."),
    Overflow: _Explained(
        "can't fit the request into the window",
        "Compact the conversation or choose a model with a larger window.",
    ),
    BodyTooLarge: _Explained(
        "takes no body of this size", "Drop large images, files or tool results."
    ),
    TooManyImages: _Explained(
        "takes fewer images and files in one request", "Drop older images and files."
    ),
}

_WORDS: Final[dict[type[ProviderError], str]] = {
    # https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
    WrongConversation: r"bound to a different conversation",
    QuotaExhausted: r"insufficient_quota|exceeded_current_quota|billing_hard_limit|insufficient balance|more credits"
    r"|can only afford"
    r"|credit balance is too low|billing_error|extra usage is required|monthly limit|exceeded current quota"
    r"|per day, please wait",
    RateLimited: r"rate[ _]?limit|too many requests|throttl|tokens? per (?:min|day|hour)|\bTPM\b"
    r"|please wait before trying|RESOURCE_EXHAUSTED|current quota|quota exceeded",
    # llama.cpp (tools/server/README.md, 503 "Loading model"), Hugging Face inference ("is currently loading"),
    # Ollama and LM Studio behind proxies ("model is loading", "loading model").
    ModelLoading: r"loading model|model (?:\S+ )?is (?:currently |still )?(?:loading|being loaded)|model_loading",
    Overloaded: r"overloaded|server is busy|at capacity|^UNAVAILABLE$",
    ContentFiltered: r"content_filter|content management policy|content_policy|responsibleai|safety_violation|\b1301\b"
    r"|data_inspection",
    BadKey: r"authentication_error|invalid[_ -]*(?:x-)?api[_ -]*key|incorrect api key|x-api-key header is required"
    r"|api[_ -]?key (?:not (?:valid|found)|expired)"
    r"|unauthenticated|authentication error\b|invalid proxy server token|token_not_found_in_db"
    r"|no api[_ -]?key (?:was |is )?(?:passed|provided|found)|invalid subscription key"
    r"|invalid (?:access|bearer) token|expired[_ ](?:api[_ ])?key"
    r"|authentication (?:fails|failed)|invalid authentication",
    PermissionDenied: r"permission_(?:error|denied)|long context beta",
    NotFound: r"not_found_error|model_not_found|\bmodel\b.{0,100}does not exist",
}
"""What is said, in the order of what is most certain."""

_BY_STATUS: Final[dict[int, type[ProviderError]]] = {
    401: BadKey,
    402: QuotaExhausted,
    403: PermissionDenied,
    404: NotFound,
    408: ServerError,
    409: ServerError,
    429: RateLimited,
    503: Overloaded,
    529: Overloaded,
}

_SECRET: Final = re.compile(
    r"(?i)\b(?:sk|pk|rk|gsk|xai|r8|hf|nvapi|csk|fw|key|tok|ghp|gho|ghu|github_pat|AIza|ya29|AKIA)(?=[A-Za-z_\-.]{0,100}[0-9*])[-_.]?[A-Za-z0-9*_\-.]{8,}"
    r"|(?:bearer\s+|basic\s+(?=\S*\d))[A-Za-z0-9._~+/=\-]{8,}|(?<=key=)[^&\s\"']+|(?<=x-api-key: )\S+"
    r"|(?:(?<=token=)|(?<=secret=)|(?<=password=))[^&\s\"']+|\beyJ[\w-]{8,1000}\.[\w.-]+|(?<=://)[^\s/@\"'<>]+(?=@)"
    r"|(?<=PRIVATE KEY-----)[A-Za-z0-9+/=\s\\]{20,}"
)
_DIGIT: Final = re.compile(r"\d")
_REQUEST_IDS: Final = (
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "cf-ray",
    "x-goog-request-id",
)
_PAGE: Final = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)
_HIDDEN: Final = re.compile(r"<(?:style|script)[^<>]*>[^<]*", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]*>")
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_SHORT: Final = 300
_UNITS: Final = {"ms": 0.001, "m": 60.0, "min": 60.0}
_WAIT: Final = re.compile(
    r"(?:retry|try again) (?:in|after) (\d+(?:\.\d+)?) ?(ms|m(?:in)?|s)?", re.IGNORECASE
)


def read_problem(
    wire: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: str = "",
    model: str = "",
) -> ProviderError:
    """The error that an answer with this status is. ``headers`` in any case of their names.

    Always gives one, also for a body that is empty, HTML or cut. Never holds a key.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    value = _parsed(body)
    if value is None or isinstance(value, str):
        text = body.decode("utf-8", "replace")
    else:
        text = _heard(value)
    text = _readable(text)[:ERROR_WORDS_CHARS]
    is_silent = not body.strip() and status in (400, 413)
    named = (lowered[name] for name in _REQUEST_IDS if name in lowered)
    return _error(
        provider or wire,
        value,
        text,
        status=status,
        is_silent_overflow=is_silent and provider_named(provider).overflows_silently,
        headers=lowered,
        request_id=next(named, _request_id(value)),
        model=model,
    )


def _parsed(body: bytes) -> Any:
    return parse(body) if body.strip() and not is_dense(body) else None


def problem_in_body(who: str, data: bytes, what: str) -> ProviderError:
    """The error that is in a place where an answer belongs: its own words where it says any, else that it is none.

    ``who`` answered, and ``what`` is what came: a content type, for example.
    """
    value = _parsed(data)
    if isinstance(value, Mapping) and (value.get("error") or _message(value)):
        return _error(who, value, _heard(value), request_id=_request_id(value))
    quoted = _visible(
        strike_keys(_readable(data.decode("utf-8", "replace")).strip())[:_SHORT]
    )
    tail = f" It begins: “{quoted}”." if quoted else ""
    return DamagedAnswer(
        f"{who} answered with {what}, which is no model's answer.{tail} Check the address; a proxy may have answered."
    )


def problem_in_stream(
    who: str, fields: Mapping[str, Any], *, model: str = ""
) -> ProviderError:
    """The error that an answer holds in the place of its end: the parsed event or body. ``who`` answered."""
    value: object = dict(fields)
    response = fields.get("response")
    if isinstance(response, Mapping):
        value = response
    if isinstance(value, Mapping) and "error" in value:
        value = {
            key: item
            for key, item in value.items()
            if key in ("error", "type", "message", "code", "incomplete")
        }
    request_id = _request_id(fields)
    return _error(who, value, _heard(value), request_id=request_id, model=model)


def _readable(text: str) -> str:
    """The words of an HTML page in one line; any other text as it is."""
    text = text[:ERROR_WORDS_CHARS]
    if not _PAGE.match(text):
        return text
    return " ".join(_TAG.sub(" ", _HIDDEN.sub(" ", text)).split())


def _visible(text: str) -> str:
    """The text without what would steer a terminal or hide a part of it."""
    return _UNSEEN.sub("", text)


def strike_keys(text: str, *, shortest: int = 0) -> str:
    """The text without anything that looks like a key.

    With ``shortest`` only what has so many characters and a digit: in code, ``token_count`` begins like a key too.
    """

    def struck(found: re.Match[str]) -> str:
        key = found.group()
        is_word = len(key) < shortest or (shortest and not _DIGIT.search(key))
        return key if is_word else "[key]"

    return _SECRET.sub(struck, text)


def _error(
    who: str,
    value: Any,
    text: str,
    *,
    status: int | None = None,
    is_silent_overflow: bool = False,
    headers: Mapping[str, str] = {},
    request_id: str = "",
    model: str = "",
) -> ProviderError:
    """The error in a parsed body, or in a ``text`` that is no JSON. Without a ``status`` the body may name one."""
    status = _status_in(value) if status is None else status
    said = text if value is None else _message(value)
    about: dict[str, Any] = {
        "status": status,
        "code": _visible(strike_keys(_code(value)[:_SHORT])),
        "said": _visible(strike_keys(said.strip())[:LONGEST]),
        "request_id": request_id,
    }
    kind: type[ProviderError] = _kind_of(status, text)
    verdict = recognise(413 if is_silent_overflow else status, text)
    if verdict is not None:
        kind = _overflow_of(verdict.wording)
        about |= asdict(verdict.measures)
        about["input_alone"] = verdict.wording.input_alone
    else:
        about["retry_after_s"] = _retry_after(headers, value, text)
    where = f"{who} ({model})" if model else who
    number = "" if status is None else f" [{status}]"
    tail = f" It says: “{about['said']}”." if about["said"] else ""
    what, advice = _EXPLAINED[kind]
    if kind is NotFound and model:
        meant = " or ".join(similar_models_of(who, model))
        advice += f" Did you mean {meant}?" if meant else ""
    return kind(f"{where} {what}{number}.{tail} {advice}", **about)


def _overflow_of(wording: Wording) -> type[Overflow]:
    if wording.in_bytes:
        return BodyTooLarge
    return TooManyImages if wording.in_images else Overflow


def _kind_of(status: int | None, text: str) -> type[ProviderError]:
    if status in (401, 402):
        return _BY_STATUS[status]
    for kind, words in _WORDS.items():
        if re.search(words, text, re.IGNORECASE | re.MULTILINE):
            return kind
    if status is not None and 400 <= status < 500:
        return _BY_STATUS.get(status, RequestRejected)
    return _BY_STATUS.get(status or 0, ServerError)


def _heard(value: object) -> str:
    """All the server's own text, a line a string, JSON inside strings opened, the request's echo left out."""
    return "\n".join(_strings(value, _DEEPEST))


def _strings(value: object, depth: int) -> Iterator[str]:
    if depth == 0:
        return
    if isinstance(value, str):
        yield value
        start = value.find("{")
        inner = (
            parse(value[start:].encode("utf-8", "surrogatepass")) if start >= 0 else None
        )
        if isinstance(inner, dict):
            yield from _strings(inner, depth - 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, int | float) and not isinstance(item, bool):
                yield f"{key}: {item}"
            elif key not in _ECHOES:
                yield from _strings(item, depth - 1)
    elif isinstance(value, list):
        for item in value[:_MOST_LISTED]:
            yield from _strings(item, depth - 1)


def _message(value: object) -> str:
    """The sentence a person would be shown."""
    if isinstance(value, list):
        return _message(value[0]) if value else ""
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) else ""
    for key in ("error", "message", "Message", "detail", "error_msg", "msg"):
        item = value.get(key)
        if isinstance(item, str) and item:
            raw = value.get("metadata")
            inner = raw.get("raw") if isinstance(raw, Mapping) else None
            return f"{item}: {inner}" if isinstance(inner, str) else item
        if isinstance(item, Mapping | list) and item:
            return _message(item)
    return ""


def _code(value: object) -> str:
    """The provider's own short names for the error, from the most to the least specific."""
    if isinstance(value, list):
        return _code(value[0]) if value else ""
    if not isinstance(value, Mapping):
        return ""
    inner = value.get("error")
    if isinstance(inner, Mapping):
        return _code(inner)
    for key in ("code", "type", "status", "reason"):
        item = value.get(key)
        if isinstance(item, str | int) and not isinstance(item, bool) and item:
            return str(item)
    return ""


def _status_in(value: object) -> int | None:
    """An HTTP status that an error inside a stream names."""
    inner = value.get("error") if isinstance(value, Mapping) else None
    for holder in (inner, value):
        if isinstance(holder, Mapping):
            for key in ("code", "status", "status_code", "http_status"):
                item = holder.get(key)
                number: object = item
                if isinstance(item, str) and item.isdecimal() and len(item) == 3:
                    number = int(item)
                if isinstance(number, int) and 400 <= number < 600:
                    return number
    return None


def _request_id(value: object) -> str:
    found = value.get("request_id") if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def _retry_after(headers: Mapping[str, str], value: object, text: str) -> float | None:
    """Seconds to wait, from the headers, from Google's ``retryDelay``, or from the sentence. A date is not read."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        wait = _seconds(headers.get(name, ""), unit)
        if wait is not None:
            return wait
    delay = _delay_in(value, _DEEPEST)
    if delay.endswith("s"):
        wait = _seconds(delay[:-1], 1.0)
        if wait is not None:
            return wait
    match = _WAIT.search(text)
    if match is None:
        return None
    return float(match[1]) * _UNITS.get((match[2] or "s").lower(), 1.0)


def _delay_in(value: object, depth: int) -> str:
    """The first ``retryDelay`` anywhere in a value; empty without one."""
    items: Iterable[object] = ()
    if depth and isinstance(value, Mapping):
        if isinstance(value.get("retryDelay"), str):
            return str(value["retryDelay"])
        items = value.values()
    elif depth and isinstance(value, list):
        items = value[:_MOST_LISTED]
    return next(filter(None, (_delay_in(item, depth - 1) for item in items)), "")


def _seconds(text: str, unit: float) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number * unit if 0 <= number < 1e7 else None
