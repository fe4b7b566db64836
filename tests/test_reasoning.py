import pytest

from tests.meter.session import answer, result, said
from ullage.messages import Message
from ullage.reasoning import (
    RULES,
    ReasoningPolicy,
    SentBack,
    Strip,
    begins_turn,
    is_counted,
    need_for,
    rule_for,
    select,
    turn_start,
)

TURN = (
    said("u1", "hello"),
    answer("a1", "hi", reasoning="a greeting"),
    said("u2", "do it"),
    answer("a2", reasoning="two steps", calls=1),
    result("t2", "a2-0", "done"),
    answer("a3", "finished", reasoning="that was all"),
)
"""Two turns at rest; every answer has reasoning."""

LOOP = TURN[:5]
"""The same inside the second turn's tool loop."""


def ids(*names: str) -> frozenset[str]:
    return frozenset(f"{name}.reasoning" for name in names)


@pytest.mark.parametrize(
    ("included", "strip", "sent"),
    [
        (False, "none", ids()),
        (False, "all", ids()),
        (False, "all_but_last", ids()),
        (True, "none", ids("a1", "a2", "a3")),
        (True, "all", ids()),
        (True, "all_but_last", ids("a3")),
    ],
)
def test_the_policys_truth_table(included: bool, strip: Strip, sent: frozenset[str]) -> None:
    chosen = select(TURN, ReasoningPolicy(include_in_context=included, strip=strip))
    assert chosen.sent == sent
    assert chosen.counted == sent
    assert chosen.forced == ids()


def test_by_default_everything_is_sent() -> None:
    assert select(TURN, ReasoningPolicy()).sent == ids("a1", "a2", "a3")


def test_all_but_last_keeps_the_last_message_that_has_any() -> None:
    silent = (*TURN, said("u3", "thanks"), answer("a4", "welcome"))
    assert select(silent, ReasoningPolicy(strip="all_but_last")).sent == ids("a3")


def test_without_messages_nothing_is_sent() -> None:
    assert select((), ReasoningPolicy()).sent == ids()


@pytest.mark.parametrize(
    ("wire", "model"),
    [
        ("messages", "claude-sonnet-4-5"),
        ("converse", "us.anthropic.claude-sonnet-4-5"),
        ("responses", "gpt-5"),
        ("generateContent", "gemini-3-flash-preview"),
        ("chat", "deepseek-reasoner"),
    ],
)
def test_inside_a_tool_loop_the_wires_need_wins_and_the_result_says_so(wire: str, model: str) -> None:
    chosen = select(LOOP, ReasoningPolicy(include_in_context=False), wire=wire, model=model)
    assert chosen.sent == chosen.forced == ids("a2")
    assert chosen.counted == ids("a2")
    assert need_for(wire, model) is not None


@pytest.mark.parametrize(
    ("wire", "model"), [("chat", "gpt-5"), ("chat", "qwen3"), ("generateContent", "gemini-2.5-pro")]
)
def test_a_wire_without_such_a_need_forces_nothing(wire: str, model: str) -> None:
    assert select(LOOP, ReasoningPolicy(include_in_context=False), wire=wire, model=model).sent == ids()


def test_once_the_loop_is_over_the_policy_holds_again() -> None:
    policy = ReasoningPolicy(strip="all")
    assert select(TURN, policy, wire="messages", model="claude-sonnet-4-5").sent == ids()


def test_what_the_policy_sends_anyway_is_not_called_forced() -> None:
    assert select(LOOP, ReasoningPolicy(), wire="messages", model="claude-sonnet-4-5").forced == ids()


@pytest.mark.parametrize(
    ("messages", "model", "counted"),
    [
        (LOOP, "claude-sonnet-4-5", ids("a2")),
        (TURN, "claude-sonnet-4-5", ids()),
        (LOOP, "claude-opus-4-5", ids("a1", "a2")),
        (TURN, "claude-opus-4-5", ids("a1", "a2", "a3")),
    ],
)
def test_of_what_is_sent_the_provider_counts_what_its_rule_says(
    messages: tuple[Message, ...], model: str, counted: frozenset[str]
) -> None:
    assert select(messages, ReasoningPolicy(), wire="messages", provider="anthropic", model=model).counted == counted


def test_what_is_counted_was_sent() -> None:
    for strip in ("none", "all", "all_but_last"):
        for messages in (LOOP, TURN, TURN[:3]):
            chosen = select(messages, ReasoningPolicy(strip=strip), wire="responses", provider="openai", model="gpt-5")
            assert chosen.counted <= chosen.sent


def test_a_turn_starts_at_the_last_word_of_the_user() -> None:
    assert turn_start(TURN) == 2
    assert turn_start(TURN[3:]) == 0
    assert turn_start(()) == 0


def test_tool_results_under_the_users_role_begin_no_turn() -> None:
    as_user = Message(id="t", role="user", parts=result("t", "c", "x").parts)
    assert turn_start((*TURN[:4], as_user)) == 2


@pytest.mark.parametrize(
    ("wire", "provider", "model", "stream", "loop", "turns"),
    [
        ("messages", "anthropic", "claude-opus-4-5-20251101", False, True, True),
        ("messages", "anthropic", "claude-sonnet-4-6", False, True, True),
        ("messages", "anthropic", "claude-sonnet-4-5", False, True, False),
        ("converse", "bedrock", "us.anthropic.claude-3-7-sonnet-20250219-v1:0", False, True, False),
        ("responses", "openai", "gpt-5-nano", False, True, False),
        ("responses", "openai", "gpt-5.3-codex", False, True, False),
        ("chat", "openai", "o4-mini", False, False, False),
        ("chat", "azure", "gpt-5-mini", True, False, False),
        ("chat", "vercel-gateway", "openai/gpt-5", False, True, False),
        ("chat", "vercel-gateway", "openai/gpt-5", True, False, False),
        ("generateContent", "google", "gemini-3-flash-preview", False, True, False),
        ("generateContent", "vertex", "gemini-3-flash-preview", False, False, False),
        ("generateContent", "vertex", "gemini-3.1-pro-preview", False, True, False),
        ("generateContent", "google", "gemini-2.5-flash", False, False, False),
        ("generateContent", "google", "gemini-2.5-flash", True, True, False),
        ("generateContent", "vertex", "gemini-2.5-flash", True, True, False),
        ("responses", "xai", "grok-4.3", False, True, True),
        ("chat", "xai", "grok-3-mini", False, False, False),
        ("chat", "openrouter", "x-ai/grok-4.1-fast", False, False, False),
        ("chat", "openrouter", "moonshotai/kimi-k2.5", False, False, False),
        ("chat", "avian", "moonshotai/kimi-k2.5", True, True, False),
        ("chat", "zai", "glm-4.7", False, True, True),
        ("chat", "gpustack", "qwen3", False, False, False),
        ("chat", "ollama", "qwen3", False, True, False),
        ("chat", "nobody", "unheard-of", False, True, False),
    ],
)
def test_a_call_follows_the_rule_that_was_measured(
    wire: str, provider: str, model: str, stream: bool, loop: bool, turns: bool
) -> None:
    rule = rule_for(wire, provider, model, stream=stream)
    assert (rule.loop, rule.turns) == (loop, turns)


@pytest.mark.parametrize(
    ("sent_back", "model", "provider", "counted"),
    [
        ("yes", "gpt-5", "openai", True),
        ("server", "gpt-5", "openai", True),
        ("unknown", "gpt-5", "openai", True),
        ("no", "gpt-5", "openai", False),
        ("no", "grok-4-fast", "xai", True),
    ],
)
def test_what_is_not_sent_back_is_not_counted_but_for_xai(
    sent_back: SentBack, model: str, provider: str, counted: bool
) -> None:
    rule = rule_for("responses", provider, model)
    assert is_counted(rule, user_turn=False, tool_turn=True, sent_back=sent_back) is counted


def test_a_user_message_beside_tool_results_begins_a_turn_for_gpt_but_not_for_claude() -> None:
    gpt, claude = rule_for("responses", "openai", "gpt-5"), rule_for("messages", "anthropic", "claude-sonnet-4-5")
    assert begins_turn(gpt, user_turn=True, tool_turn=True)
    assert not begins_turn(claude, user_turn=True, tool_turn=True)
    assert begins_turn(claude, user_turn=True, tool_turn=False)


def test_every_rule_but_the_last_says_from_how_much_it_was_read() -> None:
    assert all(rule.n > 0 and rule.seen for rule in RULES[:-1])
    assert RULES[-1].n == 0
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
