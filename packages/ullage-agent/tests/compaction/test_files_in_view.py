"""After a summary the model has the file it works on in view, as its own calls have left it."""

from __future__ import annotations

from pathlib import Path

from tests.promises.stage import CLAUDE, agent_for, generated, of_kind, script
from ullage.events import CompactionCommitted
from ullage_simulators import running

ANSWERS = (
    {"times": 1, "calls": [{"name": "read", "arguments": {"path": "pump.py"}}]},
    {
        "times": 1,
        "calls": [
            {
                "name": "edit",
                "arguments": {"path": "pump.py", "old": "SPEED = 3", "new": "SPEED = 5"},
            }
        ],
    },
    {"when": {"contains": "needed to go on"}, "text": "## Goal\nThe speed is set."},
    {"text": "Noted. " + "The gauge reads full. " * 120},
)


async def sent_after_a_summary(
    tmp_path: Path, reattach_tokens: int, window: int = 32_000
) -> tuple[str, CompactionCommitted]:
    """The body of the call behind the summary, and the compaction."""
    root = tmp_path / f"work{reattach_tokens}"
    root.mkdir()
    valves = "".join(f"def valve_{n}(): return {n}\n" for n in range(30))
    (root / "pump.py").write_text(f"SPEED = 3\n{valves}")
    with running(script(*ANSWERS)) as server:
        agent = agent_for(
            tmp_path / f"s{reattach_tokens}.db",
            server=server,
            tools=["read", "edit"],
            root=root,
            window=window,
            reattach_tokens=reattach_tokens,
            **CLAUDE.settings(),
        )
        async with agent.session("one") as session:
            await session.ask("Set the pump's speed to 5.")
            for number in range(20):
                await session.ask(f"Fact {number}: the cask is oak.")
            whole = await session.messages()
            await session.compact()
            await session.wait()
            await session.ask("What is the speed?")
            (event,) = of_kind(await session.history(), CompactionCommitted)
            body = str(generated(server)[-1].body["messages"])
            await session.uncompact(event.compaction)
            assert (await session.messages())[: len(whole)] == whole
    return body, event


async def test_the_file_last_edited_is_in_the_next_request(tmp_path: Path) -> None:
    without, plain = await sent_after_a_summary(tmp_path, 0)
    assert "def valve_0()" not in without and "valve_29" not in without
    with_it, event = await sent_after_a_summary(tmp_path, 5_000)
    assert 'File "pump.py" from line 1' in with_it
    assert "SPEED = 5\\ndef valve_0()" in with_it and "valve_29" in with_it
    assert event.rung == plain.rung == "summary"
    assert plain.after is not None and event.after is not None
    assert plain.after < event.after < plain.after + 1_000
