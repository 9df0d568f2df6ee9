"""Resolve and authorise namespaces, and store them: names, counters and statistics."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import asyncpg
import numpy as np

from memoria.database import Connection, unpack_ids
from memoria.errors import ForbiddenError, InvalidInputError, OtherEmbedderError, UnavailableError
from memoria.records import NamespaceInfo, NamespaceStats, Principal
from memoria.vocabulary import MAX_NAMESPACE_CHARACTERS, Scope

NAMESPACE_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/@+-]*")
OWN_PREFIX = "org:"
WITHDRAWN_PREFIX = "~"  # of a namespace that is being erased: no client may use it, or can name it


@dataclass(frozen=True, slots=True)
class Namespace:
    """Be one namespace's row; counters are those of the transaction's snapshot.

    `may_remind` says that a recall may trigger intentions in it, and is known where a recall looks.
    """

    id: int
    name: str
    embedder: str
    memory_count: int
    term_count: int
    embedding_count: int
    has_dampenings: bool = False
    may_remind: bool = False


def require_scope(principal: Principal, scope: Scope) -> None:
    """Refuse what the key's scopes do not cover. Raises ForbiddenError."""
    if scope not in principal.scopes:
        raise ForbiddenError(f"This key lacks the scope `{scope}`.", scope=str(scope))


def may_use(principal: Principal, name: str) -> bool:
    """Say whether the key's patterns and the organization's bounds allow a namespace."""
    if name.casefold().startswith(OWN_PREFIX) and name != principal.own_namespace:
        return False
    if name.startswith(WITHDRAWN_PREFIX):
        return False
    return not principal.namespace_patterns or any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
        for pattern in principal.namespace_patterns
    )


def resolve_namespace(principal: Principal, requested: str | None) -> str:
    """Choose the namespace of a call: the requested one, else the key's default, else the organization's own.

    Raises InvalidInputError for a malformed name and ForbiddenError for one that the key may not use.
    """
    name = requested if requested is not None else principal.default_namespace or principal.own_namespace
    if len(name) > MAX_NAMESPACE_CHARACTERS or not NAMESPACE_FORM.fullmatch(name):
        raise InvalidInputError(
            "A namespace is 1 to 200 letters, digits or any of . _ ~ : / @ + - and begins with a letter or digit.",
            field="namespace",
            limit=MAX_NAMESPACE_CHARACTERS,
        )
    if not may_use(principal, name):
        raise ForbiddenError("This key may not use this namespace.", namespace=name)
    return name


async def find_namespace(connection: Connection, org_id: UUID, name: str) -> Namespace | None:
    """Read a namespace; None when nothing was ever written to it."""
    row = await connection.fetch_row("find_namespace", org_id=org_id, name=name)
    return None if row is None else _from_row(row)


async def read_namespace(connection: Connection, org_id: UUID, namespace_id: int) -> Namespace | None:
    """Read a namespace by its id; None when it is gone."""
    row = await connection.fetch_row("read_namespace", org_id=org_id, namespace_id=namespace_id)
    return None if row is None else _from_row(row)


async def find_namespace_and_hidden(
    connection: Connection, org_id: UUID, name: str, now: datetime
) -> tuple[Namespace, np.ndarray] | None:
    """Read a namespace and the ids (int64) that recall leaves out unless asked, in one round trip.

    Its `memory_count` is without episodes: they stand in no index.
    """
    row = await connection.fetch_row("find_namespace_and_hidden", org_id=org_id, name=name, now=now)
    return (
        None
        if row is None
        else (
            replace(_from_row(row), may_remind=row["may_remind"]),
            unpack_ids(row["hidden"]),
        )
    )


def _from_row(row: asyncpg.Record) -> Namespace:
    return Namespace(
        row["namespace_id"],
        row["name"],
        row["embedder"],
        row["memory_count"],
        row["term_count"],
        row["embedding_count"],
        row["has_dampenings"],
    )


async def ensure_namespace(
    connection: Connection, org_id: UUID, name: str, *, new_id: int, embedder: str, now: datetime
) -> Namespace:
    """Read a namespace, made now if this is its first write.

    Raises UnavailableError when its vectors were made by another embedder: the two cannot be compared.
    """
    found = await find_namespace(connection, org_id, name)
    if found is None:
        await connection.execute(
            "create_namespace", org_id=org_id, namespace_id=new_id, name=name, embedder=embedder, now=now
        )
        found = await find_namespace(connection, org_id, name)
    if found is None:
        raise UnavailableError("The namespace was deleted while this was written: try again.")
    return require_embedder(found, embedder)


def require_embedder(namespace: Namespace, embedder: str) -> Namespace:
    """Refuse to mix vectors of two models. Raises OtherEmbedderError naming both."""
    if namespace.embedder != embedder:
        raise OtherEmbedderError(
            f"This namespace was embedded by {namespace.embedder}, and the server now runs {embedder}.",
            embedder=namespace.embedder,
        )
    return namespace


async def grow_namespace(
    connection: Connection,
    org_id: UUID,
    namespace_id: int,
    *,
    memories: int,
    terms: int,
    embeddings: int,
    embedder: str | None = None,
) -> bool:
    """Move a namespace's counters. Call it last: it locks the row that all writers of the namespace share.

    False when the namespace has changed over to another embedder than `embedder`: the vectors that were written in
    this transaction do not belong there.
    """
    moved = await connection.execute(
        "grow_namespace",
        org_id=org_id,
        namespace_id=namespace_id,
        memories=memories,
        terms=terms,
        embeddings=embeddings,
        embedder=embedder,
    )
    return moved == 1


async def list_namespaces(
    connection: Connection, org_id: UUID, principal: Principal, *, after: str | None, limit: int
) -> tuple[list[NamespaceInfo], int]:
    """Read a page of the namespaces that the principal may use, by name, and how many there are in all."""
    patterns = principal.namespace_patterns
    bounds = {
        "org_id": org_id,
        "exact_names": [pattern for pattern in patterns if not pattern.endswith("*")],
        "prefixes": [pattern[:-1] for pattern in patterns if pattern.endswith("*")],
    }
    rows = await connection.fetch("list_namespaces", after=after, limit=limit, **bounds)
    total = await connection.fetch_value("count_namespaces", **bounds)
    return [NamespaceInfo(row["name"], row["memory_count"], row["created_at"]) for row in rows], total


async def read_statistics(connection: Connection, org_id: UUID, name: str) -> NamespaceStats:
    """Count what a namespace holds; one that does not exist holds nothing."""
    found = await find_namespace(connection, org_id, name)
    tiers: Counter[str] = Counter()
    types: Counter[str] = Counter()
    states: Counter[str] = Counter()
    edges: dict[str, int] = {}
    if found is not None:
        place = {"org_id": org_id, "namespace_id": found.id}
        for row in await connection.fetch("count_memories_by_kind", **place):
            tiers[row["tier"]] += row["memories"]
            types[row["type"]] += row["memories"]
            states[row["state"]] += row["memories"]
        edges = {row["type"]: row["edges"] for row in await connection.fetch("count_edges_by_type", **place)}
    return NamespaceStats(name, tiers.total(), tiers, types, states, edges)
