"""A queue before a scarce thing: those under way first, nobody for ever, and no place lost."""

import asyncio

import pytest

from memoria.turns import RefusedError, Turns

pytestmark = pytest.mark.anyio

FOREVER = 60.0


async def settle() -> None:
    """Let every task go on as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def order() -> list[str]:
    return []


async def take(turns: Turns, name: str, order: list[str], *, urgent: bool, wait_seconds: float = FOREVER) -> None:
    """Take a turn and say so."""
    async with turns.turn(urgent=urgent, wait_seconds=wait_seconds):
        order.append(name)
        await asyncio.sleep(0)


async def test_those_under_way_go_before_newcomers_and_each_kind_in_order(order: list[str]) -> None:
    turns = Turns(1, FOREVER)
    async with turns.turn(urgent=True, wait_seconds=FOREVER):
        names = ("new 1", "under way 1", "new 2", "under way 2")
        tasks = [asyncio.create_task(take(turns, name, order, urgent=name.startswith("under"))) for name in names]
        await settle()
        assert order == []
    await asyncio.gather(*tasks)
    assert order == ["under way 1", "under way 2", "new 1", "new 2"]


async def test_so_many_at_a_time_and_no_more() -> None:
    turns, inside, most = Turns(3, FOREVER), 0, 0

    async def visit() -> None:
        nonlocal inside, most
        async with turns.turn(urgent=False, wait_seconds=FOREVER):
            inside += 1
            most = max(most, inside)
            await settle()
            inside -= 1

    await asyncio.gather(*(visit() for _ in range(20)))
    assert most == 3


async def test_giving_up_loses_no_place(order: list[str]) -> None:
    turns = Turns(1, FOREVER)
    async with turns.turn(urgent=True, wait_seconds=FOREVER):
        with pytest.raises(TimeoutError):
            await take(turns, "late", order, urgent=False, wait_seconds=0.001)
        cancelled = asyncio.create_task(take(turns, "cancelled", order, urgent=True))
        handed = asyncio.create_task(take(turns, "handed over and cancelled", order, urgent=False))
        await settle()
        cancelled.cancel()
        await settle()
    # The place has been handed over by now, and is given back by somebody who does not want it any more.
    handed.cancel()
    await settle()
    assert handed.cancelled()
    await take(turns, "next", order, urgent=False, wait_seconds=0.1)
    assert order == ["next"]


async def test_the_waiting_are_refused_and_the_next_is_served(order: list[str]) -> None:
    turns = Turns(1, FOREVER)
    async with turns.turn(urgent=True, wait_seconds=FOREVER):
        waiting = [asyncio.create_task(take(turns, "waits", order, urgent=urgent)) for urgent in (True, False)]
        await settle()
        turns.refuse_waiting()
        refused = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(error) for error in refused] == [RefusedError, RefusedError]
    await take(turns, "next", order, urgent=False, wait_seconds=0.1)
    assert order == ["next"]


async def test_nobody_waits_for_places_that_stand_still(order: list[str]) -> None:
    turns = Turns(1, stall_seconds=0.01)
    async with turns.turn(urgent=True, wait_seconds=FOREVER):
        with pytest.raises(RefusedError):
            await take(turns, "waits", order, urgent=False)
        with pytest.raises(RefusedError):
            await take(turns, "comes later", order, urgent=True)
    await take(turns, "next", order, urgent=False)
    assert order == ["next"]


async def test_a_crowd_before_places_that_move_is_served(order: list[str]) -> None:
    turns = Turns(1, stall_seconds=5.0)
    await asyncio.gather(*(take(turns, "one of many", order, urgent=False) for _ in range(500)))
    assert len(order) == 500
