"""Define the stored form of what a writer decides about a memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memoria.records import JsonObject
from memoria.vocabulary import MemoryType, Source, Tier


@dataclass(frozen=True, slots=True)
class MemoryFields:
    """Hold every stored field that a writer decides, validated and normalised."""

    content: str
    type: MemoryType
    tier: Tier
    salience: float
    confidence: float
    title: str | None
    tags: tuple[str, ...]
    category: str | None
    source: Source | None
    url: str | None
    site: str | None
    related_urls: tuple[str, ...]
    project: str | None
    context: Mapping[str, str]
    metadata: JsonObject | None
    pinned: bool
    session: str | None
    occurred_at: datetime
    expires_at: datetime | None
    content_hash: bytes
    duplicate_hash: bytes
