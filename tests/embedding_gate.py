"""An endpoint for embeddings that a test can make fail, or keep its callers waiting."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from accounts.embedders import DEFAULT_DIMENSIONS
from tests.live_server import serving


@dataclass(slots=True)
class Endpoint:
    """Be an endpoint for embeddings that answers, fails or keeps its callers waiting."""

    failing: bool = False
    open: threading.Event = field(default_factory=threading.Event)
    waiting: int = 0
    url: str = ""

    async def embed(self, request: Request) -> Response:
        """Answer one vector for each text, once the gate is open."""
        texts = (await request.json())["input"]
        self.waiting += 1
        try:
            await asyncio.to_thread(self.open.wait)
        finally:
            self.waiting -= 1
        if self.failing:
            return JSONResponse({"error": "overloaded"}, 500)
        vectors = [[float(len(text) % 7 + 1)] + [0.5] * (DEFAULT_DIMENSIONS - 1) for text in texts]
        return JSONResponse({"data": [{"index": index, "embedding": one} for index, one in enumerate(vectors)]})


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Serve an endpoint, open at first."""
    made = Endpoint()
    made.open.set()
    with serving(Starlette(routes=[Route("/v1/embeddings", made.embed, methods=["POST"])])) as url:
        made.url = f"{url}/v1"
        try:
            yield made
        finally:
            made.open.set()  # who still waits would keep the server from ending
