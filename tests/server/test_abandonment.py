"""Work for a client that has gone is given up; work for one that waits is not."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from server.abandonment import while_connected

pytestmark = pytest.mark.anyio


async def stay() -> Message:
    """Be a client that waits for its answer."""
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}


async def leave() -> Message:
    """Be a client that has gone."""
    return {"type": "http.disconnect"}


async def test_a_client_that_waits_gets_its_answer() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "answer"

    assert await while_connected(work(), stay) == "answer"


async def test_an_error_reaches_the_client_that_waits() -> None:
    async def work() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await while_connected(work(), stay)


async def test_the_work_for_a_client_that_has_gone_is_cancelled_to_its_end() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("rolled back")

    with pytest.raises(ClientDisconnect):
        await while_connected(work(), leave)
    assert ended == ["rolled back"]


async def test_what_the_given_up_work_raises_is_nobodys_error() -> None:
    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("while rolling back") from None

    with pytest.raises(ClientDisconnect):
        await while_connected(work(), leave)


async def test_a_cancelled_request_cancels_its_work() -> None:
    started, ended = asyncio.Event(), []

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("rolled back")

    request = asyncio.ensure_future(while_connected(work(), stay))
    await started.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert ended == ["rolled back"]
