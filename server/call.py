"""Hand a checked request to its handler, and make a write with an idempotency key happen once."""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse

from memoria.engine import Engine
from memoria.errors import InvalidInputError
from memoria.records import Once, Principal, Replay
from server.problems import JSON
from server.services import Services

InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")
IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")
LINES = "application/x-ndjson"
IF_MATCH = re.compile(r'(?:W/)?"?(?P<version>[0-9]{1,9})"?')


@dataclass(frozen=True, slots=True)
class Answer:
    """Be a successful answer: its status, its body as JSON, and the headers that belong to it."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, body: BaseModel, status: int = 200, **headers: str) -> "Answer":
        """Make an answer of a model."""
        return cls(status, to_json(body), headers)

    def pack(self) -> bytes:
        """Write the answer as it is kept for a repeated request."""
        head = json.dumps({"status": self.status, "headers": self.headers})
        return head.encode() + b"\n" + self.body

    @classmethod
    def unpack(cls, packed: bytes) -> "Answer":
        """Read an answer that was kept, and say that it is a repetition."""
        head, _, body = packed.partition(b"\n")
        kept = json.loads(head)
        return cls(kept["status"], body, kept["headers"] | {"idempotency-replayed": "true"})

    def to_response(self) -> Response:
        """Make the HTTP response."""
        return Response(self.body, self.status, self.headers, JSON)


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """Be a successful answer that is sent while it is made, a JSON object a line."""

    lines: AsyncIterator[bytes]
    headers: dict[str, str] = field(default_factory=dict)

    def to_response(self) -> Response:
        """Make the HTTP response."""
        return StreamingResponse(self.lines, 200, self.headers, LINES)


@dataclass(frozen=True, slots=True)
class Call(Generic[InputT]):
    """Be one authenticated request: who calls, what it says, and under which conditions.

    `input` is the checked body, or the checked query of a GET. `id` and `name` are those in the path.
    `namespace` is the `x-memoria-namespace` header. `body` is that of an operation that reads lines.
    """

    services: Services
    principal: Principal
    input: InputT
    id: int
    name: str
    namespace: str | None
    expected_version: int | None
    idempotency_key: str | None
    request_digest: bytes
    body: AsyncIterator[bytes] | None = None

    @property
    def engine(self) -> Engine:
        """The engine that does the work."""
        return self.services.engine

    async def write(
        self,
        act: Callable[[Once | None], Awaitable[ResultT | Replay]],
        render: Callable[[ResultT], Answer],
    ) -> Answer:
        """Carry out a write, or repeat the answer of the request that had the same idempotency key."""
        once = None
        if self.idempotency_key is not None:
            # Two keys of one organization may choose the same word and see different namespaces.
            key = f"{self.principal.key_id}:{self.idempotency_key}"
            once = Once(key, self.request_digest, lambda result: render(result).pack())
        result = await act(once)
        return Answer.unpack(result.answer) if isinstance(result, Replay) else render(result)


def read_namespace(headers: Headers) -> str | None:
    """Read the `x-memoria-namespace` header; an empty one counts as none."""
    return headers.get("x-memoria-namespace", "").strip() or None


def read_idempotency_key(headers: Headers) -> str | None:
    """Read the `Idempotency-Key` header. Raises InvalidInputError."""
    key = headers.get("idempotency-key")
    if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
        raise InvalidInputError(
            "Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.", field="Idempotency-Key"
        )
    return key


def read_expected_version(headers: Headers) -> int | None:
    """Read the version in `If-Match`; `*` expects none in particular. Raises InvalidInputError."""
    text = headers.get("if-match", "*").strip()
    if text == "*":
        return None
    match = IF_MATCH.fullmatch(text)
    if match is None:
        raise InvalidInputError("If-Match must be one version number.", field="If-Match")
    return int(match["version"])


def digest_request(method: str, path: str, namespace: str | None, value: Any) -> bytes:
    """Compute what must be equal for two requests to be the same; the order of JSON fields does not matter."""
    request = [method, path, namespace, value]
    return hashlib.sha256(json.dumps(request, sort_keys=True, separators=(",", ":")).encode()).digest()
