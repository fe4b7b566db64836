from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from tests.cases import case
from tests.meter.session import answer, result, said
from tests.reasoning_in_full import last_turn, select
from ullage.messages import (
    Message,
    Part,
    ProviderData,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.reasoning import (
    NO_EVIDENCE,
    Maker,
    ReasoningPolicy,
    SentBack,
    SentReasoning,
    Strip,
    bare_model,
    begins_turn,
    family_of,
    is_counted,
    is_foreign,
    is_native,
    need_for,
    of_other_form,
    reasoning_rules,
    rule_for,
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
def test_the_policys_truth_table(
    included: bool, strip: Strip, sent: frozenset[str]
) -> None:
    chosen = select(TURN, ReasoningPolicy(include_in_context=included, strip=strip))
    assert chosen.sent == sent
    assert chosen.counted == sent
    assert chosen.forced == ids()


def test_all_but_last_keeps_the_last_message_that_has_any() -> None:
    silent = (*TURN, said("u3", "thanks"), answer("a4", "welcome"))
    assert select(silent, ReasoningPolicy(strip="all_but_last")).sent == ids("a3")


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
def test_inside_a_tool_loop_the_wires_need_wins_and_the_result_says_so(
    wire: str, model: str
) -> None:
    chosen = select(
        LOOP, ReasoningPolicy(include_in_context=False), wire=wire, model=model
    )
    assert chosen.sent == chosen.forced == ids("a2")
    assert chosen.counted == ids("a2")
    assert need_for(wire, model) is not None


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
    assert (
        select(
            messages,
            ReasoningPolicy(),
            wire="messages",
            provider="anthropic",
            model=model,
        ).counted
        == counted
    )


def test_a_call_follows_the_rule_that_was_measured() -> None:
    cases: list[tuple[str, str, str, bool, bool, bool]] = [
        ("messages", "anthropic", "claude-opus-4-5-20251101", False, True, True),
        ("messages", "anthropic", "claude-sonnet-4-6", False, True, True),
        ("messages", "anthropic", "claude-sonnet-4-5", False, True, False),
        (
            "converse",
            "bedrock",
            "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
            False,
            True,
            False,
        ),
        ("responses", "openai", "gpt-5-nano", False, True, False),
        ("responses", "openai", "gpt-5.3-codex", False, True, False),
        ("responses", "openai", "gpt-5.6-sol", False, True, True),
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
        ("responses", "xai", "grok-3-mini", False, True, True),
        ("responses", "xai", "grok-4-0709", False, True, True),
        ("chat", "xai", "grok-3-mini", False, False, False),
        ("generateContent", "google", "gemini-3.5-flash", False, True, True),
        ("chat", "deepseek", "deepseek-v4-flash", False, True, False),
        ("chat", "doubleword", "Qwen/Qwen3.5-397B-A17B-FP8", False, True, False),
        ("messages", "anthropic", "claude-sonnet-5", False, True, True),
        ("chat", "openrouter", "x-ai/grok-4.1-fast", False, False, False),
        ("chat", "openrouter", "moonshotai/kimi-k2.5", False, False, False),
        ("chat", "avian", "moonshotai/kimi-k2.5", True, True, False),
        ("chat", "zai", "glm-4.7", False, True, True),
        ("chat", "gpustack", "qwen3", False, False, False),
        ("chat", "ollama", "qwen3", False, True, False),
        ("chat", "opencode-go", "deepseek-v4-flash", False, True, True),
        ("chat", "opencode-go", "glm-5.2", False, True, False),
        ("responses", "openai", "gpt-5.6-luna", False, True, True),
        ("chat", "nobody", "unheard-of", False, True, True),
    ]
    for wire, provider, model, stream, loop, turns in cases:
        with case(wire, provider, model, stream, loop, turns):
            rule = rule_for(wire, provider, model, stream=stream)
            assert (rule.loop, rule.turns) == (loop, turns)


@pytest.mark.parametrize(
    ("sent_back", "asked", "counted"),
    [
        ("yes", Maker("responses", "openai", "gpt-5"), True),
        ("server", Maker("responses", "openai", "gpt-5"), True),
        ("unknown", Maker("responses", "openai", "gpt-5"), True),
        ("no", Maker("responses", "openai", "gpt-5"), False),
        ("no", Maker("chat", "xai", "grok-4-fast"), True),
        ("no", Maker("responses", "xai", "grok-4.3"), False),
    ],
)
def test_what_is_not_sent_back_is_not_counted_but_for_xai_s_chat(
    sent_back: SentBack, asked: Maker, counted: bool
) -> None:
    rule = rule_for(*asked)
    assert is_counted(rule, begins_turn=False, sent_back=sent_back) is counted


def test_a_user_message_beside_results_begins_no_turn_for_claude_and_gpt() -> None:
    claude = rule_for("messages", "anthropic", "claude-sonnet-4-5")
    for rule in (claude, rule_for("responses", "openai", "gpt-5")):
        assert not begins_turn(rule, user_turn=True, tool_turn=True)
        assert begins_turn(rule, user_turn=True, tool_turn=False)
    gemini = rule_for("generateContent", "google", "gemini-2.5-flash")
    assert begins_turn(gemini, user_turn=True, tool_turn=True)


def test_every_rule_but_the_last_says_from_how_many_pairs_it_was_read() -> None:
    rules = reasoning_rules()
    for rule in rules[:-1]:
        both = (rule.loop_pairs, rule.turns_pairs)
        assert sum(pairs.n for pairs in both) > 0, rule.name
        assert all(2 * pairs.against <= pairs.n for pairs in both), rule.name
        assert rule.seen, rule.name
    assert (rules[-1].loop_pairs, rules[-1].turns_pairs) == (NO_EVIDENCE, NO_EVIDENCE)
    names = [rule.name for rule in rules]
    assert len(names) == len(set(names))


def test_reasoning_in_another_form_than_the_provider_needs_has_a_guess_of_its_own() -> (
    None
):
    rule = rule_for("responses", "xai", "grok-4.3")
    other = of_other_form(rule)
    assert (rule.needs, rule.loop, rule.turns) == ("encrypted", True, True)
    assert (other.loop, other.turns, other.loop_pairs) == (False, False, NO_EVIDENCE)
    assert other.name != rule.name


def made_by(message: Message, wire: str, provider: str, model: str) -> Message:
    """The message with reasoning that this model made."""
    data = ProviderData(
        data=msgspec.Raw(b"{}"), wire=wire, provider=provider, model=model
    )
    parts = tuple(
        replace(part, provider=data) if isinstance(part, ReasoningPart) else part
        for part in message.parts
    )
    return replace(message, parts=parts)


CLAUDE = ("messages", "anthropic", "claude-opus-4-5")
GPT = ("responses", "openai", "gpt-5")


@pytest.mark.parametrize("strip", ["none", "all", "all_but_last"])
def test_reasoning_of_another_model_is_neither_sent_nor_counted_nor_forced(
    strip: Strip,
) -> None:
    policy = ReasoningPolicy(strip=strip)
    foreign = tuple(made_by(message, *GPT) for message in LOOP)
    chosen = select(
        foreign, policy, wire="messages", provider="anthropic", model="claude-opus-4-5"
    )
    assert (chosen.sent, chosen.counted, chosen.forced) == (ids(), ids(), ids())


@pytest.mark.parametrize("unbound", [frozenset[str](), frozenset({"a3"})])
def test_reasoning_that_claude_drops_by_itself_stays_in_front_of_later_reasoning(
    unbound: frozenset[str],
) -> None:
    older = ("messages", "anthropic", "claude-mythos-5-2")
    asked = Maker("messages", "anthropic", "claude-fable-5-1")
    mixed = (made_by(TURN[1], *older), *(made_by(each, *asked) for each in TURN[2:]))
    sent = SentReasoning(ReasoningPolicy(unbound=unbound), asked)
    sent.add(mixed)
    assert sent.ids is None or sent.ids == ids("a1", "a2")
    assert select(
        mixed, ReasoningPolicy(), wire=asked.wire, provider="anthropic", model=asked.model
    ).counted == ids("a2", "a3")


def test_the_last_reasoning_is_the_last_that_can_be_read() -> None:
    mixed = (*(made_by(message, *CLAUDE) for message in TURN[:5]), made_by(TURN[5], *GPT))
    policy = ReasoningPolicy(strip="all_but_last")
    assert select(
        mixed, policy, wire="messages", provider="anthropic", model="claude-opus-4-5"
    ).sent == ids("a2")
    assert select(
        mixed, policy, wire="responses", provider="openai", model="gpt-5"
    ).sent == ids("a3")


@pytest.mark.parametrize(
    ("maker", "asked", "foreign"),
    [
        (CLAUDE, ("messages", "bedrock", "us.anthropic.claude-sonnet-4-5"), False),
        (CLAUDE, ("messages", "minimax", "minimax-m2"), True),
        (CLAUDE, ("chat", "openrouter", "anthropic/claude-opus-4.5"), True),
        (CLAUDE, ("messages", "", ""), False),
        (GPT, ("responses", "openai", "gpt-5-2025-08-07"), False),
        (GPT, ("responses", "openai", "gpt-5-mini"), True),
        (GPT, ("responses", "azure", "gpt-5"), True),
        (("chat", "vllm", "qwen3-8b"), ("chat", "vllm", "qwen3-32b"), False),
        (("chat", "vllm", "qwen3-8b"), ("chat", "vllm", "glm-4.7"), True),
        (
            ("generateContent", "google", "gemini-3-pro"),
            ("generateContent", "google", "gemini-3-flash"),
            True,
        ),
    ],
)
def test_who_can_read_whose_reasoning(
    maker: tuple[str, str, str], asked: tuple[str, str, str], foreign: bool
) -> None:
    assert is_foreign(Maker(*maker), Maker(*asked)) is foreign
    assert is_native(Maker(*maker), Maker(*asked)) is not foreign


@pytest.mark.parametrize(
    ("made_by", "asked", "is_dropped"),
    [
        ("claude-opus-5-5", "claude-sonnet-5", True),
        ("claude-fable-5-1", "claude-opus-5-5", True),
        ("claude-sonnet-5-5", "claude-haiku-5-5", True),
        ("claude-haiku-5-5", "anthropic/claude-haiku-5-5", False),
        ("claude-opus-5-5", "claude-fable-5-1", False),
        ("claude-opus-5", "claude-opus-5-5", False),
        ("claude-opus-4-6", "claude-sonnet-5-5", False),
    ],
)
def test_bound_thinking_is_sent_to_another_claude_which_does_not_count_it(
    made_by: str, asked: str, is_dropped: bool
) -> None:
    maker = Maker("messages", "anthropic", made_by)
    reader = Maker("messages", "anthropic", asked)
    assert is_foreign(maker, reader) is is_dropped
    assert is_native(maker, reader), "it is sent: the API drops it by itself"


def test_reasoning_of_an_unknown_maker_is_not_foreign_and_yet_not_native() -> None:
    assert not is_foreign(None, Maker(*CLAUDE))
    assert not is_native(None, Maker(*CLAUDE))
    assert not is_foreign(Maker(*GPT), Maker("", "", "")), (
        "where it is not known who is asked"
    )


def test_a_users_word_in_an_open_loop_ends_no_turn_of_claude_and_gpt() -> None:
    steered = (*LOOP, said("u3", "and be quick"))
    assert last_turn(steered) == (5, False)
    assert last_turn(steered, beside=False) == (2, True)
    policy = ReasoningPolicy(include_in_context=False)
    assert select(
        steered, policy, wire="messages", model="claude-sonnet-4-5"
    ).forced == ids("a2")
    assert select(steered, policy, wire="responses", model="gpt-5").forced == ids("a2")


def test_what_xai_counts_does_not_depend_on_what_is_sent() -> None:
    policy = ReasoningPolicy(include_in_context=False)
    chosen = select(LOOP, policy, wire="chat", provider="xai", model="grok-4-fast")
    assert chosen.sent == ids()
    assert chosen.counted == ids("a1", "a2")


def test_families_are_told_from_names() -> None:
    names = (
        "anthropic/claude-opus-4.5",
        "gpt-5.2",
        "o3-mini",
        "devstral-small",
        "moonshot-v1",
        "my-own-model",
    )
    expected = ["claude", "gpt", "gpt", "mistral", "kimi", "my-own-model"]
    assert [family_of(name) for name in names] == expected


@pytest.mark.parametrize(
    "name", ["gpt-5.2", "openai/gpt-5.2", "gpt-5.2-2025-12-11", "GPT-5.2-latest"]
)
def test_a_model_is_the_same_whatever_its_host_and_date(name: str) -> None:
    assert bare_model(name) == "gpt-5.2"


POLICIES = (
    ReasoningPolicy(strip="all"),
    ReasoningPolicy(strip="all_but_last"),
    ReasoningPolicy(include_in_context=False),
)
NEEDED = Maker("messages", "anthropic", "claude-opus-4-5")
FREE = Maker("chat", "zai", "glm-5")


def random_history(seed: int, asked: Maker) -> list[Message]:
    """Turns and loops, each message with or without reasoning and calls; some of the reasoning is of another model."""
    random = Random(seed)
    other = ("messages", "minimax", "minimax-m2")
    made: list[Message] = []
    for at in range(random.randrange(1, 14)):
        role = random.choice(("user", "assistant", "assistant", "tool", "tool"))
        parts: list[Part] = []
        if role == "assistant":
            thoughts = range(random.choice((0, 1, 1, 2)))
            parts += [
                ReasoningPart(id=f"th{at}.{number}", text="hm") for number in thoughts
            ]
            calls = random.random() < 0.7
            parts.append(
                ToolCallPart(id=f"c{at}", call_id="x", name="f")
                if calls
                else TextPart(id=f"t{at}", text="a")
            )
        elif role == "tool" or random.random() < 0.2:
            parts.append(ToolResultPart(id=f"r{at}", call_id="x"))
        else:
            parts.append(TextPart(id=f"t{at}", text="hello"))
        message = Message(id=f"m{at}", role=role, parts=tuple(parts))  # type: ignore[arg-type]
        made.append(made_by(message, *random.choice((tuple(asked), tuple(asked), other))))
    return made


@pytest.mark.parametrize("asked", [NEEDED, FREE, Maker(*GPT)])
@pytest.mark.parametrize("policy", POLICIES)
def test_pieces_give_the_choice_of_the_whole_or_say_that_it_changed(
    policy: ReasoningPolicy, asked: Maker
) -> None:
    grew = 0
    for seed in range(400):
        messages, random = random_history(seed, asked), Random(seed)
        growing = SentReasoning(policy, asked)
        at, chosen = 0, frozenset[str]()
        while at < len(messages):
            end = min(at + random.choice((1, 2, 3)), len(messages))
            whole = select(
                messages[:end],
                policy,
                wire=asked.wire,
                provider=asked.provider,
                model=asked.model,
            ).sent
            if not growing.add(messages[at:end]):
                growing, chosen = SentReasoning(policy, asked), frozenset()
                assert growing.add(messages[:end])
            elif at:
                grew += 1
            assert growing.ids is not None
            chosen |= growing.ids
            assert chosen == whole, f"seed {seed}, {at} to {end}"
            at = end
    assert grew > 200


def test_an_id_that_is_used_twice_tells_nothing_apart() -> None:
    thought = Message(
        id="a", role="assistant", parts=(ReasoningPart(id="th", text="hm"),)
    )
    growing = SentReasoning(POLICIES[0], FREE)
    assert growing.add([thought, thought])
    assert not growing.add([thought])


def test_of_a_simulated_model_a_rule_is_a_guess_whatever_its_name() -> None:
    named = rule_for("messages", "anthropic", "claude-sonnet-4-5")
    simulated = rule_for("messages", "anthropic", "claude-simulated")
    guess = replace(named, loop_pairs=NO_EVIDENCE, turns_pairs=NO_EVIDENCE)
    assert simulated == guess
    assert named != guess
