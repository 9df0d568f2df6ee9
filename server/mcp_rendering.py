"""Render the engine's records for a model: short, with lower-case types, and without what has no value.

REST answers every field, because programs like a fixed shape; a model pays for each word it reads.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memoria.identifiers import IdKind, format_id
from memoria.intention_records import Intention, KeywordTrigger, SemanticTrigger, TimeTrigger, Trigger
from memoria.records import Context, Encoded, EncodeFailure, Hit, Memory, MemoryPage, NamespaceStats, Recall
from memoria.vocabulary import Intervention, MemoryState
from server.wire.rendering import render_recall_id

Json = dict[str, Any]

DIGITS = 4


def compact_json(value: Mapping[str, Any]) -> str:
    """Write JSON without spaces, and every script in its own letters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def render_memory(memory: Memory) -> Json:
    """Render one memory."""
    rendered = {
        "id": format_id(memory.id),
        "content": memory.content,
        "type": memory.type.lower(),
        "tier": memory.tier.lower(),
        "namespace": memory.namespace,
        "salience": round(memory.salience, DIGITS),
        "title": memory.title,
        "tags": list(memory.tags),
        "category": memory.category,
        "source": memory.source,
        "url": memory.url,
        "project": memory.project,
        "context": dict(memory.context),
        "metadata": dict(memory.metadata or {}),
        "state": None if memory.state is MemoryState.ACTIVE else memory.state.lower(),
        "part_of": None if memory.part_of is None else format_id(memory.part_of),
        "occurred_at": _time(memory.occurred_at),
        "expires_at": None if memory.expires_at is None else _time(memory.expires_at),
        "version": memory.version,
    }
    return {name: value for name, value in rendered.items() if value not in (None, [], {})}


def render_encoded(encoded: Encoded) -> Json:
    """Render the answer to an encode; the content is not repeated to the one who just sent it."""
    memory = encoded.memory
    rendered: Json = {
        "id": format_id(memory.id),
        "tier": memory.tier.lower(),
        "type": memory.type.lower(),
        "namespace": memory.namespace,
        "salience": round(memory.salience, DIGITS),
        "duplicate": encoded.duplicate,
    }
    if encoded.ignored_fields:
        rendered["ignored_fields"] = list(encoded.ignored_fields)
    if encoded.supersedes:
        rendered["supersedes"] = [format_id(older) for older in encoded.supersedes]
    if encoded.contradicts:
        rendered["contradicts"] = [format_id(older) for older in encoded.contradicts]
    return rendered


def render_outcome(outcome: Encoded | EncodeFailure) -> Json:
    """Render one item of a batch: what was stored, or why it was refused."""
    if isinstance(outcome, Encoded):
        return render_encoded(outcome)
    return {"error": {"code": outcome.code, "message": outcome.message, "details": dict(outcome.details)}}


def render_recall(recall: Recall) -> Json:
    """Render a recall, best result first."""
    return {
        "results": [_render_hit(hit) for hit in recall.hits],
        "recall_id": render_recall_id(recall.recall_id),
        "confidence": recall.confidence.lower(),
        **_remarks(recall),
        "total_candidates": recall.total_candidates,
        "tokens_used": recall.tokens_used,
    }


def render_intention(intention: Intention) -> Json:
    """Render one intention."""
    moments = {
        name: moment and _time(moment)
        for name in ("next_at", "triggered_at", "expires_at")
        for moment in (getattr(intention, name),)
    }
    rendered = {
        "id": format_id(intention.id, IdKind.INTENTION),
        "content": intention.content,
        "status": intention.status.value,
        "priority": intention.priority,
        "namespace": intention.namespace,
        "trigger": {"type": intention.trigger.type.lower(), **_render_trigger(intention.trigger)},
        **moments,
    }
    return {name: value for name, value in rendered.items() if value is not None}


def _render_trigger(trigger: Trigger) -> Json:
    if isinstance(trigger, KeywordTrigger):
        phrases = {"any": list(trigger.any), "all": list(trigger.all)}
        return {name: given for name, given in phrases.items() if given}
    if isinstance(trigger, TimeTrigger):
        recurrence = {} if trigger.every is None else {"every": trigger.every, "time_zone": trigger.time_zone}
        return {"at": _time(trigger.at)} | recurrence
    if isinstance(trigger, SemanticTrigger):
        return {"text": trigger.text, "threshold": trigger.threshold}
    return {"name": trigger.name}


def _remarks(recall: Recall) -> Json:
    """Say what a recall noticed, where it noticed anything."""
    remarks: Json = {} if recall.intervention is Intervention.NONE else {"intervention": recall.intervention.value}
    if recall.time_range is not None:
        asked = recall.time_range
        bounds = {"start": asked.start and _time(asked.start), "end": asked.end and _time(asked.end)}
        remarks["time_range"] = {name: value for name, value in bounds.items() if value} | {"phrase": asked.phrase}
    if recall.intentions:
        remarks["intentions"] = [render_intention(intention) for intention in recall.intentions]
    return remarks | ({"requery": True} if recall.requery else {})


def render_context(context: Context) -> Json:
    """Render a context block with the ids of the memories in it."""
    return {
        "context": context.text,
        "memories_used": [format_id(memory.id) for memory in context.memories],
        "tokens_used": context.tokens_used,
        "recall_id": render_recall_id(context.recall_id),
        "warnings": list(context.warnings),
    }


def render_page(page: MemoryPage) -> Json:
    """Render one page of a list; `next_cursor` is absent on the last one."""
    rendered: Json = {"items": [render_memory(memory) for memory in page.items], "total": page.total}
    return rendered | ({"next_cursor": page.next_cursor} if page.next_cursor else {})


def render_stats(stats: NamespaceStats) -> Json:
    """Render the counts of a namespace."""
    return {
        "namespace": stats.namespace,
        "memories": stats.memories,
        "by_tier": _lower_keys(stats.by_tier),
        "by_type": _lower_keys(stats.by_type),
        "by_state": _lower_keys(stats.by_state),
        "edges_by_type": _lower_keys(stats.edges_by_type),
    }


def _render_hit(hit: Hit) -> Json:
    return render_memory(hit.memory) | {"score": round(hit.score, DIGITS), "hops": hit.hops}


def _lower_keys(counts: Mapping[str, int]) -> dict[str, int]:
    return {name.lower(): count for name, count in counts.items()}


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
