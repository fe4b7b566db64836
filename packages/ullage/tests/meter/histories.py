"""Random sessions: any order of messages, calls, edits, prunes, compactions, switches, with honest and odd usages."""

from hypothesis import strategies as st

from tests.meter.session import answer, result, said, tool, usage
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    DroppedMessage,
    Event,
    LimitLearnt,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    Outcome,
    PolicyChanged,
    Pruned,
    Rewound,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
    Uncompacted,
)
from ullage.messages import ImagePart, Message, SystemBlock

MODELS = (
    ("claude-opus-4-5", "messages", "anthropic"),
    ("claude-haiku-4-5", "messages", "anthropic"),
    ("gpt-5", "responses", "openai"),
    ("gpt-4o", "chat", "openai"),
    ("gemini-3-flash-preview", "generateContent", "google"),
    ("nobody-knows-this", "chat", "vllm"),
)

words = st.integers(0, 400).map(lambda count: "word " * count) | st.text(max_size=60)
counts = st.none() | st.integers(-5, 300_000)


@st.composite
def histories(draw: st.DrawFn, *, longest: int = 25) -> list[Event]:
    """Events of one session, numbered from 1."""
    model, wire, provider = draw(st.sampled_from(MODELS))
    events: list[Event] = [SessionStarted(model=model, wire=wire, provider=provider)]
    ids: list[str] = []
    results: list[str] = []
    compactions: list[str] = []
    for number in range(draw(st.integers(0, longest))):
        name = f"m{number}"
        match draw(st.sampled_from(KINDS)):
            case "user":
                events.append(MessageAdded(message=said(name, draw(words))))
                ids.append(name)
            case "image":
                width = draw(st.none() | st.integers(1, 5000))
                image = ImagePart(id=f"{name}.i", width=width, height=300)
                events.append(
                    MessageAdded(message=Message(id=name, role="user", parts=(image,)))
                )
                ids.append(name)
            case "call":
                events += _call(draw, name, ids, results)
            case "replace" if ids:
                events.append(
                    MessageReplaced(message=said(draw(st.sampled_from(ids)), draw(words)))
                )
            case "prune" if results:
                parts = tuple(draw(st.sets(st.sampled_from(results), max_size=3)))
                events.append(Pruned(parts=parts))
            case "compact" if ids:
                chosen = sorted(draw(st.sets(st.sampled_from(ids))))
                cut = draw(st.integers(0, len(chosen)))
                compactions.append(name)
                events.append(
                    CompactionCommitted(
                        compaction=name,
                        summary=said(f"{name}.s", draw(words))
                        if draw(st.booleans())
                        else None,
                        summarised=tuple(chosen[:cut]),
                        dropped=tuple(
                            DroppedMessage(id=each, reason="old") for each in chosen[cut:]
                        ),
                        summary_tokens=draw(st.none() | st.integers(0, 5000)),
                        behind=draw(st.just("") | st.sampled_from(ids)),
                    )
                )
            case "uncompact" if compactions:
                events.append(Uncompacted(compaction=draw(st.sampled_from(compactions))))
            case "rewind" if ids:
                events.append(Rewound(to=draw(st.sampled_from(ids) | st.just(""))))
            case "model":
                model, wire, provider = draw(st.sampled_from(MODELS))
                events.append(ModelChanged(model=model, wire=wire, provider=provider))
            case "system":
                events.append(SystemChanged(system=(SystemBlock(text=draw(words)),)))
            case "tools":
                tools = tuple(
                    tool(f"tool{n}", draw(words)) for n in range(draw(st.integers(0, 4)))
                )
                events.append(ToolsChanged(tools=tools))
            case "policy":
                events.append(
                    PolicyChanged(
                        include_in_context=draw(st.booleans()),
                        strip=draw(st.sampled_from(("none", "all", "all_but_last"))),
                    )
                )
            case "limit":
                window = draw(st.integers(1, 200_000))
                events.append(LimitLearnt(model=model, source="user", window=window))
            case _:
                pass
    return [_numbered(event, seq) for seq, event in enumerate(events, 1)]


OUTCOMES: tuple[Outcome, ...] = (
    "finished",
    "finished",
    "finished",
    "failed",
    "cancelled",
    "dropped",
)

KINDS = (
    *(
        "user",
        "user",
        "call",
        "call",
        "call",
        "call",
        "image",
        "replace",
        "prune",
        "compact",
        "uncompact",
    ),
    *("rewind", "model", "system", "tools", "policy", "limit"),
)


def _call(draw: st.DrawFn, name: str, ids: list[str], results: list[str]) -> list[Event]:
    reported = draw(st.none() | st.builds(usage, counts, counts, reasoning=counts))
    outcome: Outcome = draw(st.sampled_from(OUTCOMES))
    calls = draw(st.integers(0, 3))
    reasoning = draw(st.just("") | words)
    made = answer(name, draw(words), reasoning=reasoning, calls=calls, call=f"c-{name}")
    events: list[Event] = [CallStarted(call=f"c-{name}")] if draw(st.booleans()) else []
    ended = CallEnded(call=f"c-{name}", outcome=outcome, usage=reported)
    added = MessageAdded(message=made)
    events += [ended, added] if draw(st.booleans()) else [added, ended]
    ids.append(name)
    for number in range(draw(st.integers(0, calls))):
        given = result(f"{name}.r{number}", f"{name}-{number}", draw(words))
        events.append(MessageAdded(message=given))
        ids.append(f"{name}.r{number}")
        results.append(f"{name}.r{number}.result")
    return events


def _numbered(event: Event, seq: int) -> Event:
    return type(event)(
        **{field: getattr(event, field) for field in event.__struct_fields__}
        | {"seq": seq}
    )
