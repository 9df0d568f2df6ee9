"""Serve a namespace with the embedder that has made its vectors, while it changes from one to another."""

import functools
from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, Protocol, Self, TypeVar

from memoria.errors import OtherEmbedderError

Given = ParamSpec("Given")
Result = TypeVar("Result")


class ServesEither(Protocol):
    """Be an engine that may have a twin with the embedder of before."""

    @property
    def twin(self) -> Self | None:
        """The same engine with the embedder of before."""
        ...


Either = TypeVar("Either", bound=ServesEither)


def with_either_embedder(
    verb: Callable[Concatenate[Either, Given], Awaitable[Result]],
) -> Callable[Concatenate[Either, Given], Awaitable[Result]]:
    """Let a verb be done with the embedder of before, where the namespace has not changed over yet.

    Once more with the new one, when it changes over in that moment. Without an embedder of before, or with vectors of
    a third one, OtherEmbedderError stands.
    """

    @functools.wraps(verb)
    async def call(engine: Either, /, *args: Given.args, **options: Given.kwargs) -> Result:
        try:
            return await verb(engine, *args, **options)
        except OtherEmbedderError:
            if engine.twin is None:
                raise
        try:
            return await verb(engine.twin, *args, **options)
        except OtherEmbedderError:
            return await verb(engine, *args, **options)

    return call
