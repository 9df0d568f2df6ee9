"""Store a conversation in a running server and ask it the questions, over REST."""

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx

from benchmarks.recall_quality.dataset import Conversation, Question, Turn

BATCH_MEMORIES = 100
RECALL_LIMIT = 50  # sessions are ranked by their best turn, and a session has many
ATTEMPTS = 20
TOO_MANY_REQUESTS = 429


@dataclass(frozen=True, slots=True)
class Stored:
    """Name where a conversation is: the namespace, and the turns behind each memory id (equal turns are one)."""

    namespace: str
    units: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Answer:
    """Be the units that a recall found, best first, how long it took as the client sees it, and how sure it is."""

    units: list[str]
    milliseconds: float
    confidence: str


class Service:
    """Call one server with one key. Raises httpx.HTTPStatusError with the server's answer when it refuses."""

    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=httpx.Timeout(300.0))

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection pool."""
        await self._client.__aexit__(kind, error, trace)

    async def store(self, conversation: Conversation) -> Stored:
        """Write every turn, in order and in batches, into a namespace of its own."""
        namespace = f"bench/{conversation.name}-{uuid4().hex[:8]}"
        units: dict[str, list[str]] = defaultdict(list)
        for start in range(0, len(conversation.turns), BATCH_MEMORIES):
            turns = conversation.turns[start : start + BATCH_MEMORIES]
            body = {"namespace": namespace, "memories": [_memory(turn) for turn in turns]}
            answer = await self.call("/v1/memories/batch", body)
            for memory_id, turn in zip(answer["ids"], turns, strict=True):
                units[memory_id].append(turn.unit)
        return Stored(namespace, {memory_id: tuple(found) for memory_id, found in units.items()})

    async def recall(self, stored: Stored, question: Question) -> Answer:
        """Ask one question, leaving no trace."""
        body: dict[str, Any] = {
            "query": question.text,
            "namespace": stored.namespace,
            "limit": RECALL_LIMIT,
            "learn": False,
        }
        if question.before is not None:
            body["filters"] = {"occurred_before": question.before.isoformat()}
        started = time.perf_counter()
        answer = await self.call("/v1/memories/recall", body)
        elapsed = (time.perf_counter() - started) * 1000
        return Answer(units_of(stored, [hit["id"] for hit in answer["results"]]), elapsed, answer["confidence"])

    async def consolidate(self, stored: Stored) -> Stored:
        """Consolidate a conversation twice; what that made counts as what it was made of."""
        for _ in range(2):
            done = await self.call("/v1/consolidate", {"namespace": stored.namespace, "wait": True})
            print(f"{stored.namespace}: {done}", file=sys.stderr)
        units = dict(stored.units)
        cursor = None
        while True:
            wanted = {"namespace": stored.namespace, "source": "system", "limit": "200"}
            page = await self._get("/v1/memories", wanted | ({"cursor": cursor} if cursor else {}))
            for made in page["items"]:
                provenance = await self._get(f"/v1/memories/{made['id']}/provenance", {})
                members = [unit for member in provenance["members"] for unit in stored.units.get(member["id"], ())]
                units[made["id"]] = tuple(dict.fromkeys(members))
            cursor = page["next_cursor"]
            if cursor is None:
                return Stored(stored.namespace, units)

    async def drop(self, stored: Stored) -> None:
        """Delete every memory of the conversation."""
        body = {"namespace": stored.namespace, "filters": {"occurred_after": "1900-01-01T00:00:00Z"}}
        await self.call("/v1/memories/forget", body)

    async def call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post one request, again while the rate limit asks to wait."""
        return await self._send("POST", path, json=body)

    async def _get(self, path: str, params: dict[str, str]) -> dict[str, Any]:
        return await self._send("GET", path, params=params)

    async def _send(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        for attempt in range(ATTEMPTS):
            response = await self._client.request(method, path, **options)
            if response.status_code != TOO_MANY_REQUESTS or attempt == ATTEMPTS - 1:
                break
            await asyncio.sleep(float(response.headers.get("Retry-After", "1")))
        if response.is_error:
            raise httpx.HTTPStatusError(response.text[:500], request=response.request, response=response)
        answer: dict[str, Any] = response.json()
        return answer


def units_of(stored: Stored, memory_ids: Sequence[str]) -> list[str]:
    """Name the units behind memories, each once, where it first occurs."""
    return list(dict.fromkeys(unit for memory_id in memory_ids for unit in stored.units.get(memory_id, ())))


def _memory(turn: Turn) -> dict[str, Any]:
    return {"content": turn.content, "context": turn.context, "occurred_at": turn.occurred_at.isoformat()}
