"""``ullage ask``: one call of a model, streamed, with what it cost and what the window holds after it.

The answer goes to standard output, everything about it to standard error, so that a pipe gets the answer alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final, NamedTuple, TextIO

import msgspec

from ullage.cli.context import stored_calibration
from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.screenplay import retry_sentence
from ullage.codec.blocks import Options
from ullage.codec.stream import Answer, ReasoningDelta, TextDelta
from ullage.display.gauge_line import amount
from ullage.display.text import json_text, number, percent, printable, safe
from ullage.errors import InputError, ProviderError
from ullage.events import LimitLearnt
from ullage.messages import (
    Message,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    ToolCallPart,
    clean_text,
)
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.usage import Usage
from ullage.user_file import user_endpoints
from ullage.wire.call import Prepared, Retrying, prepare, stream
from ullage.wire.client import Client
from ullage.wire.discovery import limits
from ullage.wire.endpoints import Endpoint, endpoint_for

_ENDS: Final = {
    "length": "The answer was cut: it reached the largest output. Give more with --max-output.",
    "refused": "The model or a filter withheld the answer.",
    "context_full": "The answer was cut: the window is full.",
    "paused": "The provider paused in a loop of its own; the answer is not whole.",
    "tool_calls": "The model asks for a tool, and there is none here.",
}
"""What is said of an answer that did not simply end, by its stop."""


class Asked(NamedTuple):
    """A call that was made: what went out, what came back, what the window holds now."""

    prepared: Prepared
    answer: Answer
    reading: Reading


def run(args: argparse.Namespace) -> int:
    """Ask, and print the answer as it comes. 0 for a whole answer, 2 otherwise. Raises ``UllageError``."""
    endpoint, model = endpoint_for(
        args.model,
        base_url=args.base_url,
        wire=args.wire,
        environment=os.environ,
        endpoints=user_endpoints(os.environ),
    )
    request = Request(
        wire=endpoint.wire,
        provider=endpoint.provider,
        model=model,
        system=(SystemBlock(text=clean_text(args.system).text),) if args.system else (),
        messages=(
            Message(
                id="question",
                role="user",
                parts=(TextPart(id="question.1", text=question_of(args.question)),),
            ),
        ),
        stream=not args.no_stream,
    )
    asked = asyncio.run(_ask(request, endpoint, args))
    if args.json:
        sys.stdout.write(json_text(as_json(asked)) + "\n")
    else:
        for line in closing_lines(asked):
            print(line, file=sys.stderr)
    is_whole = asked.answer.outcome == "finished" and asked.answer.stop not in _ENDS
    return DONE if is_whole else FAILED


def question_of(text: str) -> str:
    """The question, or what comes on standard input for ``-``."""
    if text == "-":
        text = clean_text(sys.stdin.buffer.read()).text
    if not text.strip():
        raise InputError(
            'There is nothing to ask: give a question, as in `ullage ask "What is a cask?" --model …`.'
        )
    return clean_text(text).text


async def _ask(request: Request, endpoint: Endpoint, args: argparse.Namespace) -> Asked:
    options = Options(max_output=args.max_output)
    prepared = prepare(request, endpoint, options=options)
    if args.raw:
        for line in raw_lines(prepared):
            print(line, file=sys.stderr)
    meter = Meter(
        request.model,
        wire=request.wire,
        provider=request.provider,
        window=args.window,
        calibration=stored_calibration(),
    )
    call = meter.before(request).call
    pen = Pen(sys.stdout, reasoning=not args.json)
    async with Client() as client:
        answer: Answer | None = None
        events = stream(
            request,
            endpoint,
            client=client,
            message_id=f"{call}.answer",
            call=call,
            options=options,
            on_retry=_say_retry,
        )
        try:
            async with aclosing(events) as coming:
                async for event in coming:
                    if isinstance(event, Answer):
                        answer = event
                    elif not args.json:
                        pen.write(event)
        finally:
            pen.end()
        if answer is None:
            raise ProviderError("The call ended without an answer. Try again.")
        if not request.stream and not args.json:
            pen.write_whole(answer.message)
        meter.after(call, answer.usage, answer.message, outcome=answer.outcome)
        if meter.reading().window.tokens is None:
            await _learn_window(meter, endpoint, request.model, client)
    return Asked(prepared, answer, meter.reading())


async def _learn_window(
    meter: Meter, endpoint: Endpoint, model: str, client: Client
) -> None:
    """Ask the endpoint what nobody else knows. What it does not say stays unknown."""
    try:
        said = await limits(endpoint, model, client=client)
    except ProviderError:
        return
    if said.window is not None:
        learnt = LimitLearnt(
            model=model,
            source="provider",
            window=said.window,
            input_cap=said.input_cap,
            max_output=said.max_output,
        )
        meter.apply(learnt)


def _say_retry(retrying: Retrying) -> None:
    print(
        f"{retry_sentence(str(retrying.error), retrying.wait_s)} …",
        file=sys.stderr,
        flush=True,
    )


class Pen:
    """Writes an answer as it comes. A terminal gets no control characters of the model's, and its reasoning dimmed."""

    def __init__(self, out: TextIO, *, reasoning: bool = True) -> None:
        self.out = out
        self.is_terminal = out.isatty()
        self._reasoning = reasoning and self.is_terminal
        self._dim = False
        self._wrote = ""

    def write(self, event: object) -> None:
        """One event of the stream, at once."""
        if isinstance(event, TextDelta):
            self._put(event.text)
        elif isinstance(event, ReasoningDelta) and self._reasoning:
            self._put(event.text, dim=True)

    def write_whole(self, message: Message) -> None:
        """An answer that was not streamed."""
        for part in message.parts:
            if isinstance(part, TextPart):
                self._put(part.text)
            elif isinstance(part, ReasoningPart) and self._reasoning:
                self._put(part.text, dim=True)
        self.end()

    def end(self) -> None:
        """Leave the terminal as it was, at the begin of a line."""
        self._style(dim=False)
        if self._wrote and not self._wrote.endswith("\n"):
            self._send("\n")
        self._wrote = ""

    def _put(self, text: str, *, dim: bool = False) -> None:
        if dim != self._dim and self._wrote and not self._wrote.endswith("\n"):
            self._send("\n")
        self._style(dim=dim)
        self._send(safe(text) if self.is_terminal else text)

    def _style(self, *, dim: bool) -> None:
        if dim != self._dim and self.is_terminal and not os.environ.get("NO_COLOR"):
            self.out.write("\x1b[2m" if dim else "\x1b[0m")
        self._dim = dim

    def _send(self, text: str) -> None:
        if text:
            encoding = self.out.encoding or "utf-8"
            self.out.write(text.encode(encoding, "replace").decode(encoding))
            self.out.flush()
            self._wrote = text[-1]


def raw_lines(prepared: Prepared) -> list[str]:
    """The request as it goes out: address, headers with the key masked, and the exact body."""
    post = prepared.post
    headers: Mapping[str, str] = {
        **post.headers,
        **dict(post.endpoint.headers),
        **post.endpoint.shown_header(),
    }
    lines = [
        f"{post.method} {post.url}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    lines += ["", safe(post.content.decode("utf-8", "replace")), ""]
    lines += [
        f"Repaired: {safe(one.what)} ({one.kind})" for one in prepared.repaired.repairs
    ]
    return lines + [f"Not sent: {what}" for what in prepared.encoded.unsent]


def closing_lines(asked: Asked) -> list[str]:
    """What the call cost, what the window holds after it, and, before these, what is to be known of the answer."""
    answer = asked.answer
    lines = []
    if answer.outcome == "dropped":
        lines.append(
            f"The answer broke off. {printable(str(answer.error)) if answer.error else ''}".rstrip()
        )
    elif answer.error is not None:
        lines.append(printable(str(answer.error)))
    if answer.stop in _ENDS:
        calls = ", ".join(
            printable(part.name) for part in answer.message.of_type(ToolCallPart)
        )
        lines.append(_ENDS[answer.stop] + (f" ({calls})" if calls else ""))
    return [*lines, cost_line(answer.usage, asked.reading), window_line(asked.reading)]


def cost_line(usage: Usage, reading: Reading) -> str:
    """Tokens as they were reported, and money at list prices: ``Cost    12 in · 40 out · $0.0002``."""
    said = [
        f"{number(usage.input)} in" if usage.input is not None else "input not reported"
    ]
    if usage.cache_read:
        said[0] += f" ({number(usage.cache_read)} from the cache)"
    said.append(
        f"{number(usage.output)} out"
        if usage.output is not None
        else "output not reported"
    )
    if usage.reasoning:
        said[1] += f" ({number(usage.reasoning)} of them reasoning)"
    money = reading.spend.money
    if money.priced:
        said.append(
            f"{'about ' if money.inexact else ''}${money.usd:.{4 if money.usd >= 0.001 else 6}f}"
        )
    else:
        said.append("price unknown")
    return "Cost    " + " · ".join(said)


def window_line(reading: Reading) -> str:
    """The reading in one line: ``Window  52 ± 3 of 200,000 tokens (<1 %) · 183,948 free``."""
    used = reading.used
    held = amount(reading.used)
    if reading.window.tokens is None:
        return f"Window  {held} tokens of an unknown window: say it with --window."
    window = reading.window.tokens
    said = [f"{held} of {number(window)} tokens ({percent(used.tokens, window)})"]
    if reading.free is not None:
        over = reading.free < 0
        said.append(
            f"over by {number(-reading.free)}" if over else f"{number(reading.free)} free"
        )
    if reading.reserve:
        said[-1] += f" after {number(reading.reserve)} kept for the answer"
    return "Window  " + " · ".join(said)


def as_json(asked: Asked) -> bytes:
    """The call as one JSON object."""
    answer = asked.answer
    whole: dict[str, Any] = {
        "text": "".join(part.text for part in answer.message.of_type(TextPart)),
        "reasoning": "".join(part.text for part in answer.message.of_type(ReasoningPart)),
        "outcome": answer.outcome,
        "stop": answer.stop,
        "model": answer.model or asked.prepared.request.model,
        "provider": asked.prepared.request.provider,
        "wire": asked.prepared.request.wire,
        "response_id": answer.response_id,
        "error": None if answer.error is None else str(answer.error),
        "usage": msgspec.Raw(msgspec.json.encode(answer.usage)),
        "reading": msgspec.Raw(asked.reading.to_json()),
        "repairs": [one._asdict() for one in asked.prepared.repaired.repairs],
        "unsent": list(asked.prepared.encoded.unsent),
    }
    return msgspec.json.encode(whole)
