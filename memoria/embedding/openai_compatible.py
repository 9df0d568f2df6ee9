"""Any OpenAI-compatible `/embeddings` endpoint, over HTTP."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx
import numpy as np

from memoria.embedding.port import TextTooLongError, Vectors
from memoria.errors import EmbedderUnavailableError

_ATTEMPTS = 4
_LONGEST_WAIT_SECONDS = 30.0  # an endpoint that asks for more is given up at once
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Where and how to ask.

    `base_url` is what `/embeddings` is appended to, e.g. `https://api.example.com/v1`. `dimensions` is what
    the vectors must have; it is sent to the endpoint only with `send_dimensions`, as many models refuse it.
    `max_tokens` is the model's window, in this embedder's cautious counting of one token per character.
    `timeout_seconds` is for one attempt's silence, `patience_seconds` for all attempts of a batch together.
    """

    base_url: str
    model: str
    dimensions: int
    api_key: str | None = field(default=None, repr=False)
    send_dimensions: bool = False
    max_tokens: int = 2000
    batch_texts: int = 64
    timeout_seconds: float = 20.0
    patience_seconds: float = 45.0
    first_wait_seconds: float = 0.5

    def __post_init__(self) -> None:
        """Refuse, without repeating it, a key that a header cannot carry."""
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ValueError("the embedding endpoint's API key holds characters that a header cannot carry")


class OpenAICompatibleEmbedder:
    """Embeds through an endpoint that speaks OpenAI's `POST /embeddings`.

    The endpoint's tokenizer is unknown, so one character is counted as one token. English has about four
    characters a token, so a text that fits here is well inside a window of `max_tokens` there; only rare
    characters (some emoji) take more than one token, which the slack of ordinary text absorbs.
    The API key appears in the request's header alone: not in errors, not in `repr`, not in logs.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self.name = f"{settings.model}-{settings.dimensions}"
        self.dimensions = settings.dimensions
        self.max_tokens = settings.max_tokens
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=settings.timeout_seconds)
        self._url = settings.base_url.rstrip("/") + "/embeddings"
        self._closed = False

    def count_tokens(self, text: str) -> int:
        """Count characters, a safe over-estimate of the tokens."""
        return len(text)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Locate every character: one character is counted as one token."""
        return [(position, position + 1) for position in range(len(text))]

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts in batches, one after another.

        Waits out 429, 5xx and faults of the connection up to four attempts a batch, for as long as
        `Retry-After` says. Raises TextTooLongError before anything is sent, and EmbedderUnavailableError when
        the endpoint keeps failing, refuses, or answers with anything but one finite vector per text.
        """
        if self._closed:
            raise EmbedderUnavailableError("the embedder is closed")
        longest = max(map(len, texts), default=0)
        if longest > self.max_tokens:
            raise TextTooLongError(longest, self.max_tokens)
        batches = [np.zeros((0, self.dimensions), np.float32)]
        size = self._settings.batch_texts
        for start in range(0, len(texts), size):
            batches.append(await self._embed_batch(list(texts[start : start + size])))
        return np.concatenate(batches)

    async def close(self) -> None:
        """Close the connections; closing twice is harmless."""
        self._closed = True
        await self._client.aclose()

    async def _embed_batch(self, texts: list[str]) -> Vectors:
        body: dict[str, object] = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        if self._settings.send_dimensions:
            body["dimensions"] = self.dimensions
        try:
            async with asyncio.timeout(self._settings.patience_seconds):
                response = await self._post(body)
        except TimeoutError as late:
            raise EmbedderUnavailableError("the embedding endpoint took too long") from late
        try:
            return _read_vectors(response.json(), len(texts), self.dimensions)
        except (ValueError, TypeError) as malformed:
            raise EmbedderUnavailableError(
                f"the embedding endpoint gave a malformed answer: {malformed}"
            ) from malformed

    async def _post(self, body: dict[str, object]) -> httpx.Response:
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await self._client.post(self._url, json=body)
            except httpx.TransportError as fault:
                outcome, asked_seconds = type(fault).__name__, None
            except httpx.InvalidURL as fault:
                raise EmbedderUnavailableError("the embedding endpoint's URL is not valid") from fault
            else:
                if response.status_code == HTTPStatus.OK:
                    return response
                outcome, asked_seconds = f"HTTP {response.status_code}", _retry_after_seconds(response)
                if response.status_code not in _TRANSIENT:
                    raise EmbedderUnavailableError(f"the embedding endpoint refused: {outcome}")
            wait_seconds = self._wait_seconds(attempt, asked_seconds)
            if attempt == _ATTEMPTS or wait_seconds > _LONGEST_WAIT_SECONDS:
                raise EmbedderUnavailableError(f"the embedding endpoint failed {attempt} time(s), last: {outcome}")
            await asyncio.sleep(wait_seconds)

    def _wait_seconds(self, attempt: int, asked_seconds: float | None) -> float:
        """Choose the wait before the next attempt: what was asked for, else doubling, jittered by half."""
        if asked_seconds is not None:
            return asked_seconds
        doubled: float = self._settings.first_wait_seconds * 2 ** (attempt - 1)
        # Not a secret: jitter only keeps many clients from coming back at the same moment.
        return doubled * random.uniform(0.5, 1.0)  # noqa: S311


def _retry_after_seconds(response: httpx.Response) -> float | None:
    """Read `Retry-After`, in seconds or as a date; None when it is absent or unreadable."""
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _read_vectors(answer: object, count: int, dimensions: int) -> Vectors:
    """Check an answer and put its rows in order; raises ValueError or TypeError with the reason."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != count or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"expected {count} embeddings")
    # Some servers leave `index` out, and then answer in order.
    places = [row.get("index", place) for place, row in enumerate(rows)]
    if sorted(places) != list(range(count)):
        raise ValueError("the indexes of the embeddings are not those of the texts")
    vectors = np.empty((count, dimensions), np.float32)
    for place, row in zip(places, rows, strict=True):
        vectors[place] = _read_vector(row.get("embedding"), dimensions)
    return vectors


def _read_vector(numbers: object, dimensions: int) -> Vectors:
    if not isinstance(numbers, list) or not all(isinstance(number, int | float) for number in numbers):
        raise ValueError("an embedding is not a list of numbers")
    if len(numbers) != dimensions:
        raise ValueError(f"an embedding has {len(numbers)} dimensions instead of {dimensions}")
    vector = np.asarray(numbers, np.float64)
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0.0:
        raise ValueError("an embedding is not finite or is zero")
    return np.asarray(vector / length, np.float32)
