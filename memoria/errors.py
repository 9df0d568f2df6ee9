"""Define the errors that the engine raises, each with a stable code and no word of HTTP."""

from collections.abc import Mapping


class MemoriaError(Exception):
    """Be the root of every error that the engine raises on purpose.

    `code` is stable and public; `details` holds plain JSON values (the field, the limit) that a client can act on.
    """

    code = "INTERNAL"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = details


class InvalidInputError(MemoriaError):
    """Say that a value breaks a rule; `details["field"]` names it."""

    code = "INVALID_INPUT"


class ContentTooLargeError(MemoriaError):
    """Say that content is over its limit; `details` hold `limit_bytes` and `size_bytes`."""

    code = "CONTENT_TOO_LARGE"


class NotFoundError(MemoriaError):
    """Say that this tenant has no such thing (another tenant's thing is no such thing)."""

    code = "NOT_FOUND"


class ConflictError(MemoriaError):
    """Say that the stored state has moved on, or that an idempotency key came with another request."""

    code = "CONFLICT"


class ForbiddenError(MemoriaError):
    """Say that a scope or a namespace is outside what the principal may use."""

    code = "FORBIDDEN"


class UnavailableError(MemoriaError):
    """Say that the database or the embedder cannot answer now; trying again later may succeed."""

    code = "UNAVAILABLE"


class OtherEmbedderError(UnavailableError):
    """Say that a namespace holds the vectors of another embedder, whose name is `details["embedder"]`."""


class EmbedderUnavailableError(UnavailableError):
    """Say that the embedding model or endpoint failed after its retries."""
