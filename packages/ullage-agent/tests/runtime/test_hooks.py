"""Hooks that replace requests, answers, arguments and results: what is sent, run and recorded, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import ullage
from tests.promises import stage
from tests.tiers import first_of
from ullage.errors import WrongType
from ullage.events import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    ToolCallReplaced,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from ullage.hooks import (
    Answer,
    Hook,
    Message,
    Output,
    Reading,
    Request,
    with_message,
    with_texts,
)
from ullage.messages import SystemBlock, ToolCallPart
from ullage.turns.approving import digest_of
from ullage_agent.tools.functions import tool
from ullage_simulators import Scenario, running
from ullage_simulators.server import Server


def sent(server: Server) -> list[str]:
    return [json.dumps(each.body) for each in stage.generated(server)]


def reported(end: CallEnded) -> int:
    """The tokens that the provider reported as a call's input."""
    assert end.usage is not None and end.usage.context is not None
    return end.usage.context


def talk(*texts: str) -> Scenario:
    return stage.script(*({"text": text} for text in texts))


SETTINGS = stage.CLAUDE.settings()


class Masking(Hook):
    """Takes a name out of what is sent."""

    async def before_call(self, request: Request, reading: Reading) -> Request:
        return with_texts(request, lambda text: text.replace("Ada Lovelace", "[name]"))


class Reminding(Hook):
    """Adds a message to each request."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def before_call(self, request: Request, reading: Reading) -> Request | None:
        return with_message(request, self.text) if self.text else None


async def test_a_replaced_request_is_sent_and_the_ledger_keeps_the_conversation(
    tmp_path: Path,
) -> None:
    with running(talk("Hello.")) as server:
        agent = stage.agent_for(
            tmp_path / "s.db", Masking(), Reminding("Be brief."), server=server
        )
        async with agent.session("s", **SETTINGS) as session:
            await session.ask("I am Ada Lovelace.")
            await session.ask("And who am I?")
            messages, events = await session.messages(), await session.history()
        bodies = sent(server)
        assert all("Ada" not in body and "[name]" in body for body in bodies)
        assert [body.count("Be brief.") for body in bodies] == [1, 1]
        assert [message.text for message in messages] == [
            "I am Ada Lovelace.",
            "Hello.",
            "And who am I?",
            "Hello.",
        ]
        starts = stage.of_kind(events, CallStarted)
        assert [start.replaced_by for start in starts] == [("Masking", "Reminding")] * 2
        assert all(start.fingerprint is None for start in starts)
        stage.assert_accepted(server)


async def test_a_hook_may_change_tools_and_system_prompt_of_one_call(
    tmp_path: Path,
) -> None:
    def look() -> str:
        """Look."""
        return "a vase"

    class Bare(Hook):
        async def before_call(self, request: Request, reading: Reading) -> Request:
            changed = {"tools": (), "system": (SystemBlock(text="You are a parrot."),)}
            return Request(**{**fields_of(request), **changed})

    with running(talk("Hello.")) as server:
        agent = stage.agent_for(tmp_path / "s.db", Bare(), tools=[look], server=server)
        async with agent.session("s", **SETTINGS) as session:
            await session.ask("Hi.")
            (start,) = stage.of_kind(await session.history(), CallStarted)
        (body,) = stage.generated(server)
        assert "tools" not in body.body
        assert "You are a parrot." in json.dumps(body.body["system"])
        assert start.added < 0


def fields_of(request: Request) -> dict[str, Any]:
    return {
        name: getattr(request, name)
        for name in request.__struct_fields__
        if name != "extra"
    }


TEXT = "The cellar holds forty casks of oak, and each of them is turned in May. " * 40


async def test_the_count_is_that_of_what_is_sent_and_no_report_is_evidence_against_it(
    tmp_path: Path,
) -> None:
    reminding = Reminding("")
    with running(talk(*"abcdefgh")) as server:
        agent = stage.agent_for(tmp_path / "s.db", reminding, server=server)
        async with agent.session("s", **SETTINGS) as session:
            await session.ask("Hi.")
            await session.ask("Hi.")
            plain = (await session._meter()).calibration
            at_rest = (await session.context()).used.tokens
            reminding.text = TEXT
            await session.ask("Hi.")
            await session.ask("Hi.")
            with_text = await session.context()
            starts = stage.of_kind(await session.history(), CallStarted)
            ends = stage.of_kind(await session.history(), CallEnded)
            assert (await session._meter()).calibration == plain
            steps = (await session._meter()).steps
            reminding.text = ""
            await session.ask("Hi.")
            without = await session.context()
            ends += stage.of_kind(await session.history(), CallEnded)[-1:]
        # The number of a call is that of what was sent, and so is the next reading: the hook is expected again.
        for start, end in zip(starts[2:], ends[2:4], strict=True):
            assert start.added > 400
            assert start.estimate is not None and end.usage is not None
            assert start.estimate.low <= reported(end) <= start.estimate.high
            assert abs(start.estimate.tokens - reported(end)) < 0.1 * reported(end)
        assert [step.marks for step in steps[2:]] == [("replaced",), ("replaced",)]
        assert with_text.used.tokens > at_rest + 400
        (row,) = (row for row in with_text.rows if row.name == "Added by hooks")
        assert abs(row.tokens - starts[-1].added) < 0.1 * row.tokens
        assert sum(row.tokens for row in with_text.rows) == with_text.used.tokens
        # Without the hook the window is as full as it is without its text.
        assert without.used.tokens < at_rest + 100
        assert ends[-1].usage is not None
        assert abs(without.accuracy.error or 0) < 60


async def test_the_reading_is_the_same_when_the_session_is_opened_again(
    tmp_path: Path,
) -> None:
    with running(talk("a", "b")) as server:
        agent = stage.agent_for(tmp_path / "s.db", Reminding(TEXT), server=server)
        async with agent.session("s", **SETTINGS) as session:
            await session.ask("Hi.")
            before = await session.context()
        again = stage.agent_for(tmp_path / "s.db", server=server)
        async with again.session("s", resume=False) as session:
            after = await session.context()
    assert (after.used, after.rows) == (before.used, before.rows)


async def test_a_replaced_answer_alone_is_recorded_and_counted(tmp_path: Path) -> None:
    class Hiding(Hook):
        async def after_call(self, answer: Answer, reading: Reading) -> Answer:
            return with_texts(answer, lambda text: text[:5])

    with running(talk(TEXT, "Bye.")) as server:
        agent = stage.agent_for(tmp_path / "s.db", Hiding(), server=server)
        async with agent.session("s", **SETTINGS) as session:
            result = await session.ask("Hi.")
            reading = await session.context()
            (end,) = stage.of_kind(await session.history(), CallEnded)
            kept = await (await session._look()).ledger.store.read("s")
            await session.ask("And?")
            second = stage.of_kind(await session.history(), CallEnded)[-1]
        assert result.text == "The c"
        assert end.replaced_by == ("Hiding",)
        assert "forty casks" not in str(kept)
        assert end.usage is not None and second.usage is not None
        assert (end.usage.output or 0) > 400  # what was paid for
        assert reading.used.tokens < reported(end) + 50
        assert reading.used.low <= reported(second)
        assert abs(reported(second) - reading.used.tokens) < 60


async def test_a_hook_may_take_a_tool_call_out_of_an_answer(tmp_path: Path) -> None:
    class Calm(Hook):
        async def after_call(self, answer: Answer, reading: Reading) -> Answer | None:
            calls = list(answer.message.of_type(ToolCallPart))
            if not calls:
                return None
            left = tuple(part for part in answer.message.parts if part not in calls)
            message = Message(id="x", role="assistant", parts=left)
            return answer._replace(message=message)

    with running(calling("sell", what="vase")) as server:
        agent = stage.agent_for(
            tmp_path / "s.db", Calm(), tools=[shop()[0]], server=server
        )
        async with agent.session("s", **SETTINGS) as session:
            result = await session.ask("Please do all of it.")
            events = await session.history()
        assert (result.text, result.reason) == ("Yes.", "finished")
        assert not stage.of_kind(events, ToolStarted)
        stage.assert_accepted(server)


def calling(name: str, **arguments: Any) -> Scenario:
    return stage.script(
        {
            "when": {"contains": "all of it", "after": "user"},
            "text": "Yes.",
            "calls": [{"name": name, "arguments": arguments}],
        },
        {"text": "That is all."},
    )


def shop(**options: Any) -> tuple[Any, list[str]]:
    sold: list[str] = []

    @tool(**options)
    def sell(what: str) -> str:
        """Sell something.

        Args:
            what: What.
        """
        sold.append(what)
        return f"sold the {what}"

    return sell, sold


class Cheaper(Hook):
    """Replaces what is sold, counts how often it is asked."""

    def __init__(self, given: Any = None) -> None:
        self.asked: list[Mapping[str, Any] | None] = []
        self.given = {"what": "postcard"} if given is None else given

    async def before_tool(
        self, name: str, arguments: Mapping[str, Any] | None, call_id: str
    ) -> Any:
        self.asked.append(arguments)
        return self.given


async def test_a_person_approves_the_arguments_that_a_hook_put_in_place(
    tmp_path: Path,
) -> None:
    sell, sold = shop(needs_approval=True)
    hook = Cheaper()
    with running(calling("sell", what="vase")) as server:
        agent = stage.agent_for(tmp_path / "s.db", hook, tools=[sell], server=server)
        async with agent.session("s", **SETTINGS) as session:
            await session.send("Please do all of it.")
            await session.wait()
            (question,) = await session.questions()
            shown = str([*question.lines])
            assert "postcard" in shown and "vase" not in shown
            assert question.digest == digest_of("sell", '{"what":"postcard"}')
        # Another process gets the answer, with a hook of its own, that is not asked again about what it has replaced.
        late = Cheaper({"what": "museum"})
        again = stage.agent_for(tmp_path / "s.db", late, tools=[sell], server=server)
        async with again.session("s") as session:
            await session.approve(question.call_id, digest=question.digest)
            await session.wait()
            events = await session.history()
    assert sold == ["postcard"]
    assert hook.asked == [{"what": "vase"}] and not late.asked
    (replaced,) = stage.of_kind(events, ToolCallReplaced)
    assert replaced.replaced_by == ("Cheaper",)
    assert [one.digest for one in stage.of_kind(events, ApprovalAsked)] == [
        question.digest
    ]


async def test_replaced_arguments_that_need_approval_are_asked_about_before_they_run(
    tmp_path: Path,
) -> None:
    sell, sold = shop(needs_approval=lambda arguments: arguments["what"] == "vase")
    with running(calling("sell", what="postcard")) as server:
        agent = stage.agent_for(
            tmp_path / "s.db", Cheaper({"what": "vase"}), tools=[sell], server=server
        )
        async with agent.session("s", **SETTINGS) as session:
            await session.send("Please do all of it.")
            result = await session.wait()
            assert (result.reason, sold) == ("approval", [])
            (question,) = await session.questions()
            await session.approve(question.call_id, False)
            await session.wait()
    assert not sold


async def test_a_hook_gives_the_result_in_the_place_of_the_tool(tmp_path: Path) -> None:
    sell, sold = shop(needs_approval=True)
    hook = Cheaper(Output("sold out\ud800"))
    with running(calling("sell", what="vase")) as server:
        agent = stage.agent_for(tmp_path / "s.db", hook, tools=[sell], server=server)
        async with agent.session("s", **SETTINGS) as session:
            await session.ask("Please do all of it.")
            events, messages = await session.history(), await session.messages()
        stage.assert_accepted(server)
    assert not sold and not stage.of_kind(events, ToolStarted)
    (ended,) = stage.of_kind(events, ToolEnded)
    assert (ended.outcome, ended.given_by) == ("not_started", "Cheaper")
    assert [part.text for part in stage.results_of(messages)] == ["sold out\ufffd"]


async def test_arguments_that_a_hook_changes_in_place_are_used_only_when_returned(
    tmp_path: Path,
) -> None:
    class Changing(Hook):
        def __init__(self, returns: bool) -> None:
            self.returns = returns

        async def before_tool(
            self, name: str, arguments: Any, call_id: str
        ) -> Mapping[str, Any] | None:
            arguments["what"] = "lamp"
            return arguments if self.returns else None

    for returns, expected in ((True, ["lamp"]), (False, ["vase"])):
        sell, sold = shop()
        with running(calling("sell", what="vase")) as server:
            agent = stage.agent_for(
                tmp_path / f"{returns}.db", Changing(returns), tools=[sell], server=server
            )
            async with agent.session("s", **SETTINGS) as session:
                await session.ask("Please do all of it.")
        assert sold == expected


class Wrong(Hook):
    """Returns what no hook may return, from one method."""

    def __init__(self, method: str, given: object) -> None:
        async def returns(*_: object) -> object:
            return given

        setattr(self, method, returns)


@pytest.mark.parametrize(
    ("method", "given", "told"),
    [
        ("before_call", "no", "Wrong.before_call returned str, and may return: None, Request"),
        ("before_call", None, ""),
        ("after_call", {"text": "x"}, "Wrong.after_call returned dict"),
        ("before_tool", "no", "Wrong.before_tool returned str, and may return: None, Mapping, Output, Refusal"),
        ("before_tool", {"what": object()}, "returned arguments that are no JSON object"),
        ("before_tool", {"what": "\ud800"}, "returned arguments that are no JSON object"),
        ("after_tool", "sold", "Wrong.after_tool returned str, and may return: None, Output"),
        ("after_tool", None, ""),
    ],
)  # fmt: skip
async def test_what_a_hook_may_not_return_ends_the_turn_and_names_hook_and_type(
    method: str, given: object, told: str, tmp_path: Path
) -> None:
    sell, _ = shop()
    with running(calling("sell", what="vase")) as server:
        agent = stage.agent_for(
            tmp_path / "s.db", Wrong(method, given), tools=[sell], server=server
        )
        async with agent.session("s", **SETTINGS) as session:
            await session.send("Please do all of it.")
            result = await session.wait(check=False)
            events = await session.history()
    assert told in result.note
    assert result.reason == ("failed" if told else "finished")
    assert len(stage.of_kind(events, TurnEnded)) == 1
    stage.assert_calls_closed(events)


async def test_a_hook_can_not_send_the_request_to_another_model(tmp_path: Path) -> None:
    class Other(Hook):
        async def before_call(self, request: Request, reading: Reading) -> Request:
            return Request(**{**fields_of(request), "model": "claude-opus-4-6"})

    with running(talk("Hello.")) as server:
        agent = stage.agent_for(tmp_path / "s.db", Other(), server=server)
        async with agent.session("s", **SETTINGS) as session:
            await session.send("Hi.")
            result = await session.wait(check=False)
        assert "Other.before_call changed `model`" in result.note
        assert not sent(server)


async def test_a_summary_is_asked_for_with_what_hooks_leave_of_the_conversation(
    tmp_path: Path,
) -> None:
    with running(talk("Hello.")) as server:
        agent = stage.agent_for(
            tmp_path / "s.db", Masking(), server=server, strategy=("summary",)
        )
        async with agent.session("s", **SETTINGS) as session:
            for number in range(4):
                await session.ask(f"{number}: I am Ada Lovelace. {TEXT * 5}")
            await session.compact()
            await session.wait()
        bodies = sent(server)
        assert len(bodies) > 4 and all("Ada" not in body for body in bodies)


@pytest.mark.parametrize("speaker", first_of(stage.SIX, 2), ids=lambda one: one.name)
async def test_every_provider_takes_a_replaced_request_behind_results_too(
    speaker: stage.Speaker, tmp_path: Path
) -> None:
    sell, sold = shop()
    call = {"name": "sell", "arguments": {"what": "vase"}}
    script = stage.script(
        {"when": {"step": 1}, "reasoning": "All.", "text": "Yes.", "calls": [call]},
        {"text": "That is all."},
    )
    with running(script) as server:
        agent = stage.agent_for(
            tmp_path / "s.db",
            Masking(),
            Reminding("Be brief."),
            tools=[sell],
            server=server,
        )
        async with agent.session("s", **speaker.settings()) as session:
            result = await session.ask("Ada Lovelace: Please do all of it.")
            again = await session.ask("Thanks, Ada Lovelace.")
        assert (result.reason, again.reason, sold) == ("finished", "finished", ["vase"])
        bodies = sent(server)
        assert all(body.count("Be brief.") == 1 for body in bodies)
        assert not any("Ada" in body for body in bodies)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("before_cal", r"before_cal would never be called: .*Did you mean 'before_call'"),
        ("before_model", r"before_model would never be called"),
        ("on_llm_start", r"on_llm_start would never be called"),
    ],
)
def test_a_method_that_would_never_be_called_is_refused(method: str, said: str) -> None:
    hook = type("Masking", (Hook,), {method: lambda self, request: None})()
    with pytest.raises(WrongType, match=said):
        ullage.Agent("ollama:m", hooks=[hook], config=False)


def test_a_method_that_can_not_be_called_as_it_will_be_is_refused() -> None:
    class Masking(Hook):
        async def before_call(self, request: Request) -> Request:  # type: ignore[override]
            return request

    class Open(Hook):
        def __init__(self) -> None:
            self.on = True

        async def before_call(self, *given: Any, **more: Any) -> None: ...

        def _before_all(self) -> None: ...

    with pytest.raises(WrongType, match=r"def before_call\(self, request, reading\)"):
        ullage.Agent("ollama:m", hooks=[Masking()], config=False)
    ullage.Agent("ollama:m", hooks=[Open()], config=False)
