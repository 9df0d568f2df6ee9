"""Let a few at a time go on, in order: a queue before a scarce thing.

A request needs several transactions. If each of them queued behind the first ones of all newcomers, a crowd would wait
in every queue again, and give up after most of its work was done. So those who have begun go before those who have
not: a crowd waits once, at the door.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

Queue = deque[asyncio.Future[None]]


class RefusedError(Exception):
    """Say that nobody gets a turn now."""


class Turns:
    """Hand out so many places at a time: the urgent first, then first come, first served.

    When no place changes hands for `stall_seconds`, those who wait are refused: what holds all the places hangs.
    """

    def __init__(self, places: int, stall_seconds: float) -> None:
        self._free = places
        self._stall_seconds = stall_seconds
        self._moved_at = 0.0
        self._watched = False
        self._urgent: Queue = deque()
        self._others: Queue = deque()

    @asynccontextmanager
    async def turn(self, *, urgent: bool, wait_seconds: float) -> AsyncIterator[None]:
        """Wait for a place and hold it. Raises TimeoutError when it takes longer, RefusedError when refused."""
        await self._take(self._urgent if urgent else self._others, wait_seconds)
        try:
            yield
        finally:
            self._give_back()

    def refuse_waiting(self) -> None:
        """Refuse everybody who waits: what they wait for does not answer."""
        for queue in (self._urgent, self._others):
            while queue:
                waiting = queue.popleft()
                if not waiting.done():
                    waiting.set_exception(RefusedError())

    async def _take(self, queue: Queue, wait_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._free:
            self._free -= 1
            self._moved_at = loop.time()
            return
        waiting: asyncio.Future[None] = loop.create_future()
        queue.append(waiting)
        if not self._watched:
            self._watch(loop)
        try:
            async with asyncio.timeout(wait_seconds):
                await waiting
        except (TimeoutError, asyncio.CancelledError):
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                # The place was handed over at the moment of giving up.
                self._give_back()
            raise

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look again when the places may have stood still for too long, as long as somebody waits."""
        left_seconds = self._moved_at + self._stall_seconds - loop.time()
        if left_seconds <= 0:
            self.refuse_waiting()
        self._watched = bool(self._urgent or self._others)
        if self._watched:
            loop.call_later(left_seconds, self._watch, loop)

    def _give_back(self) -> None:
        self._moved_at = asyncio.get_running_loop().time()
        for queue in (self._urgent, self._others):
            while queue:
                waiting = queue.popleft()
                if not waiting.done():
                    waiting.set_result(None)
                    return
        self._free += 1
