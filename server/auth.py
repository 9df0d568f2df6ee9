"""Find out who calls: the key is looked up in the database with every request, and nothing is remembered of it."""

import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from accounts.keys import FoundKey, find_key
from server.limits import FLOOD_FACTOR, Allowance
from server.problems import RateLimitedError, UnauthorizedError
from server.services import Services
from server.state import services_of, state_of

BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +(?P<secret>[\x21-\x7e]{1,200}) *")


async def authenticate(services: Services, headers: Headers) -> FoundKey:
    """Find the key that a request shows.

    Raises UnauthorizedError, in the same words for a key that is unknown, revoked or expired, and UnavailableError
    while the database is away: nobody is let in unchecked.
    """
    shown = headers.get("authorization")
    if shown is None:
        raise UnauthorizedError("Send your key: Authorization: Bearer mem_dev_…")
    match = BEARER.fullmatch(shown)
    if match is not None:
        async with services.engine.database.lookup() as connection:
            found = await find_key(connection, match["secret"])
        now = services.clock()
        if found is not None and found.opens(now):
            principal = found.principal
            if principal.key_id is not None:
                services.key_uses.note(principal.org_id, principal.key_id, now)
            return found
    raise UnauthorizedError("This key is not valid: it is unknown, revoked or expired.")


class Guarded:
    """Let requests with a good key through to an ASGI application, as fast as the key may call.

    The application finds the caller in `request.state.principal` and the key in `request.state.found_key`. `flood`
    asks a wider bucket, of a multiple of the rate, for an application that counts its calls itself.
    """

    def __init__(self, app: ASGIApp, *, flood: bool = False) -> None:
        self._app = app
        self._flood = flood

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the key and its limit, then serve. Raises what `authenticate` raises, and RateLimitedError."""
        services, state = services_of(scope), state_of(scope)
        found = await authenticate(services, Headers(scope=scope))
        state["found_key"], state["principal"] = found, found.principal
        allowance = await self._take(services, found)
        if not (self._flood and allowance.allowed):
            state["allowance"] = allowance
        if not allowance.allowed:
            raise RateLimitedError(allowance.retry_after_seconds)
        await self._app(scope, receive, send)

    async def _take(self, services: Services, found: FoundKey) -> Allowance:
        if self._flood:
            return await services.limiter.take(f"flood:{found.principal.key_id}", found.rate.times(FLOOD_FACTOR))
        return await services.limiter.take(str(found.principal.key_id), found.rate)
