from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case, filled
from tests.meter.wire_clients import PATHS, Said, Talk, WireName
from ullage.messages import Message, TextPart
from ullage.meter.lanes import Lanes, Placed, SeenRequest

WIRES: tuple[WireName, ...] = ("messages", "chat", "responses", "generateContent")

CLAUDE = {"x-claude-code-session-id": "5b1c"}
CODEX = {"session-id": "01a2", "thread-id": "01a2"}
OPENCODE = {"x-session-id": "ses_1"}

SUMMARY = "The user asked for a list of the files, and two of them were read."


# -- what the user and the client say --


def test_the_name_that_a_user_gives_is_the_session() -> None:
    headers = {**CLAUDE, "x-ullage-session": "refactoring"}
    talk = Talk(Lanes(), "claude-code", headers=headers)
    first, second = talk.say("Hello."), talk.say("Thank you.")
    assert (first.session, first.lane, first.is_new) == ("refactoring",) * 2 + (True,)
    assert (second.lane, second.is_new) == ("refactoring", False)


@pytest.mark.parametrize(
    ("client", "headers", "session"),
    [
        ("claude-code", CLAUDE, "5b1c"),
        ("codex", CODEX, "01a2"),
        ("opencode", OPENCODE, "ses_1"),
        ("pi", {"session_id": "01a3"}, "01a3"),
    ],
)
def test_a_clients_own_id_is_the_session(
    client: str, headers: dict[str, str], session: str
) -> None:
    placed = Talk(Lanes(), client, headers=headers).say("Hello.")
    assert (placed.session, placed.lane, placed.purpose) == (session, session, "main")
    assert placed.program.startswith(client)


@pytest.mark.parametrize("name", ["../../etc", "a b", "x" * 150, "5b1c.child-1", "é"])
def test_a_name_that_could_be_something_else_is_replaced_by_a_digest(name: str) -> None:
    lanes = Lanes()
    placed = Talk(lanes, headers={"x-ullage-session": name}).say("Hello.")
    again = Talk(lanes, headers={"x-ullage-session": name}).say("Another thing.")
    assert placed.session.startswith("n-")
    assert again.session == placed.session


# -- subagents --


def test_parallel_subagents_with_the_same_tools_have_a_lane_each() -> None:
    lanes = Lanes()
    main = Talk(lanes, "claude-code", headers=CLAUDE)
    main.call("Look into both.", "look into both halves")
    children = []
    for agent in ("a1", "a2", "a3"):
        headers = {**CLAUDE, "x-claude-code-agent-id": agent}
        children.append(Talk(lanes, "claude-code", headers=headers, tools=main.tools))
    placed = [child.say("Look into one half.") for child in children]
    placed += [child.say("Go on.") for child in children]
    lanes_told = [each.lane for each in placed]
    assert lanes_told == ["5b1c.child-1", "5b1c.child-2", "5b1c.child-3"] * 2
    assert {each.purpose for each in placed} == {"child"}
    assert {each.session for each in placed} == {"5b1c"}
    assert main.returned("Both are fine.").lane == "5b1c"


def test_a_subagent_whose_session_names_its_parent_is_a_child_of_it() -> None:
    lanes = Lanes()
    Talk(lanes, "opencode", headers=OPENCODE).call("Delegate.", "look around here")
    headers = {"x-session-id": "ses_2", "x-parent-session-id": "ses_1"}
    child = Talk(lanes, "opencode", headers=headers)
    assert child.say("look around here").lane == "ses_1.child-1"
    headers = {"x-session-id": "ses_3", "x-parent-session-id": "ses_2"}
    grandchild = Talk(lanes, "opencode", headers=headers).say("look there")
    assert (grandchild.session, grandchild.lane) == ("ses_1", "ses_1.child-2")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("client", ["gemini-cli", "qwen-code", "claude-code before"])
def test_without_a_mark_a_subagent_is_told_by_the_call_that_has_its_task(
    client: str, wire: WireName
) -> None:
    lanes = Lanes()
    headers = CLAUDE if client == "claude-code before" else {}
    main = Talk(lanes, client, wire, headers)
    session = main.call("Delegate this.", "Find all the\nplaces where it is used").session
    children = [Talk(lanes, client, wire, headers) for _ in range(2)]
    told = []
    for child in children:
        said = "<context>Monday</context>\nFind all the places where it is used"
        told.append(child.say(said).lane)
    for child in children:
        told.append(child.say("Go on.").lane)
    assert told == [f"{session}.child-1", f"{session}.child-2"] * 2
    assert main.returned("In two places.").lane == session


def test_a_command_that_stands_in_every_prompt_of_a_program_starts_no_subagent() -> None:
    """mini-swe-agent's model ends a task with a command that the prompt of each session names."""
    lanes = Lanes()
    prompt = "Solve this: {}. End it with `echo COMPLETE_THE_TASK now`. Work on your own."
    sessions = set()
    for task in ("list the files", "count the words"):
        talk = Talk(lanes, wire="chat", connection=task)
        placed = talk.call(prompt.format(task), "echo COMPLETE_THE_TASK now")
        assert not placed.is_child
        sessions.add(placed.session)
    assert len(sessions) == 2


# -- calls beside the conversation --


def test_a_title_is_no_call_of_the_conversation_although_it_comes_first() -> None:
    lanes = Lanes()
    title = Talk(lanes, "opencode", headers=OPENCODE, tools=())
    title.system = "You are a title generator. You output ONLY a thread title."
    placed = title.say("Generate a title for this conversation: Hello.")
    assert (placed.purpose, placed.session) == ("title", "ses_1")
    assert placed.mark == ""
    assert Talk(lanes, "opencode", headers=OPENCODE).say("Hello.").is_new


def test_a_call_without_tools_beside_a_conversation_with_tools_is_another_call() -> None:
    lanes = Lanes()
    talk = Talk(lanes, "claude-code", headers=CLAUDE)
    talk.say("Hello.")
    quota = Talk(lanes, "claude-code", headers=CLAUDE, tools=())
    assert quota.say("quota").purpose == "other"
    assert not talk.say("Go on.").is_new


def test_a_first_call_without_tools_is_beside_the_conversation_whatever_it_says() -> None:
    lanes = Lanes()
    title = Talk(lanes, "claude-code", headers=CLAUDE, tools=())
    asked = title.say("<session>List the files.</session> Write the title.")
    first = Talk(lanes, "claude-code", headers=CLAUDE).say("List the files.")
    assert (asked.purpose, asked.lane, asked.mark) == ("other", "5b1c", "")
    assert (first.purpose, first.lane, first.is_new) == ("main", "5b1c", True)


def test_a_conversation_without_tools_goes_on_behind_its_first_answer() -> None:
    talk = Talk(Lanes(), "claude-code", headers=CLAUDE, tools=())
    talk.say("Hello.")
    second = talk.say("Thank you.")
    assert (second.purpose, second.lane, second.is_new) == ("main", "5b1c", True)
    assert Talk(Lanes(), headers={"x-ullage-session": "mine"}, tools=()).say("Hi").mark


def test_a_request_for_one_token_is_no_conversation() -> None:
    lanes = Lanes()
    quota = Talk(lanes, "claude-code", headers=CLAUDE, tools=(), extra={"max_tokens": 1})
    assert quota.say("quota").purpose == "other"
    assert Talk(lanes, "claude-code", headers=CLAUDE).say("Hello.").is_new


def test_the_history_in_the_hands_of_another_agent_is_another_call() -> None:
    """qwen-code lets an agent with a prompt and tools of its own read the conversation for things to remember."""
    lanes = Lanes()
    talk = Talk(lanes, "openai", "chat")
    talk.say("Hello.")
    memory = Talk(lanes, "openai", "chat", system="You take notes.", tools=("note",))
    memory.history = list(talk.history)
    placed = memory.say("What is worth a note?")
    assert (placed.purpose, placed.is_new) == ("other", False)
    assert not talk.say("Go on.").is_new


# -- compaction --


def compacted(talk: Talk, summary: str = SUMMARY) -> None:
    """The history is a summary from here on, in the words that a client puts around it."""
    text = f"This session continues an earlier one.\n<summary>\n{summary}\n</summary>"
    talk.history = [Said("user", text)]


@pytest.mark.parametrize(
    ("client", "wire", "headers", "asking"),
    [
        (
            "claude-code",
            "messages",
            CLAUDE,
            "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task …",
        ),
        (
            "codex",
            "responses",
            CODEX,
            "You are performing a CONTEXT CHECKPOINT COMPACTION. …",
        ),
        (
            "copilot-cli",
            "messages",
            {"x-initiator": "user"},
            "Please create a detailed summary of the conversation so far. …",
        ),
        (
            "qwen-code",
            "chat",
            {},
            "You are the component that summarizes a conversation when …",
        ),
    ],
)
def test_a_compaction_is_told_by_the_clients_own_request_for_a_summary(
    client: str, wire: WireName, headers: dict[str, str], asking: str
) -> None:
    talk = Talk(Lanes(), client, wire, headers)
    first = talk.say("List the files.")
    asked = talk.say(asking, SUMMARY)
    assert (asked.purpose, asked.lane, asked.mark) == ("summary", first.lane, "")
    compacted(talk)
    after = talk.say("Go on.")
    assert (after.lane, after.purpose, after.is_new) == (first.lane, "main", False)
    assert not talk.say("Thank you.").is_new


def test_a_summary_by_its_own_prompt_is_told_by_the_conversation_it_quotes() -> None:
    lanes = Lanes()
    talk = Talk(lanes, "pi")
    other = Talk(lanes, "pi", connection="c2")
    first = talk.say("List the files, please.")
    other.say("Something else altogether.")
    summary = Talk(lanes, "pi", tools=(), connection="c3")
    summary.system = "You are a context summarization assistant. Your task …"
    quoted = "<conversation>\n[User]: List the files, please.\n</conversation>"
    placed = summary.say(quoted, SUMMARY)
    assert (placed.purpose, placed.lane) == ("summary", first.lane)
    compacted(talk)
    after = talk.say("Go on.")
    assert (after.lane, after.is_new) == (first.lane, False)


@pytest.mark.parametrize("wire", WIRES)
def test_an_unknown_clients_summary_is_told_afterwards(wire: WireName) -> None:
    lanes = Lanes()
    talk = Talk(lanes, wire=wire)
    first = talk.say("List the files.")
    assert talk.say("Sum up what we did.", SUMMARY).purpose == "main"
    compacted(talk)
    after = talk.say("Go on.")
    assert (after.lane, after.is_new) == (first.lane, False)


def test_a_history_whose_oldest_messages_are_left_out_stays_in_its_lane() -> None:
    talk = Talk(Lanes(), wire="chat")
    first = talk.say("What is the first thing to know?")
    for number in range(4):
        talk.say(f"And what is thing number {number} to know?")
    del talk.history[:4]
    after = talk.say("And the last?")
    assert (after.lane, after.is_new) == (first.lane, False)


def test_the_same_examples_in_front_of_another_task_are_another_conversation() -> None:
    """Aider puts a talk of its own in front of each first message."""
    lanes = Lanes()
    examples = [Said("user", "Change get_factorial() to use math.factorial.")]
    for text in ("To make this change we need an import.", "Now move it to a file."):
        examples.append(Said("user", f"{text} Please."))
        examples.append(Said("answer", text))
    sessions = set()
    for task in ("List the files of this project.", "Count the words of it."):
        talk = Talk(lanes, wire="chat", connection=task)
        talk.history = list(examples)
        sessions.add(talk.say(task, "There are seven of them.").session)
        assert not talk.say("And how many directories are there?").is_new
    assert len(sessions) == 2


def test_a_commit_message_of_aider_is_beside_its_conversation() -> None:
    """It comes on a connection of its own, with the last answer in it."""
    lanes = Lanes()
    talk = Talk(lanes, wire="chat", tools=(), connection="one")
    talk.system = "Act as an expert software developer.\nAlways use best practices."
    first = talk.say("Rename the function.", "It is renamed in both of its files.")
    commit = Talk(lanes, wire="chat", tools=(), connection="two")
    commit.system = "You are an expert software engineer that generates concise, one-line"
    said = "USER: Rename the function.\nASSISTANT: It is renamed in both of its files."
    beside = commit.say(said, "refactor: rename the function")
    assert (beside.lane, beside.purpose, beside.mark) == (first.lane, "other", "")
    assert talk.say("And its tests?").lane == first.lane


def test_results_that_are_cleared_in_place_change_no_lane() -> None:
    talk = Talk(Lanes(), "claude-code", headers=CLAUDE)
    talk.call("Read it.", "read the whole file")
    talk.returned("line one, line two, line three")
    talk.say("And now?")
    talk.history[2].text = "[Old tool result content cleared]"
    assert not talk.say("Go on.").is_new


# -- going back, and other models --


def test_a_user_who_goes_back_stays_in_the_lane() -> None:
    talk = Talk(Lanes(), "gemini-cli", "generateContent")
    first = talk.say("List the files.")
    talk.say("Now delete them.")
    talk.say("Really, all of them.")
    del talk.history[2:]
    after = talk.say("Keep them.")
    assert (after.lane, after.is_new) == (first.lane, False)


def test_a_request_that_is_sent_again_after_a_failure_is_the_same_lane() -> None:
    lanes = Lanes()
    talk = Talk(lanes, "gemini-cli", "generateContent")
    talk.history = [Said("user", "Hello.")]
    placed, call = talk.send_only()
    lanes.answered(call, None)
    talk.connection = "c2"
    again, _ = talk.send_only()
    assert again.lane == placed.lane


@pytest.mark.parametrize("wire", WIRES)
def test_another_model_on_another_wire_continues_the_lane(wire: WireName) -> None:
    """pi sends its session's id on Responses only: the session keeps the id that it got first."""
    lanes = Lanes()
    talk = Talk(lanes, "pi", "messages")
    first = talk.call("Look.", "look into it all").lane
    talk.returned("It is fine.")
    talk.wire, talk.model, talk.system = wire, "other", "You are another model's agent."
    talk.tools = ("read",)
    if wire == "responses":
        talk.headers = {"session_id": "01a3"}
    assert talk.say("Go on.").lane == first
    talk.wire, talk.headers = "messages", {}
    assert talk.say("And now?").lane == first


def test_reminders_reasoning_and_cache_marks_are_no_content() -> None:
    lanes = Lanes()
    talk = Talk(lanes, "qwen-code", "chat")
    text = "<system-reminder>Today is Monday.</system-reminder>\nHello."
    first = talk.say(text)
    talk.history[0].text = "Hello."
    assert talk.say("Go on.").lane == first.lane


# -- no marks at all --


@pytest.mark.parametrize("wire", WIRES)
def test_equal_first_messages_of_two_anonymous_conversations_are_two(
    wire: WireName,
) -> None:
    lanes = Lanes()
    one = Talk(lanes, wire=wire)
    two = Talk(lanes, wire=wire, connection="c2")
    first, second = one.say("Hello."), two.say("Hello.")
    assert first.lane != second.lane
    assert second.note
    for _ in range(3):
        assert one.say("Go on.").lane == first.lane
        assert two.say("Go on.").lane == second.lane


def test_equal_calls_with_equal_results_are_told_apart_by_the_ids_of_the_calls() -> None:
    lanes = Lanes()
    one, two = Talk(lanes), Talk(lanes, connection="c2")
    first = one.call("Look.", "list all the files").lane
    one.returned("a.txt, b.txt and c.txt")
    second = two.call("Look.", "list all the files").lane
    assert two.returned("a.txt, b.txt and c.txt").lane == second
    assert one.say("Go on.").lane == first != second


def test_directories_tell_equal_conversations_apart() -> None:
    lanes = Lanes()
    system = "You are a coding agent.\n<cwd>/shelf/{}</cwd>"
    one = Talk(lanes, "pi", system=system.format("one"))
    two = Talk(lanes, "pi", system=system.format("two"))
    first, second = one.say("Hello."), two.say("Hello.")
    assert (first.cwd, second.cwd) == ("/shelf/one", "/shelf/two")
    assert one.say("Go on.").lane == first.lane != second.lane


def test_a_request_that_continues_a_kept_answer_is_in_its_lane() -> None:
    lanes = Lanes()
    talk = Talk(lanes, wire="responses")
    talk.history = [Said("user", "Hello.")]
    placed, call = talk.send_only()
    lanes.answered(call, None, "resp_1")
    chained = Talk(lanes, wire="responses", extra={"previous_response_id": "resp_1"})
    assert chained.say("Go on.").lane == placed.lane


def kept(lanes: Lanes, text: str, held: str = "", name: str = "", **more: Any) -> Placed:
    """A request of one message behind what the provider holds, and its answer of this name."""
    extra = {"previous_response_id": held} if held else {}
    talk = Talk(lanes, wire="responses", extra={**extra, **more})
    talk.history = [Said("user", text)]
    placed, call = talk.send_only()
    lanes.answered(call, answer_of(f"I see: {text}"), name)
    return placed


def answer_of(text: str) -> Message:
    return Message(id="a", role="assistant", parts=(TextPart(id="t", text=text),))


def test_two_requests_that_continue_one_kept_answer_are_two_lanes() -> None:
    lanes = Lanes()
    first = kept(lanes, "Hello.", "", "resp_1")
    second = kept(lanes, "Go on.", "resp_1", "resp_2")
    fork = kept(lanes, "Go on.", "resp_1", "resp_3")
    assert second.lane == first.lane != fork.lane
    assert (second.is_new, fork.is_new) == (False, True)
    assert fork.forked == first.lane
    assert kept(lanes, "And now?", "resp_3", "resp_4").lane == fork.lane
    assert kept(lanes, "And now?", "resp_2", "resp_5").lane == first.lane


def test_a_fork_in_a_session_that_the_client_names_is_a_lane_beside_it() -> None:
    lanes = Lanes()
    lanes.restore("cellar", "cellar", "openai", ["1.ab.cd.ef."], names=["resp_1"])
    named = SeenRequest(
        call="c1",
        path="/v1/responses",
        headers={"x-ullage-session": "cellar"},
        body={"model": "m", "input": "Go on.", "previous_response_id": "resp_1"},
    )
    assert lanes.place(named).lane == "cellar"
    fork = lanes.place(replace(named, call="c2"))
    assert (fork.session, fork.lane) == ("cellar", "cellar.child-1")


def test_a_failed_request_is_asked_again_in_its_lane() -> None:
    lanes = Lanes()
    first = kept(lanes, "Hello.", "", "resp_1")
    talk = Talk(lanes, wire="responses", extra={"previous_response_id": "resp_1"})
    talk.history = [Said("user", "Go on.")]
    _, call = talk.send_only()
    lanes.answered(call, None)
    assert kept(lanes, "Go on.", "resp_1", "resp_2").lane == first.lane


def test_an_answer_that_was_kept_elsewhere_begins_a_lane() -> None:
    lanes = Lanes()
    first = kept(lanes, "Go on.", "", "resp_1")
    other = kept(lanes, "Go on.", "resp_elsewhere", "resp_2")
    assert other.lane != first.lane
    assert not other.forked
    assert kept(lanes, "Go on.", "resp_2").lane == other.lane


def test_a_conversation_is_one_lane_by_its_name_alone() -> None:
    lanes = Lanes()
    placed = [
        kept(lanes, "Go on.", conversation=f"conv_{name}", name=f"conv_{name}")
        for name in "abab"
    ]
    assert placed[0].lane == placed[2].lane != placed[1].lane == placed[3].lane


def test_a_thread_without_its_tools_is_no_call_beside_its_conversation() -> None:
    lanes = Lanes()
    body: dict[str, Any] = {"model": "claude-haiku-4-5", "max_tokens": 9}
    create = {**body, "thread": {"type": "create"}, "system": "Keep the cellar."}
    create["tools"] = [{"name": "look", "input_schema": {}}]
    create["messages"] = [{"role": "user", "content": "Hello."}]
    held = {"type": "continue", "previous_message_id": "msg_1"}
    again = {**body, "thread": held, "messages": [{"role": "user", "content": "And?"}]}
    first = lanes.place(SeenRequest(call="c1", path="/v1/messages", body=create))
    lanes.answered("c1", answer_of("Hello to you."), "msg_1")
    second = lanes.place(SeenRequest(call="c2", path="/v1/messages", body=again))
    assert (second.lane, second.purpose) == (first.lane, "main")
    lanes.answered("c2", answer_of("It is dry."), "msg_2")
    said = [("user", "Hello."), ("assistant", "Hello to you."), ("user", "And?")]
    whole = [{"role": role, "content": text} for role, text in said]
    replay = {
        **create,
        "messages": [*whole, {"role": "assistant", "content": "It is dry."}],
    }
    replay["messages"].append({"role": "user", "content": "Still there?"})
    third = lanes.place(SeenRequest(call="c3", path="/v1/messages", body=replay))
    assert (third.lane, third.is_new) == (first.lane, False)


# -- after a restart --


@pytest.mark.parametrize("wire", WIRES)
def test_a_restored_lane_is_continued(wire: WireName) -> None:
    before = Lanes()
    talk = Talk(before, "gemini-cli", wire)
    placed = [talk.say("Hello."), talk.say("Go on.")]
    lanes = Lanes()
    marks = [each.mark for each in placed]
    lanes.restore(placed[0].session, placed[0].lane, "gemini-cli 0.61.0", marks)
    talk.lanes = lanes
    after = talk.say("And now?")
    assert (after.lane, after.is_new) == (placed[0].lane, False)


def test_a_restored_subagent_is_continued_and_its_number_not_given_again() -> None:
    before = Lanes()
    main = Talk(before, "claude-code", headers=CLAUDE)
    own = main.say("Hello.").mark
    headers = {**CLAUDE, "x-claude-code-agent-id": "a1"}
    child = Talk(before, "claude-code", headers=headers)
    mark = child.say("Look.").mark
    lanes = Lanes()
    lanes.restore("5b1c", "5b1c", "claude-code 2.1.330", [own])
    lanes.restore("5b1c", "5b1c.child-1", "claude-code 2.1.330", [mark])
    child.lanes = lanes
    assert child.say("Go on.").lane == "5b1c.child-1"
    headers = {**CLAUDE, "x-claude-code-agent-id": "a2"}
    other = Talk(lanes, "claude-code", headers=headers)
    assert other.say("Look too.").lane == "5b1c.child-2"


def test_marks_that_cannot_be_read_are_left_out() -> None:
    lanes = Lanes()
    lanes.restore("s", "s", "", ["", "x", "1", "-1.a.b.c.d", "9" * 500, "…"])
    talk = Talk(lanes, headers={"x-ullage-session": "s"})
    assert talk.say("Hello.").lane == "s"


# -- bounds, and bodies of any kind --


def test_the_lane_used_longest_ago_is_forgotten() -> None:
    lanes = Lanes(at_most=3)
    talks = [Talk(lanes, "pi", connection=f"c{number}") for number in range(4)]
    first = [talk.say(f"Question number {place}?") for place, talk in enumerate(talks)]
    assert talks[3].say("Go on.").lane == first[3].lane
    assert talks[0].say("Go on.").is_new


def test_any_body_has_a_place() -> None:
    body_cases: list[dict[str, Any]] = [
        {},
        {"messages": None},
        {"messages": [None, 1, "x", [], {"role": 5}, {"role": "user", "content": 7}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": 3}]}]},
        {"input": "Hello.", "tools": [{"functionDeclarations": "x"}]},
        {"contents": [{"parts": [{"functionCall": {}}, {"text": 5}]}], "system": {}},
        {"metadata": {"user_id": "[" * 900}, "model": 5, "tools": {"a": 1}},
    ]
    for body, wire in product(body_cases, filled(WIRES)):
        with case(wire, body):
            lanes = Lanes()
            for agent in ("claude-cli/2", "codex_x/1", ""):
                headers = {"user-agent": agent, "x-codex-turn-metadata": "[" * 99_999}
                request = SeenRequest(
                    call="c", path=PATHS[wire], headers=headers, body=body
                )
                assert lanes.place(request).session


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "text", "type", "parts", "input"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(items=st.lists(json_values, max_size=4), wire=st.sampled_from(WIRES))
def test_any_json_has_a_place(items: list[Any], wire: WireName) -> None:
    body = {"messages": items, "input": items, "contents": items, "tools": items}
    request = SeenRequest(call="c", path=PATHS[wire], body=body)
    assert Lanes().place(request).lane


# -- many conversations at once --


def turn(talk: Talk, number: int) -> Placed:
    """One more request of a conversation: a call of a tool, its result, or a plain turn."""
    step = len(talk.history)
    if talk.history and talk.history[-1].kind == "call":
        return talk.returned(f"The result of step {step}.")
    if step % 4 == 2:
        return talk.call(f"Step {step} of conversation {number}.", f"task {step}")
    return talk.say(f"Step {step} of conversation {number}.")


def many(lanes: Lanes, marked: bool) -> list[Talk]:
    talks = []
    for number, wire in enumerate(WIRES * 2):
        headers = {"x-ullage-session": f"session-{number}"} if marked else {}
        clients = ("pi", "gemini-cli", "qwen-code", "openai")
        client = clients[number % 4]
        talks.append(Talk(lanes, client, wire, headers, connection=f"c{number}"))
    return talks


@given(
    order=st.lists(st.integers(min_value=0, max_value=7), max_size=60),
    marked=st.booleans(),
)
def test_conversations_in_any_order_have_the_lanes_that_each_has_alone(
    order: list[int], marked: bool
) -> None:
    lanes = Lanes()
    talks = many(lanes, marked)
    told: dict[int, set[str]] = {}
    for number in order:
        placed = turn(talks[number], number)
        told.setdefault(number, set()).add(placed.lane)
    found = [lane for lanes_of_one in told.values() for lane in lanes_of_one]
    assert len(found) == len(told), "one lane each"
    assert len(set(found)) == len(found), "and no two have the same"


def test_a_restored_lane_goes_on_after_a_compaction() -> None:
    talk = Talk(Lanes(), "claude-code", headers=CLAUDE)
    mark = talk.say("List the files.").mark
    lanes = Lanes()
    lanes.restore("5b1c", "5b1c", "claude-code 2.1.330", [mark])
    talk.lanes = lanes
    compacted(talk)
    assert not talk.say("Go on.").is_new
