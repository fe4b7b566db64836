import asyncio
from pathlib import Path

from tests.promises.stage import of_kind
from tests.sweeps.lives import agent_of, tools_of
from tests.sweeps.mortal import Switch
from tests.sweeps.orders import Order
from tests.sweeps.wires import WIRES, messages, script
from ullage.events import DraftPiece, TurnEnded
from ullage.store.sqlite.store import SqliteStore
from ullage_simulators import running

LONGEST_S = 60.0


async def test_following_until_the_session_rests_ends_however_late_one_begins_and_however_slow_one_is(
    tmp_path: Path,
) -> None:
    with running(script()) as server:
        order = Order(
            life="",
            name="one",
            directory=str(tmp_path),
            url=server.url("anthropic"),
            model=WIRES[0].model,
            said=messages("one", ("", "", "")),
        )
        store = SqliteStore(order.database)
        agent = agent_of(order, store, tools_of(tmp_path, Switch(order)))
        async with asyncio.timeout(LONGEST_S), agent.session("s") as session:
            for said in order.said:
                await session.send(said.text, kind=said.kind, id=said.id)
            seqs = []
            async for event in session.events(after=0, until_rest=True):
                if not isinstance(event, DraftPiece):
                    seqs.append(event.seq)
                if isinstance(event, TurnEnded):
                    await session.wait(
                        check=False
                    )  # looks away until even the last turn has ended
            assert seqs == [event.seq for event in await session.history()]
            assert [event async for event in session.events(until_rest=True)] == [], (
                "it rests already"
            )
            again = [event async for event in session.events(after=0, until_rest=True)]
            assert [
                event.seq for event in again if not isinstance(event, DraftPiece)
            ] == seqs
        async with asyncio.timeout(LONGEST_S), agent.session("never used") as session:
            begun = [event async for event in session.events(after=0, until_rest=True)]
            assert not of_kind(begun, TurnEnded)
        await store.close()
