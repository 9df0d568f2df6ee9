"""Check what a client wants to store and bring it into its stored form; whatever does not fit is refused by name."""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memoria.errors import ContentTooLargeError, InvalidInputError
from memoria.memory_fields import MemoryFields
from memoria.records import Filters, JsonObject, NewMemory, Policy, PolicyChanges
from memoria.tiers import TIERS_AS_TYPES, first_tier
from memoria.urls import normalize_site, normalize_url, site_of
from memoria.vocabulary import (
    CLOCKS_APART_SECONDS,
    DEFAULT_SALIENCE,
    MAX_CATEGORY_CHARACTERS,
    MAX_CONTENT_BYTES,
    MAX_CONTEXT_KEY_CHARACTERS,
    MAX_CONTEXT_PAIRS,
    MAX_CONTEXT_VALUE_CHARACTERS,
    MAX_METADATA_BYTES,
    MAX_METADATA_DEPTH,
    MAX_POLICY_DAYS,
    MAX_POLICY_MEMORIES,
    MAX_PROJECT_CHARACTERS,
    MAX_PRUNE_THRESHOLD,
    MAX_RELATED_URLS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    MAX_TITLE_CHARACTERS,
    MIN_HALF_LIFE_DAYS,
    MemoryType,
    Source,
    Tier,
)

SESSION_KEY = "session_id"  # the context pair that names a conversation
ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # in JSON, where an escaped backslash may stand before u0000
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates: Postgres and UTF-8 have no place for them

INCLUDABLE = ("archived", "quarantined", "expired")  # what recall and lists leave out unless asked

Word = TypeVar("Word", bound=StrEnum)


def parse_word(text: str, words: type[Word], field: str) -> Word:
    """Read an enum's word in any spelling of case. Raises InvalidInputError naming the field and the words."""
    for word in words:
        if word.value.casefold() == text.casefold():
            return word
    allowed = ", ".join(word.value for word in words)
    raise InvalidInputError(f"`{field}` must be one of {allowed}.", field=field, allowed=allowed.split(", "))


def check_text(text: str, field: str, *, limit: int, empty: bool = False) -> str:
    """Return the text if it is storable, not blank and within `limit` characters."""
    if UNSTORABLE.search(text):
        raise InvalidInputError(f"`{field}` holds a NUL character or half a surrogate pair.", field=field)
    if not empty and not text.strip():
        raise InvalidInputError(f"`{field}` must not be blank.", field=field)
    if len(text) > limit:
        raise InvalidInputError(f"`{field}` is longer than {limit} characters.", field=field, limit=limit)
    return text


def check_content(content: str, field: str = "content") -> str:
    """Return content of 1 character to 64 KiB. Raises ContentTooLargeError above that."""
    size = len(content.encode("utf-8", "surrogatepass"))
    if size > MAX_CONTENT_BYTES:
        raise ContentTooLargeError(
            f"`{field}` has {size:,} bytes of UTF-8; the limit is {MAX_CONTENT_BYTES:,}.",
            field=field,
            limit_bytes=MAX_CONTENT_BYTES,
            size_bytes=size,
        )
    return check_text(content, field, limit=MAX_CONTENT_BYTES)


def check_query(query: str) -> str:
    """Return a query of 1 character to 64 KiB."""
    return check_content(query, "query")


def check_share(value: float, field: str) -> float:
    """Return a number between 0 and 1."""
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise InvalidInputError(f"`{field}` must be between 0 and 1.", field=field)
    return value


def check_time(moment: datetime | None, field: str) -> datetime | None:
    """Return a moment that names its time zone, in UTC, or None."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise InvalidInputError(f"`{field}` must name its time zone, as in 2026-05-01T09:00:00Z.", field=field)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInputError(f"`{field}` must lie within the years 1 to 9999 in UTC.", field=field) from error


def check_past(moment: datetime | None, field: str, now: datetime) -> None:
    """Refuse a moment that lies in the future, and more so than the clocks of two servers may differ."""
    checked = check_time(moment, field)
    if checked is not None and checked > now + timedelta(seconds=CLOCKS_APART_SECONDS):
        raise InvalidInputError(f"`{field}` lies in the future.", field=field)


def check_tags(tags: Sequence[str], field: str = "tags") -> tuple[str, ...]:
    """Return tags without repetition, in order."""
    if len(tags) > MAX_TAGS:
        raise InvalidInputError(f"`{field}` holds more than {MAX_TAGS} tags.", field=field, limit=MAX_TAGS)
    return tuple(dict.fromkeys(check_text(tag, field, limit=MAX_TAG_CHARACTERS) for tag in tags))


def check_context(context: Mapping[str, str]) -> Mapping[str, str]:
    """Return context pairs within their limits."""
    if len(context) > MAX_CONTEXT_PAIRS:
        raise InvalidInputError(
            f"`context` holds more than {MAX_CONTEXT_PAIRS} pairs.", field="context", limit=MAX_CONTEXT_PAIRS
        )
    for key, value in context.items():
        check_text(key, "context", limit=MAX_CONTEXT_KEY_CHARACTERS)
        check_text(value, f"context.{key[:50]}", limit=MAX_CONTEXT_VALUE_CHARACTERS, empty=True)
    return context


def check_metadata(metadata: JsonObject | None) -> JsonObject | None:
    """Return metadata that JSON can say, within 16 KiB."""
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping) or _is_deep(metadata, MAX_METADATA_DEPTH):
        raise InvalidInputError(
            f"`metadata` must be a JSON object, nested at most {MAX_METADATA_DEPTH} deep.",
            field="metadata",
            limit=MAX_METADATA_DEPTH,
        )
    try:
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError("`metadata` must be a JSON object.", field="metadata") from error
    if ESCAPED_NUL.search(text) or UNSTORABLE.search(text):
        raise InvalidInputError("`metadata` holds a NUL character or half a surrogate pair.", field="metadata")
    if len(text.encode("utf-8")) > MAX_METADATA_BYTES:
        raise InvalidInputError(
            f"`metadata` is larger than {MAX_METADATA_BYTES} bytes.", field="metadata", limit=MAX_METADATA_BYTES
        )
    return metadata


def _is_deep(value: object, depth: int) -> bool:
    """Say whether a JSON value is nested deeper than so many objects and arrays."""
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    if depth == 0:
        return isinstance(value, Mapping | list | tuple)
    return any(_is_deep(child, depth - 1) for child in children)


def parse_type(text: str) -> MemoryType:
    """Read a memory type; `buffer` and `core` are Episodic with that first tier."""
    return MemoryType.EPISODIC if text.casefold() in TIERS_AS_TYPES else parse_word(text, MemoryType, "type")


def parse_source(text: str | None) -> Source | None:
    """Read a source; `system` is the service's own."""
    source = None if text is None else parse_word(text, Source, "source")
    if source is Source.SYSTEM:
        raise InvalidInputError("`source` may be agent, human or crawl; system is the service's own.", field="source")
    return source


def normalize_text(content: str) -> str:
    """Bring content into the form that is compared for equality: NFC, one kind of line end, no outer white space."""
    return unicodedata.normalize("NFC", content).replace("\r\n", "\n").replace("\r", "\n").strip()


def hash_content(content: str) -> bytes:
    """Return the SHA-256 of the normalised text."""
    return hashlib.sha256(normalize_text(content).encode("utf-8")).digest()


def hash_duplicate(content_hash: bytes, project: str | None, context: Mapping[str, str]) -> bytes:
    """Return the SHA-256 by which equal memories of one namespace are found."""
    scope = json.dumps([project, sorted(context.items())], ensure_ascii=False)
    return hashlib.sha256(content_hash + scope.encode("utf-8")).digest()


def hash_own(content_hash: bytes, memory_id: int) -> bytes:
    """Return the duplicate hash of a memory that the service made: it equals nobody's, not even a quoted one's."""
    return hashlib.sha256(content_hash + b"own" + memory_id.to_bytes(8, "big")).digest()


def resolve_expiry(new: NewMemory, now: datetime) -> datetime | None:
    """Return when the memory expires, from `expires_at` or `ttl_seconds` (not both)."""
    if new.ttl_seconds is not None:
        if new.expires_at is not None:
            raise InvalidInputError("Give `expires_at` or `ttl_seconds`, not both.", field="ttl_seconds")
        if new.ttl_seconds < 1:
            raise InvalidInputError("`ttl_seconds` must be at least 1.", field="ttl_seconds")
        try:
            return now + timedelta(seconds=new.ttl_seconds)
        except OverflowError as error:
            raise InvalidInputError("`ttl_seconds` reaches past the year 9999.", field="ttl_seconds") from error
    expires_at = check_time(new.expires_at, "expires_at")
    if expires_at is not None and expires_at <= now:
        raise InvalidInputError("`expires_at` must be in the future.", field="expires_at")
    return expires_at


def check_optional(text: str | None, field: str, limit: int) -> str | None:
    """Return a text that is absent or within its limit."""
    return None if text is None else check_text(text, field, limit=limit)


def check_url(url: str | None) -> str | None:
    """Return a URL that is absent, or storable and normalised (which keeps its own, smaller limit)."""
    return None if url is None else normalize_url(check_text(url, "url", limit=10**6))


def check_related_urls(urls: Sequence[str]) -> tuple[str, ...]:
    """Return related URLs, normalised, without repetition."""
    if len(urls) > MAX_RELATED_URLS:
        raise InvalidInputError(
            f"`related_urls` holds more than {MAX_RELATED_URLS}.", field="related_urls", limit=MAX_RELATED_URLS
        )
    checked = [check_text(url, "related_urls", limit=10**6) for url in urls]
    return tuple(dict.fromkeys(normalize_url(url, field="related_urls") for url in checked))


def validate_memory(new: NewMemory, now: datetime) -> MemoryFields:
    """Bring a new memory into its stored form.

    Salience and tier hold what is known before the memory is compared with others: the explicit salience or the
    default, and the tier that follows from it. Raises InvalidInputError or ContentTooLargeError.
    """
    content = check_content(new.content)
    memory_type = parse_type(new.type)
    salience = DEFAULT_SALIENCE if new.salience is None else check_share(new.salience, "salience")
    if new.salience_hint is not None:
        check_share(new.salience_hint, "salience_hint")
    context = check_context(new.context)
    project = check_optional(new.project, "project", MAX_PROJECT_CHARACTERS)
    url = check_url(new.url)
    content_hash = hash_content(content)
    return MemoryFields(
        content=content,
        type=memory_type,
        tier=TIERS_AS_TYPES.get(new.type.casefold()) or first_tier(memory_type, salience),
        salience=salience,
        confidence=check_share(new.confidence, "confidence"),
        title=check_optional(new.title, "title", MAX_TITLE_CHARACTERS),
        tags=check_tags(new.tags),
        category=check_optional(new.category, "category", MAX_CATEGORY_CHARACTERS),
        source=parse_source(new.source),
        url=url,
        site=site_of(url) if url else None,
        related_urls=check_related_urls(new.related_urls),
        project=project,
        context=context,
        metadata=check_metadata(new.metadata),
        pinned=new.pinned,
        session=context.get(SESSION_KEY),
        occurred_at=check_time(new.occurred_at, "occurred_at") or now,
        expires_at=resolve_expiry(new, now),
        content_hash=content_hash,
        duplicate_hash=hash_duplicate(content_hash, project, context),
    )


def check_include(include: Sequence[str]) -> tuple[str, ...]:
    """Return the hidden kinds that a reader asks for: archived, quarantined, expired."""
    for kind in include:
        if kind not in INCLUDABLE:
            raise InvalidInputError(f"`include` may name {', '.join(INCLUDABLE)}.", field="include")
    return tuple(dict.fromkeys(include))


def check_filters(filters: Filters) -> Filters:
    """Bring filters into the form that is stored, so that they match: URLs normalised, texts within their limits."""
    for name in ("salience_min", "salience_max"):
        if (value := getattr(filters, name)) is not None:
            check_share(value, name)
    return replace(
        filters,
        created_after=check_time(filters.created_after, "created_after"),
        created_before=check_time(filters.created_before, "created_before"),
        occurred_after=check_time(filters.occurred_after, "occurred_after"),
        occurred_before=check_time(filters.occurred_before, "occurred_before"),
        tags_any=check_tags(filters.tags_any, "tags_any"),
        tags_all=check_tags(filters.tags_all, "tags_all"),
        tags_none=check_tags(filters.tags_none, "tags_none"),
        category=check_optional(filters.category, "category", MAX_CATEGORY_CHARACTERS),
        project=check_optional(filters.project, "project", MAX_PROJECT_CHARACTERS),
        context=check_context(filters.context),
        url=check_url(filters.url),
        site=None if filters.site is None else normalize_site(check_text(filters.site, "site", limit=10**6)),
    )


def change_policy(policy: Policy, changes: PolicyChanges) -> Policy:
    """Put changes on a policy and check what comes of it. Raises InvalidInputError."""
    values = dict(changes.changes)
    if unknown := sorted(values.keys() - {field.name for field in fields(Policy)}):
        raise InvalidInputError(f"`{unknown[0]}` is not a field of a policy.", field=unknown[0])
    for name in ("half_life_days", "prune_threshold", "enabled"):
        if name in values and values[name] is None:
            raise InvalidInputError(f"`{name}` cannot be empty.", field=name)
    half_lives = {
        parse_word(name, Tier, "half_life_days"): days for name, days in values.get("half_life_days", {}).items()
    }
    changed = replace(policy, **values | {"half_life_days": {**policy.half_life_days, **half_lives}})
    for tier, days in half_lives.items():
        _check_bounds(days, f"half_life_days.{tier}", MIN_HALF_LIFE_DAYS, MAX_POLICY_DAYS)
    _check_bounds(changed.prune_threshold, "prune_threshold", 0, MAX_PRUNE_THRESHOLD)
    _check_bounds(changed.max_memories, "max_memories", 1, MAX_POLICY_MEMORIES)
    _check_bounds(changed.delete_archived_after_days, "delete_archived_after_days", 1, MAX_POLICY_DAYS)
    return changed


def _check_bounds(value: float | None, field: str, least: float, most: float) -> None:
    if value is not None and not least <= value <= most:
        raise InvalidInputError(f"`{field}` must be between {least:g} and {most:,}.", field=field, limit=most)


def check_time_zone(name: str, field: str = "time_zone") -> str:
    """Return the name of a time zone. Raises InvalidInputError for one that does not exist."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInputError(f"`{field}` must be an IANA name such as Europe/Berlin.", field=field) from error
    return name
