"""Asks a simulator over HTTP as plainly as can be: no SDK and nothing of the package between the test and the wire."""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2

from ullage_simulators.scenario import read
from ullage_simulators.server import Server, running

Body = dict[str, Any]
KEYS = {
    "x-api-key": "any",
    "authorization": "Bearer any",
    "x-goog-api-key": "any",
    "anthropic-version": "2023-06-01",
}
WEATHER: Body = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


class Ask(NamedTuple):
    """A request: a body as an object, or as raw bytes; ``headers`` replace the usual ones (``None`` leaves one out)."""

    path: str
    body: Body
    headers: dict[str, str | None] = {}  # noqa: RUF012 - never written to
    raw: bytes | None = None
    method: str = "POST"

    def but(self, **changes: Any) -> "Ask":
        """The same with other fields in its body; ``None`` takes one out."""
        body = {**copy.deepcopy(self.body), **changes}
        return self._replace(
            body={name: value for name, value in body.items() if value is not None}
        )


class Talk:
    """A client of one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.http = httpx2.Client(timeout=60)

    def send(self, wire: str, ask: Ask) -> httpx2.Response:
        headers = {
            name: value
            for name, value in {**KEYS, **ask.headers}.items()
            if value is not None
        }
        content = ask.raw if ask.raw is not None else json.dumps(ask.body).encode()
        url = self.server.url(wire) + ask.path
        return self.http.request(
            ask.method,
            url,
            content=content if ask.method == "POST" else None,
            headers=headers,
        )

    def status(self, wire: str, ask: Ask) -> int:
        return self.send(wire, ask).status_code

    def ok(self, wire: str, ask: Ask) -> Any:
        """The answer's object; the request must be accepted."""
        response = self.send(wire, ask)
        assert response.status_code == 200, response.text
        return response.json()

    def events(self, wire: str, ask: Ask) -> list[Any]:
        """The data of a streamed answer's events; ``[DONE]`` and comments left out."""
        response = self.send(wire, ask)
        assert response.status_code == 200, response.text
        lines = [
            line[6:] for line in response.text.splitlines() if line.startswith("data: ")
        ]
        return [json.loads(line) for line in lines if line != "[DONE]"]


class Case(NamedTuple):
    """What is refused, with which words, and the same request put right."""

    says: str
    broken: Ask
    mended: Ask
    status: int = 400
    wire: str = ""


Maker = Callable[[Talk], Case]


class Usual(NamedTuple):
    """The request that mends what is refused, where a case gives no other."""

    ask: Ask

    def of(
        self, says: str, broken: Ask, mended: Ask | None = None, status: int = 400
    ) -> Maker:
        return lambda talk: Case(says, broken, mended or self.ask, status)


@contextmanager
def tight_talk(like: str, window: int = 1_000) -> Iterator[Talk]:
    """Talks to a server with a key of its own and a small window."""
    models = [{"name": "small", "like": like, "window": window}]
    with running(read({"models": models, "server": {"key": "any"}}), seed=7) as server:
        yield Talk(server)


def said(answer: Any) -> str:
    """The message of any wire's error object."""
    if "detail" in answer:
        return str(answer["detail"])
    fault = answer.get("error", answer)
    return fault if isinstance(fault, str) else str(fault["message"])


def prove(talk: Talk, wire: str, rule: str, case: Case) -> None:
    """The violation is refused by this rule with these words, and its repaired twin is accepted."""
    wire = case.wire or wire
    refused = talk.send(wire, case.broken)
    assert said(refused.json()) == case.says, refused.text
    assert refused.status_code == case.status
    assert talk.server.exchanges[-1].rule == rule
    accepted = talk.send(wire, case.mended)
    assert accepted.status_code == 200, accepted.text
