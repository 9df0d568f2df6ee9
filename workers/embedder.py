"""Open the embedder of a worker when the first job needs it."""

import asyncio
from pathlib import Path

from accounts.embedders import EmbedderSettings, open_embedder
from memoria.embedding import Embedder


class LazyEmbedder:
    """Hold one embedder for all jobs of a process, or none until one is wanted."""

    def __init__(self, chosen: EmbedderSettings, home: Path) -> None:
        self._chosen = chosen
        self._home = home
        self._opened: Embedder | None = None
        self._opening = asyncio.Lock()

    async def get(self) -> Embedder:
        """Return the embedder; reading the model takes a second the first time, in a thread."""
        async with self._opening:
            if self._opened is None:
                self._opened = await asyncio.to_thread(open_embedder, self._chosen, self._home)
            return self._opened

    async def close(self) -> None:
        """Close it, if it was opened."""
        if self._opened is not None:
            await self._opened.close()
