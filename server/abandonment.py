"""Stop working for a client that has gone: nobody will read the answer, and others wait for the processor."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

Result = TypeVar("Result")


async def while_connected(work: Coroutine[Any, Any, Result], receive: Receive) -> Result:
    """Do the work of a request whose body has been read; cancel it when the client disconnects.

    Raises ClientDisconnect then. A write under way is rolled back, unless its commit had begun.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        await _end(leaving)
        await _end(working)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _end(task: asyncio.Future[Any]) -> None:
    """Cancel a task that is not done and wait for its end; what it raises then concerns nobody."""
    if task.cancel():
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not report it
